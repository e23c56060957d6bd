"""What the origin analysis costs on Gemma: labels, sources, memory; seconds and tokens.

Labels: a 50-word answer behind a prompt as it is, without its sources, and with two fillings in
their place, against one pass over the whole prompt and the answer; the fastest of three turns of
each. Sources: eight of about 50 tokens each, and an answer of 50 tokens, right behind its labels as
in the window, against re-running every ablation from scratch: read anew, the answer written token
by token. What one pass over each ablated text would cost is told too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import Program
from verdict import Verdict

from logitscope.backends.llamacpp_plan import physical_cores

CONTEXT = 2048
TURNS = 3
MOST_PASSES, LEAST_SPEEDUP, MOST_EXTRA_MB = 3.3, 5.0, 600.0
TEXT = Path(__file__).parents[1] / "data" / "perplexity.txt"
SOURCES, SOURCE_TOKENS, ANSWER_TOKENS = 8, 50, 50
ANSWER = (
    " The policy says that new parents may take forty-five days of leave, that the days need not be"
    " taken together, that the leave ends after one year, and that whoever wishes to take it must"
    " write to the office at least three weeks before the first day and name a deputy."
)

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.gemma,
    pytest.mark.llama,
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc"),
]


class Asked:
    """The program, and a prompt of eight sources and a question in the model's tokens."""

    def __init__(self, program: Program, sources: int) -> None:
        self.program = program
        text = self._ids(TEXT.read_text("utf-8"))
        size = SOURCE_TOKENS
        self.spans = [(1 + i * size, 1 + (i + 1) * size) for i in range(sources)]
        self.end = 1 + sources * size
        self.bos = program.first["bos"]
        self.text = text
        self.frame = self._ids("\n\nQuestion: What does this say?\nAnswer:")
        self.prompt = [self.bos, *text[: self.end - 1], *self.frame]

    def answer(self, tokens: int | None = None) -> list[int]:
        """The answer's first tokens; all of them without a number."""
        return self._ids(ANSWER)[:tokens]

    def filled(self, begin: int) -> list[int]:
        """Other text in place of the sources."""
        return [self.bos, *self.text[begin : begin + self.end - 1], *self.frame]

    def without(self, span: tuple[int, int]) -> list[int]:
        return self.prompt[: span[0]] + self.prompt[span[1] :]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.program.ask("tokenize", text=text)["ids"]
        return ids


@pytest.fixture
def asked(gemma_path: Path, tmp_path: Path, quick: bool) -> Iterator[Asked]:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    with Program("origin_program", gemma_path, CONTEXT, physical_cores(), home=tmp_path) as program:
        yield Asked(program, 2 if quick else SOURCES)


def test_labels(asked: Asked, verdict: Verdict, quick: bool) -> None:
    tail = asked.answer(8 if quick else None)
    assert quick or len(ANSWER.split()) >= 50
    far = len(asked.prompt)
    without = [[asked.bos, *asked.frame], asked.filled(far), asked.filled(2 * far)]
    # What is compared is scored the same way: with the sources once more, too.
    variants = [asked.prompt, *without]
    turns = [
        (
            asked.program.ask("variants", contexts=variants, tail=tail),
            asked.program.ask("scratch", contexts=[asked.prompt], tail=tail),
        )
        for _ in range(TURNS)
    ]
    seconds, least = (min(cost["seconds"] for cost in side) for side in zip(*turns, strict=True))
    tokens, read = (cost["tokens"] for cost in turns[-1])
    verdict.say(f"{tokens} tokens in {seconds:.2f} s; one pass {read} tokens in {least:.2f} s")
    verdict.at_most("labels, in passes by tokens", tokens / read, MOST_PASSES)
    verdict.at_most("labels, in passes by time", seconds / least, MOST_PASSES)
    report_memory(asked, verdict, turns[-1][0]["peak"])


def test_sources(asked: Asked, verdict: Verdict, quick: bool) -> None:
    tail = asked.answer(5 if quick else ANSWER_TOKENS)
    contexts = [asked.without(span) for span in asked.spans]
    cuts = [[span] for span in asked.spans]
    found = {
        "written anew": asked.program.ask("written", contexts=contexts, tail=tail),
        "read anew": asked.program.ask("scratch", contexts=contexts, tail=tail),
        "exact": asked.program.ask("variants", contexts=contexts, tail=tail),
    }
    labels = [asked.prompt, [asked.bos, *asked.frame]]
    asked.program.ask("variants", contexts=labels, tail=tail)
    found["cut"] = asked.program.ask("cuts", context=asked.prompt, cuts=cuts, tail=tail)
    for name, cost in found.items():
        verdict.say(f"{name:14} {cost['tokens']:6,} tokens {cost['seconds']:8.2f} s")
    slowest, read, exact, cut = (cost["seconds"] for cost in found.values())
    verdict.say(
        f"against reading anew: exact {read / exact:.2f}, cut {read / cut:.2f} times faster"
    )
    verdict.say(f"against writing anew: exact {slowest / exact:.2f} times faster")
    verdict.at_least("cut sources against re-running each ablation", slowest / cut, LEAST_SPEEDUP)
    report_memory(asked, verdict, found["cut"]["peak"])


def report_memory(asked: Asked, verdict: Verdict, peak: int) -> None:
    first = asked.program.first
    extra = (peak - first["weights"] - first["kv"]) / 1e6
    verdict.at_most("process beyond weights and cache", extra, MOST_EXTRA_MB, "MB")
