"""Models already on this machine: where other programs keep theirs, the packaged one, own folders.

Nothing here goes online, and no model is opened: it is recognised by its name and place, which
`library_check` goes beyond. Ollama's files have no names; its manifests, JSON of some hundred
bytes, are parsed here to see which blob is a model.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from logitscope.backends.base import BackendError
from logitscope.backends.hf_files import TOKENIZER_FILES
from logitscope.backends.packaged import (
    DEMO_TITLE,
    PACKAGED_TITLE,
    demo_path,
    is_packaged_installed,
    packaged_bytes,
    packaged_path,
)
from logitscope.bigram_file import SUFFIX as BIGRAM_SUFFIX

MOST_FOLDERS = 5_000
"""Folders looked into below one root; a model collection has some hundreds."""
DEEPEST = 5
LARGEST_MANIFEST = 1 << 20
SHIPPED = "demo"
"""Source of the model that comes with the program."""

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})(?=\.(?:gguf|safetensors)$)", re.IGNORECASE)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """One model. ``path`` is what a backend opens: a GGUF file or a model folder."""

    title: str
    path: Path
    source: str
    """Who keeps it: ``Ollama``, ``LM Studio``, ``Hugging Face``, ``llama.cpp``, ``folder``, …"""
    bytes: int
    """Length of the weight files; 0 where it is not known."""
    ready: bool = True
    """False for the packaged model before ``packaged.assemble`` has written its file."""
    lacks: str = ""
    """Why it cannot be opened, such as a download that broke off, as far as names and lengths of
    its files tell; "" for nothing known."""


def find_models(folders: Iterable[Path] = ()) -> list[LibraryEntry]:
    """All models found, the packaged one first, then the demo model, then by title; each file once.

    ``folders`` are the person's own. Folders that cannot be read are left out in silence.
    """
    found = [
        *_packaged(),
        *_demo(),
        *_hugging_face(),
        *_lm_studio(),
        *_ollama(),
        *_llama_cpp(),
        *_in_folder(own_models(), "Logitscope"),
        *(entry for folder in folders for entry in _in_folder(folder, "folder")),
    ]
    unique: dict[Path, LibraryEntry] = {}
    for entry in found:
        unique.setdefault(_resolved(entry.path), entry)
    return sorted(unique.values(), key=_order)


def _order(entry: LibraryEntry) -> tuple[bool, bool, str]:
    return entry.source != "packaged", entry.source != SHIPPED, entry.title.casefold()


def own_models() -> Path:
    """Where the models lie that were trained here."""
    return Path(platformdirs.user_data_path("logitscope", appauthor=False)) / "models"


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except OSError:
        return path


def _packaged() -> Iterator[LibraryEntry]:
    if is_packaged_installed():
        path = packaged_path()
        yield LibraryEntry(PACKAGED_TITLE, path, "packaged", packaged_bytes(), path.is_file())


def _demo() -> Iterator[LibraryEntry]:
    try:
        path = demo_path()
    except BackendError:
        return
    files = path.glob("*.safetensors") if path.is_dir() else (path,)
    yield LibraryEntry(DEMO_TITLE, path, SHIPPED, sum(map(_length, files)))


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


# -- folders ------------------------------------------------------------------------------------


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders at most DEEPEST below ``root`` with their file names; links to folders are not
    followed, hidden folders are left out."""
    for count, (folder, subfolders, files) in enumerate(os.walk(root)):
        if count >= MOST_FOLDERS:
            return
        here = Path(folder)
        deep = len(here.relative_to(root).parts) >= DEEPEST
        subfolders[:] = [] if deep else sorted(s for s in subfolders if not s.startswith("."))
        yield here, sorted(files)


def _in_folder(root: Path, source: str) -> Iterator[LibraryEntry]:
    for folder, files in _walk(root):
        yield from _in_one_folder(folder, files, source, title=None)


def _in_one_folder(
    folder: Path, files: list[str], source: str, title: str | None
) -> Iterator[LibraryEntry]:
    """GGUF files (a split model once), bigram models and, with config.json and safetensors, the
    folder itself."""
    for name in files:
        if not name.lower().endswith(".gguf") or name.lower().startswith("mmproj"):
            continue
        shard = _SHARD.search(name)
        if shard and int(shard[1]) != 1:
            continue
        stem = _SHARD.sub("", name)[: -len(".gguf")]
        parts = [f for f in files if _SHARD.sub("", f) == _SHARD.sub("", name)] if shard else [name]
        size = sum(_length(folder / part) for part in parts)
        called = f"{title} · {stem}" if title else stem
        lacks = _lacking(folder, parts)
        yield LibraryEntry(called, folder / name, source, size, lacks=lacks)
    for name in files:
        if name.endswith(BIGRAM_SUFFIX):
            stem = name.removesuffix(BIGRAM_SUFFIX)
            yield LibraryEntry(title or stem, folder / name, source, _length(folder / name))
    weights = [name for name in files if name.endswith(".safetensors")]
    if "config.json" in files and weights:
        size = sum(_length(folder / name) for name in weights)
        lacks = _lacking(folder, weights)
        if not lacks and not set(files).intersection(TOKENIZER_FILES):
            lacks = f"its folder has no {TOKENIZER_FILES[0]}"
        yield LibraryEntry(title or folder.name, folder, source, size, lacks=lacks)


def _lacking(folder: Path, weights: list[str]) -> str:
    """What is missing of the files of a model that should be whole; "" for nothing."""
    shards = [shard for name in weights if (shard := _SHARD.search(name))]
    parts = max((int(shard[2]) for shard in shards), default=0)
    missing = parts - len({shard[1] for shard in shards})
    if missing > 0:
        return f"{missing} of its {parts} files {'are' if missing > 1 else 'is'} missing"
    for name in weights:
        if not (folder / name).exists():
            return f"its file {name} is a link to nothing"
        if not _length(folder / name):
            return f"its file {name} is empty"
    return ""


# -- other programs -----------------------------------------------------------------------------


def _hugging_face_root() -> Path:
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME") or Path(_cache_home()) / "huggingface"
    return Path(home).expanduser() / "hub"


def _cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _hugging_face() -> Iterator[LibraryEntry]:
    root = _hugging_face_root()
    if not root.is_dir():
        return
    for repository, snapshot in _snapshots(root):
        for folder, files in _walk(snapshot):
            yield from _in_one_folder(folder, files, "Hugging Face", title=repository)


def _snapshots(root: Path) -> Iterator[tuple[str, Path]]:
    """Name and newest snapshot of every cached model; by the library's own scan where it is
    installed, else by its documented folder layout."""
    if find_spec("huggingface_hub"):
        from huggingface_hub import CacheNotFound, scan_cache_dir

        try:
            repositories = scan_cache_dir(root).repos
        except (CacheNotFound, OSError, ValueError):
            return
        for repository in sorted(repositories, key=lambda r: r.repo_id):
            if repository.repo_type == "model" and repository.revisions:
                newest = max(repository.revisions, key=lambda r: r.last_modified)
                yield repository.repo_id, newest.snapshot_path
        return
    for folder in sorted(root.glob("models--*")):
        snapshots = [path for path in folder.glob("snapshots/*") if path.is_dir()]
        if snapshots:
            name = folder.name.removeprefix("models--").replace("--", "/")
            yield name, max(snapshots, key=lambda path: path.stat().st_mtime)


def _lm_studio() -> Iterator[LibraryEntry]:
    for root in (Path.home() / ".lmstudio" / "models", _cache_home() / "lm-studio" / "models"):
        yield from _in_folder(root, "LM Studio")


def _llama_cpp() -> Iterator[LibraryEntry]:
    if own := os.environ.get("LLAMA_CACHE"):
        root = Path(own)
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches" / "llama.cpp"
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home())) / "llama.cpp"
    else:
        root = _cache_home() / "llama.cpp"
    yield from _in_folder(root, "llama.cpp")


def _ollama() -> Iterator[LibraryEntry]:
    own = os.environ.get("OLLAMA_MODELS")
    roots = [Path(own)] if own else [Path.home() / ".ollama" / "models"]
    if sys.platform == "linux" and not own:
        roots.append(Path("/usr/share/ollama/.ollama/models"))
    for root in roots:
        manifests = root / "manifests"
        for folder, files in _walk(manifests):
            for name in files:
                entry = _ollama_entry(root, folder / name)
                if entry is not None:
                    yield entry


def _ollama_entry(root: Path, manifest: Path) -> LibraryEntry | None:
    """The model that a manifest ``registry/namespace/name/tag`` points to, if its blob is there."""
    registry_parts = manifest.relative_to(root / "manifests").parts
    digest = _ollama_digest(manifest)
    if len(registry_parts) != 4 or digest is None:
        return None
    _registry, namespace, name, tag = registry_parts
    title = f"{name}:{tag}" if namespace == "library" else f"{namespace}/{name}:{tag}"
    blob = root / "blobs" / digest.replace(":", "-")
    return LibraryEntry(title, blob, "Ollama", _length(blob)) if blob.is_file() else None


def _ollama_digest(manifest: Path) -> str | None:
    try:
        # Reading a pipe waits for who writes into it, perhaps without end.
        if not manifest.is_file():
            return None
        with manifest.open("rb") as file:
            contents = file.read(LARGEST_MANIFEST + 1)
        if len(contents) > LARGEST_MANIFEST:
            return None
        layers = json.loads(contents).get("layers", [])
        digests = [
            str(layer["digest"])
            for layer in layers
            if str(layer.get("mediaType", "")).endswith("ollama.image.model")
        ]
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None
    # The digest becomes part of a path: nothing but a digest may stand there.
    return next((digest for digest in digests if _DIGEST.fullmatch(digest)), None)
