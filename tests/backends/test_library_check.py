"""Models whose names and lengths look right are told from those that open."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from logitscope.backends import library_check
from logitscope.backends.base import ModelFileError
from logitscope.backends.library import LibraryEntry
from logitscope.backends.library_check import check
from logitscope.backends.packaged import demo_path


def entry(path: Path, *, ready: bool = True, lacks: str = "") -> LibraryEntry:
    return LibraryEntry(path.stem, path, "folder", 1, ready, lacks)


def test_a_file_that_is_cut_off_is_told_from_whole_ones(tmp_path: Path) -> None:
    whole = demo_path()
    contents = whole.read_bytes()
    paths = [tmp_path / f"{name}.gguf" for name in ("weights", "header", "other")]
    for path, part in zip(paths, (contents[:-100_000], contents[:1000], b"{}"), strict=True):
        path.write_bytes(part)
    models = [entry(whole), *map(entry, paths)]
    checked = check(models, seconds=60)
    assert checked.unread == 0
    assert [e.path for e in checked.entries] == [e.path for e in models]
    good, weights, header, other = (e.lacks for e in checked.entries)
    assert good == ""
    assert weights.startswith("the file is cut off: 0.1 MB of its weights are missing")
    assert header.startswith("the file is too short for the 47 tensors it claims to hold")
    assert other.startswith("other.gguf is not a GGUF file")


def test_what_is_known_already_is_not_looked_into(tmp_path: Path) -> None:
    models = [
        entry(tmp_path / "a.gguf", lacks="its file a.gguf is empty"),
        entry(tmp_path / "later.gguf", ready=False),
    ]
    checked = check(models, seconds=0)
    assert (checked.entries, checked.unread) == (tuple(models), 0)


def test_without_time_a_model_is_left_as_it_is() -> None:
    models = [entry(demo_path())] * 3
    checked = check(models, seconds=0)
    assert (checked.entries, checked.unread) == (tuple(models), 3)


def test_who_is_stopped_by_the_deadline_is_not_called_damaged() -> None:
    # No process starts within a hundredth of a second.
    checked = check([entry(demo_path())], seconds=0.01)
    assert (checked.entries[0].lacks, checked.unread) == ("", 1)
    assert multiprocessing.active_children() == []


def test_a_model_that_predicts_nothing_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    real = library_check.inspect

    def embedding(path: Path, *, seconds: float) -> object:
        return replace(real(path, seconds=seconds), refusal="it predicts no next token")

    monkeypatch.setattr(library_check, "inspect", embedding)
    (found,) = check([entry(demo_path())], seconds=60).entries
    assert found.lacks == "it predicts no next token"


def test_a_failure_says_what_is_wrong_without_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("sha256-" + "0" * 64)

    def failing(path: Path, *, seconds: float) -> object:
        raise ModelFileError(f"{path.name}: its header is damaged")

    monkeypatch.setattr(library_check, "inspect", failing)
    (found,) = check([entry(path)], seconds=60).entries
    assert found.lacks == "its header is damaged"
