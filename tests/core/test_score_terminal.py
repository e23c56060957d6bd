"""The command line in a terminal: Ctrl-C while files are scored, and the bar."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import score_command
from score_command import FAKE

file = score_command.file


def begin(theirs: int, folder: Path, *files: str) -> subprocess.Popen[bytes]:
    """Score files of a folder, among them one that takes long."""
    (folder / "slow.txt").write_text("The sky is blue. " * 40)
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "logitscope", "score", FAKE + ",prefill_ms_per_token=5"),
            *(*files, "--format", "jsonl"),
        ],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | TERMINAL,
        cwd=folder,
        start_new_session=True,
    )


def read_until(pattern: re.Pattern[bytes], ours: int) -> bytes:
    """What a terminal was sent until something stands in it."""
    drawn = b""
    while not pattern.search(drawn):
        drawn += os.read(ours, 65536)
    return drawn


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_interrupt_keeps_and_prints_what_is_done(tmp_path: Path, file: Path) -> None:
    with terminal() as (ours, theirs):
        process = begin(theirs, tmp_path, file.name, "slow.txt", file.name)
        read_until(SLOW_BEGUN, ours)
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    first, second = [json.loads(line) for line in output.splitlines()]
    assert (first["file"], first["unread"]) == (file.name, 0)
    assert second["file"] == "slow.txt"
    assert second["unread"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ([], ""),
        (["a.txt"], "a.txt is not scored"),
        (["a.txt", "-", "c.txt"], "a.txt, standard input and c.txt are not scored"),
        ([f"{n}.txt" for n in range(30)], "30 files are not scored: 0.txt and all behind it"),
    ],
)
def test_files_that_an_interrupt_leaves_out_are_named(
    behind: list[str], said: str, tmp_path: Path
) -> None:
    with terminal() as (ours, theirs):
        process = begin(theirs, tmp_path, "slow.txt", *behind)
        read_until(SLOW_BEGUN, ours)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        os.write(theirs, END)
        printed = read_until(re.compile(END), ours).decode()
    told = [line for line in printed.splitlines() if "not scored" in line]
    assert [line.rpartition("logitscope: ")[2] for line in told] == [said] * bool(said)


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe can be set on Linux only")
def test_a_second_interrupt_does_not_lose_what_is_being_printed(tmp_path: Path, file: Path) -> None:
    """The pipe takes 4 kB of the 8 kB of numbers: until it is read, printing cannot end."""
    import fcntl
    import termios

    files = [file.name] * 30
    with terminal() as (ours, theirs):
        process = begin(theirs, tmp_path, *files, "slow.txt")
        assert process.stdout is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        read_until(SLOW_BEGUN, ours)
        os.kill(process.pid, signal.SIGINT)
        held = bytearray(4)
        while not any(held):
            fcntl.ioctl(process.stdout, termios.FIONREAD, held)
            assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    found = [json.loads(line)["file"] for line in output.splitlines()]
    assert found == [*files, "slow.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_sees_a_bar_with_rate_and_time_left(file: Path) -> None:
    file.write_text("The sky is blue. " * 20)
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [sys.executable, "-m", "logitscope", "score", FAKE + ",prefill_ms_per_token=4", file],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=os.environ | TERMINAL,
        )
        drawn = read_until(re.compile(b"tokens/s"), ours)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "━".encode() in drawn
    assert b"0:00:0" in drawn
    assert b"\x1b" not in output


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_bar_shows_no_control_characters_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b]0;c.txt").write_text("The sky is blue. " * 20)
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "logitscope", "score", FAKE + ",prefill_ms_per_token=4"),
                "a\nb\x1b]0;c.txt",
            ],
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env=os.environ | TERMINAL,
            cwd=tmp_path,
        )
        drawn = read_until(re.compile(b"tokens/s"), ours)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"a\\nb\\x1b]0;c.txt" in drawn
    assert b"\x1b]0;" not in drawn


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_long_prompt_has_a_bar_that_goes_away(tmp_path: Path) -> None:
    model = FAKE + ",prefill_ms_per_token=4"
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [sys.executable, "-m", "logitscope", "next", model, "The sky is blue. " * 20],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=os.environ | TERMINAL,
        )
        drawn = read_until(re.compile(b"tokens/s"), ours)
        output, _ = process.communicate(timeout=60)
        os.write(theirs, END)
        drawn += read_until(re.compile(END), ours)
    assert process.returncode == 0
    assert re.search(rb"prompt .*[1-9]\d*/\d{3}", drawn)
    # The line is erased, and the cursor is back.
    assert drawn.endswith(b"\x1b[2K" + END)
    assert b"\x1b[?25h" in drawn
    assert b"\x1b" not in output


SLOW_BEGUN = re.compile(rb"[1-9]\d*/\d{3}")
"""The bar of the one text of a hundred tokens and more, when some of it is scored."""
END = b"END"
TERMINAL = {"TERM": "xterm", "COLUMNS": "160"}


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Our end and the program's end of a pseudo-terminal."""
    import pty

    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(theirs)
    os.close(ours)
