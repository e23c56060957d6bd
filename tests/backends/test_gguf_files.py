"""GGUF files where they lie: names, links, what the system refuses, models in parts."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import gguf_parts
import pytest
from gguf_parts import sentence_for, write_small_model

from logitscope.backends.gguf_header import read_header

small_model = gguf_parts.small_model


# -- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["with spaces.gguf", "模型 ünï.gguf", "🦙👩‍👩‍👧.gguf", "plain"])
def test_any_name_is_read(name: str, small_model: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(small_model.read_bytes())
    assert read_header(path).n_vocab == 300


def test_symlink_is_followed(small_model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(small_model)
    assert read_header(link).n_vocab == 300


def test_broken_symlink_is_named(tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(tmp_path / "gone.gguf")
    assert "link to a file that is not there" in sentence_for(link)


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    assert "no such file" in sentence_for(tmp_path / "absent.gguf")
    assert "is a folder" in sentence_for(tmp_path)
    assert "not a path" in sentence_for(Path("a\0b"))


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    assert "not an ordinary file" in sentence_for(pipe)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "may not be read by this user"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "no such file"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_system_errors_become_sentences(
    error: OSError, expected: str, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    assert expected in sentence_for(small_model)


# -- split models -------------------------------------------------------------------------------


@pytest.fixture
def split_model(tmp_path: Path) -> list[Path]:
    write_small_model(tmp_path / "split.gguf", shards=2)
    return sorted(tmp_path.glob("split-*.gguf"))


def test_split_model_is_read_as_one(split_model: list[Path], small_model: Path) -> None:
    whole, joined = read_header(small_model), read_header(split_model[0])
    assert len(split_model) == 2
    assert joined.shards == tuple(split_model)
    assert joined.tensor_bytes == whole.tensor_bytes
    assert joined.file_bytes == sum(path.stat().st_size for path in split_model)


def test_missing_part_is_named(split_model: list[Path]) -> None:
    split_model[1].unlink()
    assert "split-00002-of-00002.gguf" in sentence_for(split_model[0])


def test_cut_part_is_named(split_model: list[Path]) -> None:
    split_model[1].write_bytes(split_model[1].read_bytes()[:-1000])
    sentence = sentence_for(split_model[0])
    assert sentence.startswith("split-00002-of-00002.gguf")
    assert "cut off" in sentence


def test_a_later_part_points_to_the_first(split_model: list[Path]) -> None:
    assert "open split-00001-of-00002.gguf" in sentence_for(split_model[1])


def test_a_renamed_part_asks_for_its_name(split_model: list[Path]) -> None:
    renamed = split_model[0].rename(split_model[0].with_name("mine.gguf"))
    assert "-00001-of-00002.gguf" in sentence_for(renamed)
