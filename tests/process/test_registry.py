"""Names to loaders, and paths to names."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from logitscope.backends import registry
from logitscope.backends.base import LoadOptions, MissingBackend, ModelFileError
from logitscope.backends.registry import choose, installed_backends, known_backends, open_backend


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "a model.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    return path


def test_gguf_by_name_and_by_magic(gguf, tmp_path) -> None:
    assert choose(str(gguf)) == "llamacpp"
    # Ollama's blobs have no ending.
    blob = tmp_path / "sha256-0123"
    blob.write_bytes(gguf.read_bytes())
    assert choose(str(blob)) == "llamacpp"


def test_folder_with_a_config_is_hf(tmp_path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert choose(str(tmp_path)) == "hf"


def test_fake_pseudo_path() -> None:
    assert choose("fake:vocab=500") == "fake"
    backend = open_backend("", "fake:vocab=500", LoadOptions())
    assert backend.info.n_vocab == 500


def broken_link(folder: Path) -> Path:
    link = folder / "link.gguf"
    link.symlink_to(folder / "gone")
    return link


def text_file(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("hello")
    return path


def empty_file(folder: Path) -> Path:
    path = folder / "empty.bin"
    path.touch()
    return path


def shard(folder: Path) -> Path:
    path = folder / "model.safetensors"
    path.write_bytes(bytes(10))
    return path


def folder_of_ggufs(folder: Path) -> Path:
    (folder / "x.gguf").write_bytes(b"GGUF")
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["pipe", "pipe.gguf", "pipe.bigram.json", "pipe.json"])
def test_a_pipe_is_refused_without_waiting(tmp_path, name) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ModelFileError, match="is not an ordinary file"):
        choose(str(tmp_path / name))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none", "There is no file"),
        (lambda folder: folder / "none.gguf", "There is no file"),
        (lambda folder: folder, "has no config.json"),
        (folder_of_ggufs, "holds GGUF files"),
        (broken_link, "is a link to a file that is not there"),
        (text_file, "is not a model"),
        (empty_file, "open the folder"),
        (shard, "open the folder"),
    ],
)
def test_what_is_no_model_is_one_sentence(tmp_path, make, words) -> None:
    with pytest.raises(ModelFileError) as caught:
        choose(str(make(tmp_path)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_without_permission(gguf) -> None:
    blob = gguf.rename(gguf.with_suffix(""))
    blob.chmod(0)
    with pytest.raises(ModelFileError, match="may not be read"):
        choose(str(blob))


def test_a_name_nobody_knows(gguf) -> None:
    with pytest.raises(MissingBackend, match=r'no backend "onnx".*llamacpp'):
        open_backend("onnx", str(gguf), LoadOptions())


def test_a_path_that_is_gone_is_told_whatever_the_backend(tmp_path) -> None:
    with pytest.raises(ModelFileError, match="There is no file"):
        open_backend("llamacpp", str(tmp_path / "gone.gguf"), LoadOptions())


@pytest.mark.parametrize(
    ("name", "library", "extra"), [("llamacpp", "llama_cpp", "llama"), ("hf", "torch", "torch")]
)
def test_a_missing_library_names_its_extra(monkeypatch, tmp_path, name, library, extra) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda module: None if module == library else find(module)
    )
    assert name not in installed_backends()
    with pytest.raises(MissingBackend) as caught:
        open_backend(name, str(tmp_path), LoadOptions())
    assert f'pip install "logitscope[{extra}]"' in str(caught.value)


def test_a_backend_of_others(monkeypatch, tmp_path) -> None:
    entries = [
        importlib.metadata.EntryPoint("mine", "logitscope.backends.fake:load", registry.GROUP),
        importlib.metadata.EntryPoint("broken", "no_such_module:load", registry.GROUP),
        importlib.metadata.EntryPoint("empty", "logitscope.backends.fake:nothing", registry.GROUP),
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: entries)
    assert {"mine", "broken", "fake", "hf", "llamacpp"} <= set(known_backends())
    assert open_backend("mine", "fake:vocab=400", LoadOptions()).info.n_vocab == 400
    for name in ("broken", "empty"):
        with pytest.raises(MissingBackend, match=f'"{name}" cannot be started'):
            open_backend(name, str(tmp_path), LoadOptions())


def test_the_built_in_table_is_what_the_package_declares() -> None:
    declared = {
        entry.name: entry.value
        for entry in importlib.metadata.entry_points(group=registry.GROUP)
        if entry.value.startswith("logitscope.")
    }
    assert declared == registry._BUILT_IN


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, logitscope.backends.client as c, logitscope.backends.registry as r;"
        "r.installed_backends();"
        "print({'torch', 'transformers', 'llama_cpp', 'PySide6', 'gguf'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
