"""Which backends there are and which one opens a path; no model library is imported here.

Backends of others register an entry point in group ``logitscope.backends`` that names a `Loader`.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import cast

from logitscope.backends.base import (
    UNWATCHED,
    Backend,
    Loader,
    LoadOptions,
    MissingBackend,
    ModelFileError,
    Watch,
)
from logitscope.backends.fake_settings import PREFIX as FAKE_PREFIX
from logitscope.bigram_file import SUFFIX as BIGRAM_SUFFIX

GROUP = "logitscope.backends"
FAKE = "fake"
_BUILT_IN = {
    "llamacpp": "logitscope.backends.llamacpp:load",
    "hf": "logitscope.backends.hf:load",
    "bigram": "logitscope.backends.bigram:load",
    FAKE: "logitscope.backends.fake:load",
}
"""Known without an installation too, so that a plain checkout works."""
_LIBRARIES = {
    "llamacpp": (("llama_cpp",), "llama.cpp", "llama"),
    "hf": (("torch", "transformers"), "PyTorch and transformers", "torch"),
}
"""Modules a built-in backend imports, their name for people, and the extra that installs them."""
_GGUF_MAGIC = b"GGUF"


def known_backends() -> dict[str, str]:
    """Name of every backend and its loader as ``module:function``."""
    # The window starts without it: it imports the parser of e-mail.
    from importlib.metadata import entry_points

    return _BUILT_IN | {entry.name: entry.value for entry in entry_points(group=GROUP)}


def offered_backends() -> tuple[str, ...]:
    """Names a person can choose from: the fake model has no files, and is for tests."""
    return tuple(name for name in known_backends() if name != FAKE)


def installed_backends() -> tuple[str, ...]:
    """Names of the backends whose libraries are there, found without importing them."""
    return tuple(name for name in known_backends() if not _missing_modules(name))


def is_pseudo_path(path: str) -> bool:
    """Whether the path names the fake model and nothing on the disk."""
    return path.startswith(FAKE_PREFIX)


def choose(path: str) -> str:
    """Name of the backend for a path. Raises ModelFileError where the path is no model."""
    if is_pseudo_path(path):
        return FAKE
    place = Path(path)
    try:
        if place.is_dir():
            return _choose_for_folder(place)
        # Opening a pipe waits for who writes into it, perhaps without end.
        if place.exists() and not place.is_file():
            raise ModelFileError(f'"{place.name}" is not an ordinary file: choose a model.')
        if place.suffix.lower() == ".gguf" and place.exists():
            return "llamacpp"
        if place.name.lower().endswith(BIGRAM_SUFFIX) and place.exists():
            return "bigram"
        with place.open("rb") as file:
            magic = file.read(len(_GGUF_MAGIC))
    except OSError as error:
        raise _unreadable(place, error) from error
    if magic == _GGUF_MAGIC:
        return "llamacpp"
    if place.suffix.lower() in {".safetensors", ".bin", ".json"}:
        raise ModelFileError(
            f'"{place.name}" is one file of a Hugging Face model; open the folder that holds it.'
        )
    raise ModelFileError(
        f'"{place.name}" is not a model that can be opened; '
        "choose a GGUF file or a Hugging Face folder."
    )


def open_backend(name: str, path: str, options: LoadOptions, watch: Watch = UNWATCHED) -> Backend:
    """Load ``path`` with the backend ``name``, or with the one `choose` names where it is "".

    Raises what `Loader` raises; ModelFileError too for a path that is not there and
    MissingBackend for a name that nobody knows.
    """
    name = name or choose(path)
    if not is_pseudo_path(path):
        _check_there(Path(path))
    return _loader(name)(Path(path), options, watch)


def _choose_for_folder(folder: Path) -> str:
    if (folder / "config.json").exists():
        return "hf"
    if any(folder.glob("*.gguf")):
        raise ModelFileError(
            f'The folder "{folder.name}" holds GGUF files; open one of them instead.'
        )
    raise ModelFileError(
        f'The folder "{folder.name}" has no config.json, so it is no Hugging Face model; '
        "choose a folder with config.json or a GGUF file."
    )


def _check_there(place: Path) -> None:
    try:
        place.stat()
    except OSError as error:
        raise _unreadable(place, error) from error


def _unreadable(place: Path, error: OSError) -> ModelFileError:
    if isinstance(error, FileNotFoundError) and place.is_symlink():
        return ModelFileError(f'"{place}" is a link to a file that is not there; restore the file.')
    if isinstance(error, FileNotFoundError):
        return ModelFileError(f'There is no file or folder "{place}"; check the path.')
    if isinstance(error, PermissionError):
        return ModelFileError(
            f'"{place}" may not be read by you; change its permissions or choose another file.'
        )
    return ModelFileError(
        f'"{place}" cannot be read ({error.strerror}); choose another file.', str(error)
    )


def _loader(name: str) -> Loader:
    try:
        # Entry points are looked up only for the backends of others: that takes 30 ms of a load.
        source = _BUILT_IN.get(name) or known_backends()[name]
    except KeyError as error:
        raise MissingBackend(
            f'There is no backend "{name}"; choose one of {", ".join(offered_backends())}.'
        ) from error
    module_name, _, attribute = source.partition(":")
    missing = _missing_modules(name)
    if missing:
        raise _library_missing(name, ", ".join(missing))
    try:
        return cast(Loader, getattr(importlib.import_module(module_name), attribute))
    except (ImportError, AttributeError) as error:
        raise MissingBackend(
            f'The backend "{name}" cannot be started ({error}); install its package again.',
            repr(error),
        ) from error


def _missing_modules(name: str) -> list[str]:
    modules = _LIBRARIES.get(name, ((), "", ""))[0]
    return [module for module in modules if importlib.util.find_spec(module) is None]


def _library_missing(name: str, modules: str) -> MissingBackend:
    _, label, extra = _LIBRARIES[name]
    return MissingBackend(
        f'This model needs {label}, which is not installed: pip install "logitscope[{extra}]"',
        f"missing modules: {modules}",
    )
