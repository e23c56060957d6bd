"""Fixtures for all rooms."""

from __future__ import annotations

from pathlib import Path

import pytest

from logitscope.backends import packaged


@pytest.fixture(scope="session")
def gemma_path() -> Path:
    """The real Gemma 3 270M, Q4_K_M, from the extra ``gemma``; assembled once into the cache."""
    if not packaged.is_packaged_installed():
        pytest.skip("the extra `gemma` is not installed")
    return packaged.assemble()
