"""The sampler chains of transformers and of llama.cpp, run stage by stage on one row.

Both report what a row's tokens look like at the end, and how close to a border any decision was:
where rounding alone decides, two implementations may differ and a test must not judge.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from logitscope.sampling import SamplerSettings, Stage


@dataclass(frozen=True)
class Outcome:
    """What is left of a row."""

    ids: np.ndarray
    logits: np.ndarray
    """float64, of ``ids``, after the chain."""
    margin: float
    """Smallest distance of a mass or a ratio to the threshold it was compared with."""


def transformers_chain(
    row: np.ndarray, settings: SamplerSettings, history: Sequence[int]
) -> Outcome:
    """Apply transformers' own processors in the order of the settings, in float64."""
    import torch

    scores = torch.from_numpy(row.astype(np.float64))[None, :]
    ids = torch.tensor([list(history)], dtype=torch.long)
    margin = np.inf
    for stage in settings.order:
        if settings.is_active(stage):
            margin = min(margin, _margin(scores[0].numpy(), stage, settings))
            scores = _processor(stage, settings)(ids, scores)
    left = scores[0].numpy()
    kept = np.flatnonzero(left > -np.inf)
    return Outcome(kept, left[kept], margin)


def _processor(stage: Stage, settings: SamplerSettings):
    from transformers.generation import logits_process as lp

    if stage is Stage.PENALTIES:
        return lp.RepetitionPenaltyLogitsProcessor(settings.repetition_penalty)
    if stage is Stage.TEMPERATURE:
        return lp.TemperatureLogitsWarper(settings.temperature)
    if stage is Stage.TOP_K:
        return lp.TopKLogitsWarper(settings.top_k)
    if stage is Stage.TOP_P:
        return lp.TopPLogitsWarper(settings.top_p)
    if stage is Stage.MIN_P:
        return lp.MinPLogitsWarper(settings.min_p)
    return lp.TypicalLogitsWarper(settings.typical_p)


def llamacpp_chain(row: np.ndarray, settings: SamplerSettings, history: Sequence[int]) -> Outcome:
    """Apply llama.cpp's own samplers, one by one, through its C API (float32)."""
    import llama_cpp

    data = (llama_cpp.llama_token_data * len(row))()
    for token_id, logit in enumerate(row.tolist()):
        data[token_id] = llama_cpp.llama_token_data(token_id, logit, 0.0)
    array = llama_cpp.llama_token_data_array(data, len(row), -1, False)
    margin = np.inf
    for stage in settings.order:
        if settings.is_active(stage):
            margin = min(margin, _margin(_left(array)[1], stage, settings))
            _apply_llamacpp(stage, settings, history, len(row), array)
    ids, logits = _left(array)
    finite = logits > -np.inf
    return Outcome(ids[finite], logits[finite], margin)


def _left(array) -> tuple[np.ndarray, np.ndarray]:
    entries = [(array.data[i].id, array.data[i].logit) for i in range(array.size)]
    ids, logits = zip(*entries, strict=True)
    return np.array(ids), np.array(logits, dtype=np.float64)


def _apply_llamacpp(stage, settings, history, n_vocab, array) -> None:
    import llama_cpp

    last_n = len(history) if settings.penalty_last_n < 0 else settings.penalty_last_n
    made = {
        Stage.PENALTIES: lambda: llama_cpp.llama_sampler_init_penalties(
            n_vocab,
            last_n,
            settings.repetition_penalty,
            settings.frequency_penalty,
            settings.presence_penalty,
        ),
        Stage.TEMPERATURE: lambda: llama_cpp.llama_sampler_init_temp(settings.temperature),
        Stage.TOP_K: lambda: llama_cpp.llama_sampler_init_top_k(settings.top_k),
        Stage.TOP_P: lambda: llama_cpp.llama_sampler_init_top_p(settings.top_p, 1),
        Stage.MIN_P: lambda: llama_cpp.llama_sampler_init_min_p(settings.min_p, 1),
        Stage.TYPICAL: lambda: llama_cpp.llama_sampler_init_typical(settings.typical_p, 1),
    }
    sampler = made[stage]()
    for token_id in history:
        llama_cpp.llama_sampler_accept(sampler, token_id)
    llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
    llama_cpp.llama_sampler_free(sampler)


def _margin(logits: np.ndarray, stage: Stage, settings: SamplerSettings) -> float:
    """How far the closest decision of a stage is from its threshold."""
    logits = np.sort(logits[logits > -np.inf])[::-1]
    lead = logits - logits[0]
    probabilities = np.exp(lead)
    if stage is Stage.MIN_P:
        return _distance(probabilities[1:], settings.min_p)
    total = probabilities.sum()
    probabilities = probabilities / total
    if stage is Stage.TOP_P:
        return _distance(np.cumsum(probabilities), settings.top_p)
    if stage is not Stage.TYPICAL:
        return np.inf
    surprise = np.log(total) - lead
    away = np.abs(surprise - np.dot(probabilities, surprise))
    nearest = np.argsort(away, kind="stable")
    gaps = np.diff(away[nearest])[np.diff(logits[nearest]) != 0]
    sums = _distance(np.cumsum(probabilities[nearest]), settings.typical_p)
    return min(sums, float(np.abs(gaps).min(initial=np.inf)))


def _distance(values: np.ndarray, threshold: float) -> float:
    return float(np.abs(values - threshold).min(initial=np.inf))
