"""Perplexity of the llama.cpp backend against llama.cpp's own tool on the packaged model.

The values were recorded with ``llama-perplexity`` of the source that llama-cpp-python 0.3.36
vendors, linked to that package's libraries::

    llama-perplexity -m gemma-3-270m-Q4_K_M.gguf -f tests/data/perplexity.txt \\
        -c 512 -b 512 -t 1 -fa off --no-repack
    [1]8.3543,[2]7.5212,[3]8.9633,[4]8.5540,

without the last two options, by which the tool takes the kernels that our backend takes::

    [1]8.3581,[2]7.5259,[3]8.9456,[4]8.5462,
    Final estimate: PPL = 8.5462 +/- 0.77155

The environment variable LOGITSCOPE_LLAMA_PERPLEXITY names a tool to run instead of the record.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gemma, pytest.mark.llama]

TOOL = "LOGITSCOPE_LLAMA_PERPLEXITY"
PROGRAM = Path(__file__).parents[1] / "support" / "windowed_perplexity.py"
TEXT = Path(__file__).parents[1] / "data" / "perplexity.txt"
CONTEXT = 512
RECORDED = [8.3543, 7.5212, 8.9633, 8.5540]
"""Perplexity of the first 1, 2, 3 and 4 windows with the kernels of our backend."""
BY_DEFAULT = 8.5462
"""Final estimate with llama.cpp's default kernels."""


def measured_by_the_tool(model: Path) -> list[float]:
    tool = os.environ.get(TOOL)
    if not tool:
        return RECORDED
    size = str(CONTEXT)
    command = [tool, "-m", str(model), "-f", str(TEXT), "-c", size, "-b", size, "-t", "1"]
    command += ["-fa", "off", "--no-repack"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=800, check=True)
    found = re.findall(r"\[\d+\](\d+\.\d+),", result.stdout + result.stderr)
    return [float(value) for value in found]


# Three seconds a window on one core, of which a loaded machine makes minutes.
@pytest.mark.timeout(900)
def test_perplexity_is_that_of_llama_perplexity(gemma_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    command = [sys.executable, str(PROGRAM), str(gemma_path), str(TEXT), str(CONTEXT)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert result.returncode == 0, result.stderr
    ours = json.loads(result.stdout)
    assert ours["ids"] > 4 * CONTEXT
    assert ours["tokens"] == 4 * (CONTEXT // 2 - 1)
    assert ours["perplexity"] == pytest.approx(measured_by_the_tool(gemma_path), rel=1e-4)
    assert ours["perplexity"][-1] == pytest.approx(BY_DEFAULT, rel=1e-3)
