"""What the command line says of slips: before any work, in one line, as wrong usage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from logitscope import cli
from logitscope.backends import library, library_check
from logitscope.backends.library_check import Checked

FAKE = "fake:vocab=400"


def logitscope(
    *arguments: str,
    given: bytes = b"",
    folder: Path | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "logitscope", *arguments],
        input=given,
        cwd=folder,
        capture_output=True,
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | (env or {}),
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("next", FAKE, "x", "--threads", "513"), "512"),
        (("score", FAKE, "x.txt", "--threads", "100000"), "512"),
        (("next", FAKE, "x", "--device", "mars"), 'there is no device "mars"'),
        (("scor", FAKE, "x.txt"), 'there is no command "scor": did you mean score?'),
        (("score", FAKE, "x.txt", "--field", "text"), "--field is for .jsonl files"),
        (("score", FAKE, "x.txt", "--format", "xml"), "'--format': 'xml' is not one of"),
    ],
)
def test_a_slip_is_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    result = logitscope(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    assert said in result.stderr.decode()


@pytest.mark.parametrize(
    "words",
    [("",), ("open", ""), ("next", "", "x"), ("score", "", "FILE"), ("origin", "", "FILE"),
     ("info", "")],
)  # fmt: skip
def test_a_model_without_a_name_is_wrong_usage(words: tuple[str, ...], tmp_path: Path) -> None:
    """And not the folder that one is in."""
    (tmp_path / "config.json").write_text("{}")
    file = tmp_path / "FILE"
    file.write_text('{"frame": "x", "answer": "y"}')
    result = logitscope(*words, folder=tmp_path)
    (said,) = result.stderr.decode().splitlines()
    assert (result.returncode, result.stdout) == (2, b"")
    assert said.startswith("logitscope: MODEL is empty: give a file, a folder or a name")


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:1", "mps"])
def test_devices_that_there_may_be_are_taken(name: str) -> None:
    assert logitscope("next", FAKE, "x", "--device", name).returncode == 0


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_of_pytorch_is_refused_where_llama_cpp_opens_the_file(
    device: str, tmp_path: Path
) -> None:
    model, text = tmp_path / "some.gguf", tmp_path / "text.json"
    model.write_bytes(b"GGUF")
    text.write_text('{"frame": "x", "answer": "y"}')
    for words in (("next", "x"), ("score", str(text)), ("origin", str(text)), ("open",)):
        command, *rest = words
        result = logitscope(command, str(model), *rest, "--device", device)
        said = result.stderr.decode()
        assert (result.returncode, result.stdout) == (2, b""), said
        assert f"--device means nothing to llamacpp, which opens {model}" in said
        assert "--gpu-layers" in said


def test_blocks_of_llama_cpp_are_refused_where_pytorch_opens_the_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    result = logitscope("next", str(tmp_path), "x", "--gpu-layers", "3")
    assert result.returncode == 2
    assert "--gpu-layers means nothing to hf" in result.stderr.decode()


def test_all_on_the_cpu_and_some_on_the_gpu_is_a_contradiction() -> None:
    result = logitscope("next", FAKE, "x", "--device", "cpu", "--gpu-layers", "3")
    assert result.returncode == 2
    assert "give one of the two" in result.stderr.decode()


def test_a_file_that_is_called_like_a_slip_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "scor").write_bytes(b"no model")
    there = logitscope("scor", "--no-such-option", folder=tmp_path).stderr.decode()
    assert "--no-such-option" in there
    elsewhere = logitscope("scor", "--no-such-option").stderr.decode()
    assert "did you mean score?" in elsewhere


@pytest.mark.parametrize(("slip", "meant"), [("nextt", "next"), ("scroe", "score")])
def test_a_slip_on_its_own_is_told_too(slip: str, meant: str) -> None:
    result = logitscope(slip)
    said = f'there is no command or model "{slip}": did you mean {meant}? (see logitscope --help)'
    assert (result.returncode, result.stderr.decode()) == (2, f"logitscope: {said}\n")


def test_a_model_that_is_not_there_is_no_slip() -> None:
    result = logitscope("gemma-9")
    assert result.returncode == 1
    assert "did you mean" not in result.stderr.decode()


def test_a_prompt_without_a_token_is_told_in_words_for_a_terminal() -> None:
    result = logitscope("next", FAKE, "", "--no-bos")
    assert (result.returncode, result.stdout) == (1, b"")
    assert "nothing to read" in result.stderr.decode()
    assert "type" not in result.stderr.decode()


def test_binary_standard_input_is_no_prompt() -> None:
    result = logitscope("next", FAKE, "-", given=bytes(range(256)) * 4)
    assert (result.returncode, result.stdout) == (1, b"")
    assert "standard input" in result.stderr.decode()


def test_a_prompt_comes_in_any_usual_encoding() -> None:
    same = [logitscope("next", FAKE, "-", given="né".encode(code)) for code in ("utf-8", "utf-16")]
    assert same[0].returncode == 0
    assert same[0].stdout == same[1].stdout


@pytest.mark.parametrize(
    ("command", "given"),
    [(("next", FAKE, "-"), "Grün ist die Heide."), (("origin", FAKE, "-"), '{"frame": "né"}')],
)
@pytest.mark.parametrize(
    ("codec", "said"),
    [
        ("latin-1", "standard input is not UTF-8 and is read as Latin-1."),
        ("utf-16-le", "standard input has no byte order mark and is read as UTF-16."),
    ],
)
def test_the_guess_of_an_encoding_is_said(
    command: tuple[str, ...], given: str, codec: str, said: str
) -> None:
    lines = logitscope(*command, given=given.encode(codec)).stderr.decode().splitlines()
    assert lines[0] == f"logitscope: {said}"
    marked = logitscope(*command, given=given.encode()).stderr.decode()
    assert "is read as" not in marked


def test_an_empty_text_is_called_empty(tmp_path: Path) -> None:
    file = tmp_path / "nothing.txt"
    file.touch()
    result = logitscope("score", FAKE, str(file))
    assert result.returncode == 1
    assert "no token can be scored, for the text is empty" in result.stderr.decode()


@pytest.mark.parametrize("command", [("next", "x"), ("score", "FILE"), ("origin", "FILE")])
def test_a_context_that_is_cut_is_told(command: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "text.json"
    file.write_text('{"sources": ["One is red."], "frame": " One is", "answer": " red"}')
    given = str(file) if command[1] == "FILE" else command[1]
    said = logitscope(command[0], FAKE, given, "--context", "9000000").stderr.decode()
    assert "the context is" in said
    assert "not 9,000,000" in said
    assert "the context is" not in logitscope(command[0], FAKE, given).stderr.decode()


@pytest.mark.llama
def test_blocks_that_stay_on_the_cpu_are_told(tiny_gguf: Path) -> None:
    llama_cpp = pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    said = logitscope("next", str(tiny_gguf), "x", "--gpu-layers", "1").stderr.decode()
    assert ("is on a GPU" in said) != llama_cpp.llama_supports_gpu_offload()


def test_models_that_cannot_be_opened_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    for name in ("big-00001-of-00002.gguf", "small.gguf"):
        (folder / name).write_bytes(b"GGUF")
    result = logitscope("models", env={"LLAMA_CACHE": str(folder)})
    lines = [line.split("\t") for line in result.stdout.decode().splitlines()]
    remarks = {columns[0]: columns[4:] for columns in lines}
    assert remarks["big"] == ["cannot be opened: 1 of its 2 files is missing"]
    (small,) = remarks["small"]
    assert small.startswith("cannot be opened: the file ends inside its header")


def test_a_list_says_what_it_had_no_time_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = library.LibraryEntry("Model", Path("model.gguf"), "folder", 5_000)
    monkeypatch.setattr(library, "find_models", lambda: [entry])
    monkeypatch.setattr(library_check, "check", lambda entries: Checked(tuple(entries), 1))
    cli.models()
    said = capsys.readouterr()
    assert said.out == "Model\tfolder\t5.0 kB\tmodel.gguf\n"
    assert said.err == "logitscope: there was no time to look into 1 of 1 models\n"


@pytest.mark.skipif(sys.platform == "win32", reason="names hold no control characters there")
def test_a_name_with_control_characters_is_one_line_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "a\nb\tc.gguf").write_bytes(b"GGUF")
    result = logitscope("models", env={"LLAMA_CACHE": str(tmp_path)})
    lines = [line.split("\t") for line in result.stdout.decode().splitlines()]
    (columns,) = [columns for columns in lines if columns[1] == "llama.cpp"]
    assert columns[0] == "a\\nb\\tc"
    assert columns[3] == f"{tmp_path}/a\\nb\\tc.gguf"


def test_the_packaged_model_is_put_together_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = library.LibraryEntry("Packaged", Path("model.gguf"), "packaged", 5_000, ready=False)
    monkeypatch.setattr(library, "find_models", lambda: [entry])
    cli.models()
    said = "is put together when it is first opened"
    assert capsys.readouterr().out == f"Packaged\tpackaged\t5.0 kB\tmodel.gguf\t{said}\n"


# -- the names of files ---------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["model.gguf", "./model.gguf", "../{0}/model.gguf", "{1}"])
@pytest.mark.parametrize("command", [("next", "x"), ("score", "x"), ("info",)])
def test_a_model_is_named_as_it_was_given(
    command: tuple[str, ...], given: str, tmp_path: Path
) -> None:
    broken = tmp_path / "model.gguf"
    broken.write_bytes(b"GGUF")
    word, *rest = command
    name = given.format(tmp_path.name, broken)
    (said,) = logitscope(word, name, *rest, folder=tmp_path).stderr.decode().splitlines()
    assert said.startswith(f"logitscope: {name}: the file ends inside its header")


@pytest.mark.parametrize("command", ["next", "info"])
def test_a_folder_is_named_as_it_was_given(command: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    rest = ("x",) * (command == "next")
    (said,) = logitscope(command, "./a", *rest, folder=tmp_path).stderr.decode().splitlines()
    assert "./a has no config.json" in said.replace('"', "")
    # The article is none of its names.
    assert " a " in said


def test_the_root_has_a_name_too() -> None:
    assert 'The folder "/" has no config.json' in logitscope("next", "/", "x").stderr.decode()


@pytest.mark.parametrize("command", ["score", "origin"])
@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (bytes(range(256)), "is a binary file"),
        ("Grün, süß".encode("latin-1"), "is not UTF-8 and is read as Latin-1"),
        (b"\xef\xbb\xbfabc\xff\xfe", "begins as UTF-8 text"),
        (None, "check the path"),
    ],
)
def test_a_text_is_named_as_it_was_given(
    command: str, contents: bytes | None, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    if contents is not None:
        (tmp_path / "a" / "text.txt").write_bytes(contents)
    result = logitscope(command, FAKE, "./a/text.txt", folder=tmp_path)
    first = result.stderr.decode().splitlines()[0]
    assert said in first
    assert "./a/text.txt" in first
