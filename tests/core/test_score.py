"""``logitscope score`` as scripts see it: standard output, standard error, exit code."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import score_command
from score_command import FAKE, TEXT, records, said, score

file = score_command.file


# -- numbers --------------------------------------------------------------------------------------


def test_averages_follow_from_the_tokens(file: Path) -> None:
    tokens = records(FAKE, file, "--tokens")
    (average,) = records(FAKE, file)
    known = tokens[1:]
    assert tokens[0]["loss"] is None
    assert [t["position"] for t in tokens] == list(range(len(tokens)))
    assert b"".join(bytes.fromhex(t["bytes"]) for t in known) == TEXT.encode()
    losses = [t["loss"] for t in known]
    assert average["tokens"] == len(known)
    assert average["unread"] == 0
    assert average["mean_loss"] == pytest.approx(math.fsum(losses) / len(losses), rel=1e-12)
    assert average["perplexity"] == pytest.approx(math.exp(average["mean_loss"]), rel=1e-12)
    assert (average["bytes"], average["characters"]) == (len(TEXT.encode()), len(TEXT))
    bits = math.fsum(losses) / math.log(2)
    assert average["bits_per_byte"] == pytest.approx(bits / len(TEXT.encode()), rel=1e-12)
    assert average["bits_per_character"] == pytest.approx(bits / len(TEXT), rel=1e-12)
    for limit in (1, 10, 100, 1000):
        share = sum(t["rank"] <= limit for t in known) / len(known)
        assert average[f"rank_{limit}"] == pytest.approx(share, rel=1e-12)
    entropies = [t["entropy"] for t in known]
    assert average["mean_entropy"] == pytest.approx(math.fsum(entropies) / len(known), rel=1e-12)
    for token in known:
        assert token["probability"] == pytest.approx(math.exp(-token["loss"]), rel=1e-12)
        assert len(token["top_ids"]) == len(token["top_log_probabilities"]) == 10


def test_windows_score_every_token_once(file: Path) -> None:
    file.write_text("The sky is blue, and the grass is green. " * 5)
    whole = records(FAKE, file, "--tokens")
    cut = records(FAKE, file, "--tokens", "--window", 16, "--stride", 4)
    assert [t["id"] for t in cut] == [t["id"] for t in whole]
    assert [t["loss"] is None for t in cut] == [True] + [False] * (len(cut) - 1)
    # The first window reads the same; behind it there are fewer tokens in front.
    assert [t["loss"] for t in cut[:16]] == [t["loss"] for t in whole[:16]]
    assert cut[16]["loss"] != whole[16]["loss"]


def test_without_bos_the_first_token_has_no_loss(file: Path) -> None:
    led, bare = records(FAKE, file, "--tokens"), records(FAKE, file, "--tokens", "--no-bos")
    assert [t["id"] for t in bare] == [t["id"] for t in led[1:]]
    assert bare[0]["loss"] is None
    assert led[1]["loss"] is not None
    (average,) = records(FAKE, file, "--no-bos")
    assert average["tokens"] == len(bare) - 1
    assert average["bytes"] == len(TEXT.encode()) - len(bytes.fromhex(bare[0]["bytes"]))


@pytest.mark.llama
@pytest.mark.torch
def test_both_backends_on_the_same_weights(tiny_hf: Path, tiny_gguf: Path, file: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    (ours,) = records(tiny_hf, file, "--device", "cpu", "--threads", 1)
    (theirs,) = records(tiny_gguf, file, "--threads", 1)
    assert (ours["tokens"], ours["bytes"]) == (theirs["tokens"], theirs["bytes"])
    # llama.cpp's usual cache is float16.
    assert theirs["mean_loss"] == pytest.approx(ours["mean_loss"], rel=5e-3)


# -- files ----------------------------------------------------------------------------------------


def test_several_files_and_standard_input(file: Path) -> None:
    first, second = records(FAKE, file, "-", data=TEXT.encode("utf-16"))
    assert (first["file"], second["file"]) == (str(file), "standard input")
    del first["file"], second["file"]
    assert first == second


def test_a_bad_file_does_not_keep_others_from_being_scored(tmp_path: Path, file: Path) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 8)
    result = score(FAKE, tmp_path / "model.bin", tmp_path / "absent.txt", file)
    errors = said(result, 1).splitlines()
    assert errors[0] == f"logitscope: {tmp_path}/model.bin is a binary file: choose a text file."
    assert "absent.txt" in errors[1]
    assert len(errors) == 2
    lines = result.stdout.decode().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(str(file))


def test_the_guess_of_an_old_encoding_is_said(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("Grün ist die Heide, süß der Wein.".encode("latin-1"))
    result = score(FAKE, path, "--format", "jsonl")
    assert said(result, 0) == f"logitscope: {path} is not UTF-8 and is read as Latin-1.\n"
    assert json.loads(result.stdout)["characters"] == 33


def test_the_records_of_json_lines_are_texts_of_their_own(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"id": 1, "text": t}) + "\n" for t in (TEXT, "", TEXT)))
    both = records(FAKE, path, "--field", "text", "--tokens")
    alone = records(FAKE, file, "--tokens")
    length = len(alone)
    assert [t["loss"] for t in both[:length]] == [t["loss"] for t in alone]
    # The empty one is BOS alone.
    assert both[length]["loss"] is None
    assert [t["loss"] for t in both[length + 1 :]] == [t["loss"] for t in alone]
    (average,) = records(FAKE, path, "--field", "text")
    assert average["unread"] == 0
    assert average["characters"] == 2 * len(TEXT)
    errors = said(score(FAKE, path), 1)
    assert "--field" in errors
    assert "here: text" in errors


def test_a_file_without_a_token_to_score_fails_and_the_others_count(
    file: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    assert "no token can be scored" in said(score(FAKE, empty), 1)
    lines = records(FAKE, empty, file, code=1)
    assert [line["file"] for line in lines] == [str(file)]
    assert lines[0]["mean_loss"] > 0


def test_a_file_without_records_fails(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n\n")
    assert "no token can be scored" in said(score(FAKE, empty, "--field", "text"), 1)


# -- what a person may give -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments", "known"),
    [
        ("", [], 0),
        ("", ["--no-bos"], 0),
        ("x", ["--no-bos"], 0),
        ("x", [], 1),
    ],
)
def test_texts_of_no_and_of_one_token(text: str, arguments: Sequence[str], known: int) -> None:
    result = score(FAKE, "-", "--format", "jsonl", *arguments, data=text.encode())
    errors = said(result, 0 if known else 1)
    assert len(errors.splitlines()) == (0 if known else 1)
    found = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert [average["tokens"] for average in found] == [known] * bool(known)
    assert all(average["mean_loss"] is not None for average in found)


@pytest.mark.parametrize("text", [" \n\t \n", "one\0two", "\x1b[31m"])
def test_odd_texts_are_scored_to_the_last_byte(text: str) -> None:
    (average,) = records(FAKE, "-", data=text.encode())
    assert average["bytes"] == len(text.encode())
    assert average["unread"] == 0


def test_lone_surrogates_are_read_as_replacement_characters() -> None:
    result = score(FAKE, "-", "--format", "jsonl", data="a\ud800b".encode("utf-8", "surrogatepass"))
    assert "U+FFFD" in said(result, 0)
    assert json.loads(result.stdout)["bytes"] == len("a\ufffdb".encode())


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--window", "1"], 2, "--window"),
        (["--window", "16", "--stride", "9"], 2, "--stride 9 is more than half"),
        (["--stride", "0"], 2, "--stride"),
        (["--window", "5000"], 1, "at most 4096"),
        (["--context", "1"], 1, "at least 2"),
        (["--format", "xml"], 2, "--format"),
        (["--backend", "nonsense"], 2, "nonsense"),
    ],
)
def test_wrong_options(file: Path, arguments: list[str], code: int, sentence: str) -> None:
    result = score(FAKE, file, *arguments)
    assert sentence in said(result, code)
    assert result.stdout == b""


def test_no_file_is_wrong_usage() -> None:
    assert "FILE" in said(score(FAKE), 2)


def test_a_model_that_dies_leaves_what_is_done(file: Path) -> None:
    file.write_text("The sky is blue. " * 30)
    result = score(FAKE + ",abort=prefill,after=100", file, "next.txt", "--format", "jsonl")
    errors = said(result, 1).splitlines()
    assert len(errors) == 3
    assert " tokens are scored" in errors[1]
    assert errors[2] == "logitscope: next.txt is not scored"
    (average,) = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert average["tokens"] == 64
    assert average["unread"] > 0


def test_a_model_that_fails_says_so_once_a_file(file: Path) -> None:
    errors = said(score(FAKE + ",fail=prefill", file), 1).splitlines()
    assert len(errors) == 2
    assert "failed in prefill" in errors[0]
