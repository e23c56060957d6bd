"""The command line as scripts see it: standard output, standard error, exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from shell import FAKE, call, complaint, logitscope, run_json

# -- next ---------------------------------------------------------------------------------------


def test_next_as_json_adds_up_to_one() -> None:
    answer = run_json("next", FAKE, "The sky is", "-k", "7", "-t", "0.5")
    tokens, other = answer["tokens"], answer["other_probability"]
    assert [t["rank"] for t in tokens] == list(range(1, 8))
    assert answer["other_count"] == 400 - 7
    assert sum(t["probability"] for t in tokens) + other == pytest.approx(1, abs=1e-12)
    shaped = sum(t["shaped_probability"] for t in tokens) + answer["other_shaped_probability"]
    assert shaped == pytest.approx(1, abs=1e-12)
    # At temperature 0.5 the odds of two tokens are the square of the raw odds.
    raw_odds = tokens[0]["probability"] / tokens[1]["probability"]
    shaped_odds = tokens[0]["shaped_probability"] / tokens[1]["shaped_probability"]
    assert shaped_odds == pytest.approx(raw_odds**2, rel=1e-9)


def test_next_as_text_shows_spaces_bytes_and_the_rest() -> None:
    result = logitscope("next", FAKE, "The sky is", "-k", "3", "--top-p", "0.2")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["rank", "id", "token", "bytes", "logit", "raw", "shaped"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    assert "every other token (397)" in lines[4]
    assert lines[4].endswith("0.0000%")
    assert "entropy" in lines[5]


def test_bos_can_be_left_out_and_text_comes_from_standard_input() -> None:
    with_bos = run_json("next", FAKE, "hello")["ids"]
    without = run_json("next", FAKE, "hello", "--no-bos")["ids"]
    assert with_bos[1:] == without
    piped = logitscope("next", FAKE, "-", "--json", text="hello")
    assert json.loads(piped.stdout)["ids"] == with_bos


def test_chat_goes_through_the_template() -> None:
    rendered = run_json("next", FAKE, "hello", "--chat")["rendered"]
    assert "hello" in rendered
    assert len(rendered) > len("hello")


@pytest.mark.gemma
@pytest.mark.llama
def test_next_on_the_real_model_gives_the_published_order(gemma_path: Path) -> None:
    # Measured with llama.cpp itself: " the" 0.342, " blue" 0.216, " a" 0.091.
    answer = run_json("next", str(gemma_path), "The sky is", "-k", "3")
    assert [t["text"] for t in answer["tokens"]] == [" the", " blue", " a"]
    assert [t["label"] for t in answer["tokens"]] == ["·the", "·blue", "·a"]
    found = [t["probability"] for t in answer["tokens"]]
    assert found == pytest.approx([0.342, 0.216, 0.091], abs=0.01)
    assert answer["other_count"] == 262_144 - 3


# -- info and models ------------------------------------------------------------------------------


@pytest.mark.gemma
def test_info_prints_the_header(gemma_path: Path) -> None:
    answer = run_json("info", str(gemma_path), "-c", "1024")
    assert (answer["architecture"], answer["quantization"]) == ("gemma3", "Q4_K_M")
    assert answer["memory"]["kv_cache"] == 1024 * 18 * (256 + 256) * 2
    plain = logitscope("info", str(gemma_path))
    assert plain.returncode == 0
    assert "262,144 tokens" in plain.stdout


def test_info_counts_the_context_that_the_window_would_take(gemma_path: Path) -> None:
    """32,768 tokens are trained; the usual 8,192 are loaded. Facts of the file's header."""
    answer = run_json("info", str(gemma_path))
    assert answer["context_length"] == 32_768
    assert answer["memory"]["context"] == 8_192
    more = logitscope("info", str(gemma_path), "-c", "100000", "--json")
    assert json.loads(more.stdout)["memory"]["context"] == 32_768
    (said,) = more.stderr.splitlines()
    assert "the context is 32,768 tokens, not 100,000" in said


def test_models_lists_what_is_found(tmp_path: Path) -> None:
    folder = tmp_path / ".lmstudio" / "models" / "someone" / "tiny"
    folder.mkdir(parents=True)
    (folder / "tiny-Q8_0.gguf").write_bytes(b"GGUF" + bytes(4_996))
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    result = logitscope("models", "--json", env=home)
    found = {entry["title"]: entry for entry in json.loads(result.stdout)}
    assert found["tiny-Q8_0"]["path"] == str(folder / "tiny-Q8_0.gguf")
    plain = logitscope("models", env=home).stdout.splitlines()
    expected = ["tiny-Q8_0", "LM Studio", "5.0 kB", str(folder / "tiny-Q8_0.gguf")]
    assert expected in [line.split("\t")[:4] for line in plain]
    # The listed name can be given instead of the path; the file itself is no model.
    refused = logitscope("info", "tiny-q8_0", env=home)
    assert "tiny-Q8_0.gguf" in complaint(refused, 1)


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("next", FAKE),
        ("next",),
        ("next", FAKE, "a", "-k", "many"),
        ("next", FAKE, "a", "-t", "-1"),
        ("next", FAKE, "a", "-t", "nan"),
        ("next", FAKE, "a", "--top-p", "2"),
        ("next", FAKE, "a", "--unknown"),
        ("info",),
        ("a.gguf", "b.gguf"),
        ("--unknown",),
        ("nex", FAKE, "a"),
        ("next", FAKE, "a", "-k"),
        ("next", FAKE, "a", "--backend", "torch"),
        ("score", FAKE, "a.txt", "--format", "xml"),
    ],
)
def test_wrong_usage_exits_with_2(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    (said,) = printed.err.splitlines()
    assert re.fullmatch(r"logitscope: .* \(see logitscope( \w+)? --help\)", said)
    assert printed.out == ""


def test_wrong_usage_from_a_shell_prints_no_traceback() -> None:
    (said,) = complaint(logitscope("next", FAKE, "a", "-k", "many"), 2).splitlines()
    assert said.startswith("logitscope: ")


@pytest.mark.parametrize("command", [["next", "{}", "a"], ["info", "{}"], ["{}"]])
def test_a_missing_model_exits_with_1_everywhere(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    absent = str(tmp_path / "absent.gguf")
    assert call(monkeypatch, *(word.format(absent) for word in command)) == 1
    printed = capsys.readouterr()
    assert "absent.gguf" in printed.err
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""


@pytest.mark.parametrize("name", ["a\nb.gguf", "a\rb", "a\x1b[2Jb.gguf", "a\x9b2Jb", "a\u2028b"])
@pytest.mark.parametrize("command", ["next", "info"])
def test_a_name_with_control_characters_makes_one_line(
    command: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"no model")
    prompt = ["hello"] if command == "next" else []
    result = logitscope(command, str(tmp_path / name), *prompt)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert repr(name)[1:-1] in line
    assert not {"\x1b", "\x9b"}.intersection(line)


def test_a_prompt_that_is_no_utf_8_is_told_and_gives_whole_json() -> None:
    command = [sys.executable, "-m", "logitscope", "next", FAKE, b"a\xe9b", "--json"]
    result = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert result.returncode == 0
    assert json.loads(result.stdout)["rendered"] == "aéb"
    assert b"the prompt" in result.stderr


@pytest.mark.parametrize("context", ["1", "2"])
def test_a_prompt_longer_than_the_context_names_the_option(context: str) -> None:
    result = logitscope("next", f"{FAKE},context=64", "one two three", "-c", context)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert f"holds {context};" in line
    assert line.endswith("The option -c sets its length, up to 64 tokens.")


def test_the_option_is_not_named_where_it_cannot_help() -> None:
    for options in ((), ("-c", "8"), ("-c", "9")):
        result = logitscope("next", f"{FAKE},context=8", "one two three", *options)
        assert result.returncode == 1
        *_notes, line = result.stderr.splitlines()
        assert "longer than the 8 tokens that" in line
        assert line.endswith("can hold: shorten it")


def test_a_broken_model_exits_with_1(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 100)
    for arguments in (("next", str(broken), "a"), ("info", str(broken))):
        assert len(complaint(logitscope(*arguments), 1).splitlines()) == 1


@pytest.mark.parametrize("accident", ["fail=load", "abort=load", "abort=prefill", "bug=prefill"])
def test_an_accident_of_the_model_is_one_line(accident: str) -> None:
    message = complaint(logitscope("next", f"fake:{accident}", "hello"), 1)
    assert len(message.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no shell that closes a stream")
@pytest.mark.parametrize("words", [["next", "fake:", "hi"], ["models"], ["score", "fake:", "-"]])
def test_a_closed_output_is_an_error(words: list[str]) -> None:
    command = [sys.executable, "-m", "logitscope", *words]
    line = f"{shlex.join(command)} >&- </dev/null"
    done = subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "logitscope: standard output is closed: send what is printed somewhere\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize(
    "command",
    [("models",), ("models", "--json"), ("next", FAKE, "a"), ("score", FAKE), ("--help",)],
)
def test_a_full_disk_is_told_and_is_no_bug(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("The sky is blue.")
    files = [str(file)] * (command[0] == "score")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "logitscope", *command, *files],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert result.returncode == 1
    (said,) = result.stderr.splitlines()
    assert "what is printed cannot be written (No space left on device): free space" in said


@pytest.mark.parametrize("command", [("next", FAKE, "a"), ("score", FAKE, "f"), ("open", FAKE)])
def test_an_unknown_backend_is_wrong_usage(command: tuple[str, ...]) -> None:
    said = complaint(logitscope(*command, "--backend", "torch"), 2)
    assert "torch" in said
    # What can be chosen, without the model that is no model.
    assert {"llamacpp", "hf"} <= set(re.findall(r"\w+", said))
    assert "fake" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupt_exits_with_130_and_leaves_no_child() -> None:
    command = [sys.executable, "-m", "logitscope", "next", "fake:hang=load", "hello"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    import psutil

    def children() -> list[psutil.Process]:
        return psutil.Process(process.pid).children(recursive=True)

    deadline = 600
    while deadline and len(children()) < 1:
        deadline -= 1
        process.poll()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
    born = children()
    assert born
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(born, timeout=5)
    assert alive == []
