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

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from logitscope.backends.base import LoadOptions
from logitscope.surprisal import perplexity_windows, summarise_loss, token_numbers
from logitscope.window_ids import window_ids

pytestmark = [pytest.mark.gemma, pytest.mark.llama]

TOOL = "LOGITSCOPE_LLAMA_PERPLEXITY"
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
    from logitscope.backends import llamacpp

    backend = llamacpp.load(gemma_path, LoadOptions(context_length=CONTEXT))
    loss, rank, found = [], [], []
    try:
        ids = backend.tokenize(TEXT.read_text("utf-8"), add_special=True, parse_special=False)
        windows = perplexity_windows(len(ids), CONTEXT)
        for window in windows:
            read = window_ids(ids, window.begin, window.end, backend.vocabulary.bos)
            position = window.score_from - window.begin
            for rows in backend.score(read, position, len(read)):
                numbers = token_numbers(rows, np.array(read[position : position + len(rows)]))
                loss.append(-numbers.log_probability)
                rank.append(numbers.rank)
                position += len(rows)
            summary = summarise_loss(np.concatenate(loss), np.concatenate(rank))
            found.append(summary.perplexity)
    finally:
        backend.close()
    assert len(ids) > 4 * CONTEXT
    assert summary.tokens == 4 * (CONTEXT // 2 - 1)
    assert found == pytest.approx(measured_by_the_tool(gemma_path), rel=1e-4)
    assert found[-1] == pytest.approx(BY_DEFAULT, rel=1e-3)
