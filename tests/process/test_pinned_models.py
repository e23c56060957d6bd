"""Where a model's threads may run, seen from outside its process."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from logitscope.backends.base import LoadOptions
from logitscope.backends.scoring import ScoringModel
from logitscope.scoring_passes import ScoringPass

CORES = sorted(getattr(os, "sched_getaffinity", lambda _: [0])(0))
pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(CORES) < 2,
    reason="threads can be pinned on Linux only, and there must be two cores",
)


@pytest.fixture(params=["llamacpp", "hf"])
def backend_and_path(request: pytest.FixtureRequest) -> tuple[str, Path]:
    if request.param == "llamacpp":
        pytest.importorskip("llama_cpp")
        return "llamacpp", request.getfixturevalue("tiny_gguf")
    pytest.importorskip("transformers")
    return "hf", request.getfixturevalue("tiny_hf")


def pinned_to(backend: str, path: Path, threads: int) -> Counter[int]:
    """How many threads of the model process may run on nothing but one core, by that core."""
    with ScoringModel(str(path), backend, LoadOptions(256, threads, device="cpu")) as model:
        ids = model.tokenize("The sky is grey and cold today. " * 4, add_special=True)
        assert list(model.score([ScoringPass(ids, 1, 0)]))
        tasks = [int(task.name) for task in Path(f"/proc/{model.pid}/task").iterdir()]
        places = [sorted(os.sched_getaffinity(task)) for task in tasks]
    return Counter(cores[0] for cores in places if len(cores) == 1)


def test_each_thread_that_computes_has_a_core_where_they_take_all(
    backend_and_path: tuple[str, Path],
) -> None:
    assert pinned_to(*backend_and_path, len(CORES)) == Counter(CORES)


def test_no_thread_is_pinned_where_a_core_is_left(backend_and_path: tuple[str, Path]) -> None:
    assert pinned_to(*backend_and_path, len(CORES) - 1) == Counter()
