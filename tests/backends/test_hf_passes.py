"""What a pass of the transformers backend computes: in which dtype, and how many rows of logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.backends import hf, hf_gguf, hf_load
from logitscope.backends.base import LoadOptions, Watch
from logitscope.backends.hf_files import inspect_folder

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytestmark = pytest.mark.torch

IDS = list(range(3, 63))

# -- dtypes -------------------------------------------------------------------------------------


Load = Callable[[set[str], str | None], tuple[Any, list[str]]]


@pytest.fixture(params=["tiny_hf", "tiny_gguf"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads with pretended GPUs; gives what was loaded, and the devices the weights were meant for.

    They stay in memory, since there may be no GPU."""
    path: Path = request.getfixturevalue(request.param)
    devices: list[str] = []

    def place(device: str) -> dict[str, Any]:
        devices.append(device)
        return {}

    def load_with(gpus: set[str], wanted: str | None) -> tuple[Any, list[str]]:
        libraries = hf_load.import_libraries()
        monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in gpus)
        for module in (hf_load, hf_gguf):
            monkeypatch.setattr(module, "place", place)
            monkeypatch.setattr(module, "free_memory", lambda _torch, _device: 1 << 40)
        options = LoadOptions(device=wanted, threads=1)
        if path.is_dir():
            parts = hf_load.load_parts(libraries, inspect_folder(path), options, Watch())
        else:
            pytest.importorskip("accelerate")
            parts = hf_gguf.load_gguf(libraries, path, options, Watch())
        return parts, devices

    return load_with


@pytest.mark.parametrize(
    ("gpus", "wanted", "device", "dtype"),
    [
        ({"cuda"}, None, "cuda", "bfloat16"),
        ({"cuda"}, "cuda:0", "cuda:0", "bfloat16"),
        ({"mps"}, None, "mps", "bfloat16"),
        (set(), None, "cpu", "float32"),
        ({"cuda", "mps"}, "cpu", "cpu", "float32"),
    ],
)
def test_weights_are_bfloat16_on_a_gpu_and_float32_on_the_cpu(
    load: Load, gpus: set[str], wanted: str | None, device: str, dtype: str
) -> None:
    parts, devices = load(gpus, wanted)
    assert {p.dtype for p in parts.model.parameters()} == {getattr(torch, dtype)}
    assert (devices, parts.device) == ([device], device)


# -- rows of logits -----------------------------------------------------------------------------

STEP = 16
"""Rows that a chunk of scores may have."""


@pytest.fixture
def backend(tiny_hf: Path) -> Iterator[hf.HfBackend]:
    budget = STEP * 4 * 1008
    opened = hf.load(tiny_hf, LoadOptions(device="cpu", threads=1, score_budget_bytes=budget))
    yield opened
    opened.close()


@pytest.fixture
def computed(backend: hf.HfBackend) -> Iterator[list[int]]:
    """How many rows of logits each pass computed, by the output of the head itself."""
    rows: list[int] = []

    def count(module: Any, _inputs: Any, output: Any) -> None:
        if getattr(module, "out_features", 0) == backend.info.n_vocab:
            rows.append(output.numel() // backend.info.n_vocab)

    handle = torch.nn.modules.module.register_module_forward_hook(count)
    yield rows
    handle.remove()


def test_the_next_row_is_computed_alone(backend: hf.HfBackend, computed: list[int]) -> None:
    backend.next_logits(IDS)
    assert backend.last_pass.evaluated == len(IDS)
    # One pass reads all before the last id, and no pass can have less than one row.
    assert computed == [1, 1]
    computed.clear()
    backend.next_logits([*IDS, 5])
    assert computed == [1]


def test_a_chunk_of_scores_computes_its_own_rows(
    backend: hf.HfBackend, computed: list[int]
) -> None:
    start, stop = 20, len(IDS) + 1
    rows = np.concatenate([chunk.copy() for chunk in backend.score(IDS, start, stop)])
    assert len(rows) == stop - start
    # A chunk reads its last token, too; what lies before the first is read for one row.
    assert computed == [1, STEP + 1, STEP + 1, 9]


def test_other_contexts_compute_the_rows_of_the_continuation(
    backend: hf.HfBackend, computed: list[int]
) -> None:
    continuation = [70, 71, 72, 73]
    contexts = [IDS, [*IDS[:50], 80, *IDS[51:]]]
    found = list(backend.score_variants(contexts, continuation))
    assert sorted((each.variant, len(each.rows)) for each in found) == [(0, 4), (1, 4)]
    assert computed == [1, 4, 1, 4]
