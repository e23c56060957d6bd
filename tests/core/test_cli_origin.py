"""``logitscope origin`` as scripts see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from logitscope.origin_case_file import CaseError, TextCase, read_cases

FAKE = "fake:vocab=600,seed=1"
CASE = {
    "sources": ["The shop opens at nine. It is small.", " The code is red."],
    "frame": " The code of the shop is",
    "answer": " red house",
}


def origin(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "logitscope", "origin", *arguments],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def records(result: subprocess.CompletedProcess[str]) -> list[Any]:
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


# -- the case file --------------------------------------------------------------------------------


def test_one_case_or_one_on_each_line() -> None:
    whole = json.dumps(CASE, indent=2)
    expected = TextCase(tuple(CASE["sources"]), str(CASE["frame"]), " red house", 32)
    assert read_cases(whole) == (expected,)
    lines = f"{json.dumps(CASE)}\n\n{json.dumps({'frame': 'x', 'max_tokens': 3})}\n"
    assert read_cases(lines) == (expected, TextCase((), "x", None, 3))
    assert expected.prompt[slice(*expected.ranges[1])] == " The code is red."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no case"),
        ("{", "no JSON"),
        ("[]", "a case is a JSON object"),
        ('{"sources": "a"}', "sources is a list of texts"),
        ('{"sources": [1]}', "sources is a list of texts"),
        ('{"frame": 1}', "frame and answer are texts"),
        ('{"answer": "x"}', "a case has a frame"),
        ('{"sources": ["a", " "], "frame": ""}', "source 2 holds nothing but blanks"),
        ('{"sources": ["a", ""], "frame": ""}', "source 2 is empty"),
        ('{"frame": "", "answer": []}', "frame and answer are texts"),
        ('{"frame": "", "max_tokens": 0}', "max_tokens is a whole number"),
        ('{"frame": "", "max_tokens": true}', "max_tokens is a whole number"),
        (
            '{"frame": "x", "b": 1, "a": 2}',
            '^a case has no field "b", "a": it has sources, frame, answer and max_tokens$',
        ),
        ('{"frame": 1}\n{"frame": 2}', "case 1: frame"),
        ("x\ny", "case 1: this is no JSON"),
    ],
)
def test_what_is_wrong_with_a_case_is_said(text: str, said: str) -> None:
    with pytest.raises(CaseError, match=said):
        read_cases(text)


def test_a_bad_line_stands_among_the_others() -> None:
    first, second, third, fourth = read_cases('{"frame": "a"}\n{"frame": 2}\n{"fr\n{"frame": "b"}')
    assert (first, fourth) == (TextCase((), "a", None), TextCase((), "b", None))
    assert str(second).startswith("frame and answer")
    assert str(third).startswith("this is no JSON")


# -- the command ----------------------------------------------------------------------------------


def test_json_holds_words_spans_and_evidence(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(CASE), encoding="utf-8")
    (record,) = records(origin(FAKE, str(file), "--json"))
    assert record["answer"] == " red house"
    assert "".join(word["text"] for word in record["words"]) == " red house"
    # Sources are divided into sentences; the space in front goes with its token.
    assert [span["text"].strip() for span in record["spans"]] == [
        "The shop opens at nine.",
        "It is small.",
        "The code is red.",
    ]
    for word in record["words"]:
        logs = word["log_probability"]
        gains = [logs["with"] - logs[name] for name in ("drop", "fill_a", "fill_b")]
        assert word["delta"] == pytest.approx([min(gains), max(gains)])
        assert [len(word["expected"][name]) for name in logs] == [10] * 4
        assert [each["span"] for each in word["sources"]] == [0, 1, 2]
    assert sum(total["words"] for total in record["totals"]) == len(record["words"])
    assert record["without_sources"] is None
    assert record["without_sources_bytes"] is None


def test_json_never_invents_text() -> None:
    (record,) = records(origin(FAKE, "-", "--json", text=json.dumps({**CASE, "answer": " é"})))
    pieces = [*record["words"], *record["spans"]]
    pieces += [e for word in record["words"] for found in word["expected"].values() for e in found]
    texts = [(each["text"], bytes.fromhex(each["bytes"])) for each in pieces]
    assert all(text is None or text.encode() == piece for text, piece in texts)
    assert bytes.fromhex(record["answer_bytes"]).decode() == record["answer"] == " é"


def test_a_table_for_people_and_an_answer_of_the_models_own() -> None:
    case = {**CASE, "answer": None, "max_tokens": 4}
    result = origin(FAKE, "-", text=json.dumps(case))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:3] == ["no.", "word", "label"]
    assert lines[lines.index("") + 1].split(":")[0] in {
        "copied", "derived", "both", "weights", "uncertain",
    }  # fmt: skip


def test_everything_adds_swaps_leaning_and_the_answer_without_sources() -> None:
    (record,) = records(origin(FAKE, "-", "--json", "--everything", text=json.dumps(CASE)))
    free = bytes.fromhex(record["without_sources_bytes"])
    assert free.decode(errors="replace") == record["without_sources"]
    assert all(isinstance(word["leans"], list) for word in record["words"])


def test_the_whole_prompt_can_be_the_source() -> None:
    case = {"frame": "One is red. Two is blue.", "answer": " red"}
    (record,) = records(origin(FAKE, "-", "--json", "--whole-prompt", text=json.dumps(case)))
    assert "".join(span["text"] for span in record["spans"]) == "One is red. Two is blue."
    assert record["spans"][0]["tokens"][0] == 1


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_empty_answer_is_told_and_no_table(options: tuple[str, ...]) -> None:
    result = origin(FAKE, "-", *options, text=json.dumps({**CASE, "answer": ""}))
    assert (result.returncode, result.stdout) == (1, "")
    (said,) = result.stderr.splitlines()
    assert "the answer is empty: write one, or leave it out to have one generated" in said


def test_a_bad_case_does_not_keep_others_from_being_worked_out() -> None:
    lines = [{**CASE, "answer": " red"}, {"frame": "x", "answer": " y"}, {**CASE, "answer": " red"}]
    result = origin(FAKE, "-", "--json", text="\n".join(map(json.dumps, lines)))
    assert result.returncode == 1
    assert [json.loads(line)["case"] for line in result.stdout.splitlines()] == ["case 1", "case 3"]
    (said,) = result.stderr.splitlines()
    assert said.startswith("logitscope: standard input: case 2: it has no source")


def test_what_is_wrong_with_the_only_case_is_said_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    for case, said in (
        ({"frame": "x", "answer": "y"}, "it has no source"),
        ({"question": "x"}, 'a case has no field "question"'),
        ({**CASE, "answer": " word" * 300}, "Prompt and answer have"),
    ):
        file.write_text(json.dumps(case))
        result = origin(f"{FAKE},context=64", str(file))
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(f"logitscope: {file}: {said}")


def test_a_case_that_is_longer_than_the_context_fails_with_a_sentence() -> None:
    case = {**CASE, "sources": ["word " * 300]}
    result = origin(f"{FAKE},context=64", "-", text=json.dumps(case))
    assert (result.returncode, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    assert "context" in result.stderr


def test_a_file_that_is_not_there_fails_with_a_sentence(tmp_path: Path) -> None:
    result = origin(FAKE, str(tmp_path / "absent.json"))
    assert (result.returncode, result.stdout) == (1, "")
    assert "absent.json" in result.stderr
    broken = origin(FAKE, "-", text="{")
    assert (broken.returncode, broken.stdout) == (1, "")
    assert "no JSON" in broken.stderr


POLICY = "Policy: items in category C-40 may be returned within 45 days."
QUESTION = " Question: How many days do I have to return an item of category C-40? Answer: You have"


@pytest.mark.gemma
@pytest.mark.llama
def test_the_policy_example_on_the_real_model(gemma_path: Path) -> None:
    with_policy = {"sources": [POLICY], "frame": QUESTION, "answer": " 45 days"}
    elsewhere = {
        "sources": ["The shop sells lamps, rugs and chairs of all sizes to everybody."],
        "frame": QUESTION,
        "answer": " 30 days",
    }
    text = "\n".join(map(json.dumps, [with_policy, elsewhere]))
    # One thread: two wait for each other where other programs are busy.
    policy, shop = records(origin(str(gemma_path), "-", "--json", "--threads", "1", text=text))
    number, days = policy["words"]
    assert (number["text"], number["label"]) == (" 45", "copied")
    start, stop = number["copied_from"]
    (span,) = policy["spans"]
    assert span["tokens"][0] < start < stop < span["tokens"][1]
    # The weights say " days" behind any number; with other words in the policy they follow it.
    assert (days["label"], days["share"] < 0.2) == ("both", True)
    assert shop["words"][0]["text"] == " 30"
    assert shop["words"][0]["label"] in {"weights", "uncertain"}
    assert shop["words"][0]["delta"][0] < 0.69


def test_a_line_that_is_no_json_does_not_keep_others_from_being_worked_out() -> None:
    good = json.dumps({**CASE, "answer": " red"})
    result = origin(FAKE, "-", "--json", text=f'{good}\n{{"sources": [\n{good}\n')
    assert result.returncode == 1
    assert [json.loads(line)["case"] for line in result.stdout.splitlines()] == ["case 1", "case 3"]
    (said,) = result.stderr.splitlines()
    assert said.startswith("logitscope: standard input: case 2: this is no JSON")
