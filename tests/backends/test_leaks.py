"""Loading one model after the other leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import load_cycles
import pytest

MEGABYTE = 1 << 20
CYCLES = 7
WARM = 2
"""Cycles until the libraries have made what they keep for good."""


def growth(module: str, path: Path | str, other: Path | str) -> int:
    """Bytes that the process grew over the last ``CYCLES - WARM`` cycles."""
    command = [sys.executable, load_cycles.__file__, module, str(path), str(other), str(CYCLES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    sizes: list[int] = json.loads(result.stdout)
    return sizes[-1] - sizes[WARM - 1]


@pytest.mark.torch
def test_hf_gives_its_weights_back(wide_hf: Path, tiny_hf_other: Path) -> None:
    # 34 MB of weights: one forgotten model in five cycles is more than the bound.
    assert growth("logitscope.backends.hf", wide_hf, tiny_hf_other) < 20 * MEGABYTE


@pytest.mark.llama
def test_llamacpp_gives_its_weights_back(wide_gguf: Path, tiny_gguf_other: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    grown = growth("logitscope.backends.llamacpp", wide_gguf, tiny_gguf_other)
    assert grown < 20 * MEGABYTE


def test_fake_gives_its_rows_back() -> None:
    # A chunk of 64 rows of 60,000 entries takes 15 MB.
    grown = growth("logitscope.backends.fake", "fake:vocab=60000", "fake:vocab=50000")
    assert grown < 20 * MEGABYTE


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tiny_hf", "tiny_gguf"])
def test_the_process_of_transformers_leaves_no_semaphore(
    name: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    words = ("next", str(path), "x", "--backend", "hf", "--device", "cpu")
    command = [sys.executable, "-m", "logitscope", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (result.returncode, result.stderr) == (0, "")
