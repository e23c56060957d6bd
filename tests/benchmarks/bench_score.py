"""Scoring a text with all its numbers, beside the bare engine: tokens a second and peak memory.

The whole text is read, 4 windows of it for the packaged Gemma and 14 for the small models: the
tool's clock leaves its start out and ours does not, which over 4 windows was 3 % of the time.
llama.cpp: windows of 512 tokens of which the second half is scored, as ``llama-perplexity -c 512``
does. The peer is that tool where LOGITSCOPE_LLAMA_PERPLEXITY names it, else a loop of
``llama_decode`` that flags the same rows at our batch and takes no number from them.
transformers: texts of 512 tokens, every token scored, beside one forward pass a text with logits.
Sides take turns and the fastest turn of each counts. Peak memory is that of the process that holds
the model, mapped weights included (Linux).
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from programs import Program

from logitscope.backends.llamacpp_plan import physical_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")

TOOL = "LOGITSCOPE_LLAMA_PERPLEXITY"
TEXT = Path(__file__).parents[1] / "data" / "perplexity.txt"
CONTEXT = 512
LEAST_WINDOWS = 4
TURNS = 3
LEAST_SPEED, MOST_MEMORY = 0.9, 1.1
VOCABULARIES = {"1k": 1_008, "152k": 151_936, "262k": 262_144}
SHAPE = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "max_position_embeddings": CONTEXT,
}
"""The head has 7 % of the weights that a token is multiplied with at 1k and 95 % at 262k."""


@dataclass(frozen=True)
class Side:
    """Tokens read a second in the fastest turn, and most bytes in any."""

    speed: float
    peak: int


@pytest.fixture(scope="module", params=list(VOCABULARIES))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama as a Hugging Face folder."""
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    tiny_models = importlib.import_module("tiny_models")
    path = tmp_path_factory.mktemp("bench") / f"llama-{request.param}"
    size = VOCABULARIES[request.param]
    made: Path = tiny_models.save_byte_level(path, n_vocab=size, changes=SHAPE)
    return made


def test_llamacpp_random(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    tiny_models = importlib.import_module("tiny_models")
    compare_llamacpp(
        tiny_models.convert_to_gguf(folder, tmp_path / f"{folder.name}.gguf"), tmp_path
    )


@pytest.mark.gemma
def test_llamacpp_gemma(gemma_path: Path, tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    compare_llamacpp(gemma_path, tmp_path)


def test_hf_random(folder: Path, tmp_path: Path) -> None:
    arguments = (folder, "hf", physical_cores(), CONTEXT)
    with Program("score_ours", *arguments, home=tmp_path):
        # Whoever comes first compiles the libraries to bytecode, and keeps 30 MB from it.
        pass
    with Program("score_ours", *arguments, home=tmp_path) as ours:
        texts = windows_of(ours)
        with Program("score_bare", *arguments, home=tmp_path) as bare:
            sides = in_turns(
                len(texts), lambda: answer(ours, texts, 1), lambda: answer(bare, texts, 1)
            )
            report(f"hf {folder.name}", *sides)


def compare_llamacpp(model: Path, home: Path) -> None:
    """All numbers of the scored half of each window, against the tool or the bare loop."""
    arguments = (model, "llamacpp", physical_cores(), CONTEXT)
    start = CONTEXT // 2 + 1
    with Program("score_ours", *arguments, home=home) as ours:
        texts = windows_of(ours)

        def mine() -> tuple[float, int]:
            return answer(ours, texts, start)

        tool = os.environ.get(TOOL)
        if tool:
            name = f"llama-perplexity {model.stem}"
            tool_run = partial(run_tool, tool, model, len(texts))
            report(name, *in_turns(len(texts), mine, tool_run))
            return
        with Program("score_bare", *arguments, home=home) as bare:
            name = f"llama_decode {model.stem}"
            report(name, *in_turns(len(texts), mine, lambda: answer(bare, texts, start)))


def windows_of(ours: Program) -> list[list[int]]:
    """The windows of the text, each with the text's first token, BOS, in front."""
    ids: list[int] = ours.ask("tokenize", text=TEXT.read_text("utf-8"))["ids"]
    begins = range(0, len(ids) - CONTEXT + 1, CONTEXT)
    assert len(begins) >= LEAST_WINDOWS
    return [[ids[0], *ids[begin + 1 : begin + CONTEXT]] for begin in begins]


def answer(program: Program, texts: list[list[int]], start: int) -> tuple[float, int]:
    given = program.ask("score", texts=texts, start=start)
    return given["seconds"], given["peak"]


def run_tool(tool: str, model: Path, windows: int) -> tuple[float, int]:
    """Seconds from the first window to the estimate, by the tool's own clock; its peak."""
    size = str(CONTEXT)
    command = [tool, "-m", str(model), "-f", str(TEXT), "-c", size, "-b", size]
    command += ["-t", str(physical_cores()), "--chunks", str(windows)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, printed
    begun, ended = (
        clock(printed, mark) for mark in ("perplexity: calculating perplexity", "Final estimate")
    )
    return ended - begun, usage.ru_maxrss * 1024


def clock(printed: str, mark: str) -> float:
    """The time stamp, minutes.seconds.milliseconds.microseconds, of a line of the tool's log."""
    found = re.search(rf"^(\d+)\.(\d+)\.(\d+)\.(\d+) \w {mark}", printed, re.MULTILINE)
    assert found, printed
    minutes, seconds, milli, micro = map(int, found.groups())
    return minutes * 60 + seconds + milli / 1e3 + micro / 1e6


def in_turns(
    windows: int, mine: Callable[[], tuple[float, int]], theirs: Callable[[], tuple[float, int]]
) -> tuple[Side, Side]:
    turns = [(mine(), theirs()) for _ in range(TURNS)]
    tokens = windows * CONTEXT
    ours, peer = (
        Side(tokens / min(s for s, _ in side), max(p for _, p in side))
        for side in zip(*turns, strict=True)
    )
    return ours, peer


def report(name: str, ours: Side, peer: Side) -> None:
    """Print one line of the table and hold it to the limits."""
    speed, memory = ours.speed / peer.speed, ours.peak / peer.peak
    print(
        f"\n{name:36} {ours.speed:9,.0f} / {peer.speed:9,.0f} tokens/s = {speed:.2f} "
        f"(limit {LEAST_SPEED})   {ours.peak / 1e6:7,.0f} / {peer.peak / 1e6:7,.0f} MB "
        f"= {memory:.2f} (limit {MOST_MEMORY})"
    )
    assert speed >= LEAST_SPEED
    assert memory <= MOST_MEMORY
