"""A model asked by a caller that waits: early ends, failures, death."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from logitscope.backends.base import BackendError
from logitscope.backends.question import ModelDied
from logitscope.backends.scoring import ScoringModel

IDS = tuple(range(10, 310))


def test_a_caller_that_stops_early_can_go_on_with_another_text() -> None:
    with ScoringModel("fake:vocab=400") as model:
        pid = model.pid
        whole = [part.log_probability.tolist() for part in model.score(IDS, 1, len(IDS))]
        assert sum(map(len, whole)) == len(IDS) - 1
        for part in model.score(IDS, 1, len(IDS)):
            assert part.log_probability.tolist() == whole[0]
            break
        again = [part.log_probability.tolist() for part in model.score(IDS, 1, len(IDS))]
        assert again == whole
        assert model.tokenize("ab", add_special=True)[1:] == model.tokenize("ab", add_special=False)
    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_a_failure_is_raised_and_the_model_lives_on() -> None:
    with ScoringModel("fake:vocab=400,fail=prefill,after=5") as model:
        with pytest.raises(BackendError, match="failed in prefill") as caught:
            list(model.score(IDS, 1, len(IDS)))
        assert not isinstance(caught.value, ModelDied)
        assert model.tokenize("a", add_special=False)


def test_rows_that_are_no_logits_are_one_sentence_and_what_came_before_is_kept() -> None:
    with ScoringModel("fake:vocab=400,nan_after=100") as model:
        known: list[float] = []
        with pytest.raises(BackendError, match=r"no logits \(NaN or infinity\)") as caught:
            for part in model.score(IDS, 1, len(IDS)):
                known.extend(part.log_probability.tolist())
        assert not isinstance(caught.value, ModelDied)
        assert "\n" not in str(caught.value)
        with ScoringModel("fake:vocab=400") as sound:
            rows = [part.log_probability for part in sound.score(IDS, 1, 100)]
        # Position p is predicted from p ids: the first bad row is that of position 100.
        np.testing.assert_array_equal(known, np.concatenate(rows))
        assert model.tokenize("a", add_special=False)


@pytest.mark.torch
def test_a_token_with_damaged_weights_is_one_sentence(tiny_hf: Path, tmp_path: Path) -> None:
    load_file = pytest.importorskip("safetensors.numpy").load_file
    save_file = pytest.importorskip("safetensors.numpy").save_file
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_hf, folder)
    weights = load_file(folder / "model.safetensors")
    # One token's own row: the pass at loading does not meet it.
    weights["model.embed_tokens.weight"][IDS[20]] = np.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with ScoringModel(str(folder)) as model:
        with pytest.raises(BackendError, match=r"no logits \(NaN or infinity\)"):
            list(model.score(IDS[:40], 1, 40))
        assert model.tokenize("a", add_special=False)


def test_the_death_of_the_process_is_told_apart() -> None:
    with (
        ScoringModel("fake:vocab=400,abort=prefill") as model,
        pytest.raises(ModelDied),
    ):
        list(model.score(IDS, 1, len(IDS)))


def test_a_model_that_does_not_load_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    with pytest.raises(BackendError, match="knows no setting"):
        ScoringModel("fake:nonsense=1")
    _, alive = psutil.wait_procs(set(psutil.Process().children()) - before, timeout=5)
    # Python's resource tracker serves the whole test run.
    assert [p for p in alive if "resource_tracker" not in " ".join(p.cmdline())] == []
