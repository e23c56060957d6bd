"""The llama.cpp backend, loaded as its tests want it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from logitscope.backends.base import UNWATCHED, LoadOptions, Watch

OPTIONS = LoadOptions(threads=1)


def load(path: Path, options: LoadOptions = OPTIONS, watch: Watch = UNWATCHED) -> Any:
    return importlib.import_module("logitscope.backends.llamacpp").load(path, options, watch)
