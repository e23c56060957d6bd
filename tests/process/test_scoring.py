"""A model asked by a caller that waits: early ends, failures, death."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from logitscope.backends.base import BackendError, LoadOptions
from logitscope.backends.client import ModelClient
from logitscope.backends.question import ModelDied
from logitscope.backends.scoring import ScoringModel
from logitscope.scoring_passes import ScoringPass, scoring_passes

IDS = tuple(range(10, 310))


def losses(model: ScoringModel, *texts: tuple[int, ...]) -> list[list[float]]:
    """Log-probabilities of all tokens but the first of each text, a list a chunk."""
    passes = [ScoringPass(ids, 1, 1) for ids in texts]
    return [part.log_probability.tolist() for _, part in model.score(passes)]


def test_a_caller_that_stops_early_can_go_on_with_another_text() -> None:
    with ScoringModel("fake:vocab=400") as model:
        pid = model.pid
        whole = losses(model, IDS)
        assert sum(map(len, whole)) == len(IDS) - 1
        for _, part in model.score([ScoringPass(IDS, 1, 1)] * 3):
            assert part.log_probability.tolist() == whole[0]
            break
        assert losses(model, IDS) == whole
        assert model.tokenize("ab", add_special=True)[1:] == model.tokenize("ab", add_special=False)
    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_texts_are_answered_in_order_and_the_next_one_waits_with_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = (IDS[:40], IDS[100:150], IDS[7:60])
    with ScoringModel("fake:vocab=400") as model:
        apart = [chunk for ids in texts for chunk in losses(model, ids)]
        assert losses(model, *texts) == apart
        asked: list[int] = []
        ask = ModelClient.score

        def noted(client: ModelClient, *given: object, **named: bool) -> int:
            asked.append(1)
            return ask(client, *given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(ModelClient, "score", noted)
        answers = model.score(ScoringPass(ids, 1, 1) for ids in texts)
        first, _ = next(answers)
        assert first.ids == texts[0]
        assert len(asked) == 2
        assert [each.ids for each, _ in answers] == [texts[1], texts[2]]


def test_a_failure_is_raised_and_the_model_lives_on() -> None:
    with ScoringModel("fake:vocab=400,fail=prefill,after=5") as model:
        with pytest.raises(BackendError, match="failed in prefill") as caught:
            losses(model, IDS)
        assert not isinstance(caught.value, ModelDied)
        assert model.tokenize("a", add_special=False)


def test_rows_that_are_no_logits_are_one_sentence_and_what_came_before_is_kept() -> None:
    with ScoringModel("fake:vocab=400,nan_after=100") as model:
        known: list[float] = []
        with pytest.raises(BackendError, match=r"no logits \(NaN or infinity\)") as caught:
            for _, part in model.score([ScoringPass(IDS, 1, 1)]):
                known.extend(part.log_probability.tolist())
        assert not isinstance(caught.value, ModelDied)
        assert "\n" not in str(caught.value)
        with ScoringModel("fake:vocab=400") as sound:
            rows = losses(sound, IDS[:100])
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
            losses(model, IDS[:40])
        assert model.tokenize("a", add_special=False)


def test_the_death_of_the_process_is_told_apart() -> None:
    with (
        ScoringModel("fake:vocab=400,abort=prefill") as model,
        pytest.raises(ModelDied),
    ):
        losses(model, IDS)


def test_a_model_that_does_not_load_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    with pytest.raises(BackendError, match="knows no setting"):
        ScoringModel("fake:nonsense=1")
    _, alive = psutil.wait_procs(set(psutil.Process().children()) - before, timeout=5)
    # Python's resource tracker serves the whole test run.
    assert [p for p in alive if "resource_tracker" not in " ".join(p.cmdline())] == []


@pytest.mark.gemma
@pytest.mark.llama
def test_the_losses_of_a_text_do_not_depend_on_those_before_it(gemma_path: Path) -> None:
    """A quantized model's rows depend on where in the cache a text lies, and on what it shares."""
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    with ScoringModel(str(gemma_path), options=LoadOptions(context_length=512)) as model:
        texts = [
            model.tokenize(text, add_special=True)
            for text in ("The sky is blue. " * 30, "Grey is the sea, and cold. " * 20)
        ]

        def read(*ids: tuple[int, ...]) -> list[list[float]]:
            passes = scoring_passes(ids, 64, 32, model.vocabulary.bos)
            return [part.log_probability.tolist() for _, part in model.score(passes)]

        alone = read(texts[0])
        assert read(texts[1], texts[0])[-len(alone) :] == alone
        assert read(texts[0]) == alone
