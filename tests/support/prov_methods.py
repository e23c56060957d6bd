"""What is compared on Prov-120: the origin analysis, and what people use instead."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prov_cases import Prompt

from logitscope.backends.base import Backend
from logitscope.comparison import jensen_shannon, kl
from logitscope.distribution import log_softmax
from logitscope.origin import TAU, labels
from logitscope.origin_contexts import without_sources
from logitscope.origin_places import places_of
from logitscope.origin_sources import listed_spans, sources
from logitscope.origin_types import (
    Condition,
    Flag,
    Label,
    OriginModel,
    OriginReport,
    Range,
    WordOrigin,
)

Row = NDArray[np.float64]


def analyse(model: OriginModel, prompt: Prompt) -> dict[str, Any]:
    """Label, decision and evidence of the origin analysis for the one word of the answer.

    An uncertain word is decided by its least gain alone for ``decision``.
    """
    report = labels(model, prompt.case)
    first = report.words[0]
    label = first.label
    if label is Label.UNCERTAIN:
        decided = Label.PROMPT if first.deltas[0] >= TAU else Label.WEIGHTS
        report = replace(report, words=(replace(first, label=decided), *report.words[1:]))
    word = _last(sources(model, report, [0]), report).words[0]
    top = next(iter(listed_spans(word)), None)
    found = None if top is None else top.word
    strongest = _strongest(word)
    return {
        "label": str(label if label is Label.UNCERTAIN else word.label),
        "decision": str(word.label),
        "delta_low": word.deltas[0],
        "delta_high": word.deltas[1],
        "delta_drop": word.log_probability[Condition.WITH] - word.log_probability[Condition.DROP],
        "probability": math.exp(word.log_probability[Condition.WITH]),
        "redundant": Flag.REDUNDANT in word.flags,
        "span_right": strongest in prompt.key_spans,
        "word_right": found is not None and _meets(found, prompt.word_tokens),
    }


def alternatives(backend: Backend, model: OriginModel, prompt: Prompt, seed: int) -> dict[str, Any]:
    """Decisions of the baselines, or their scores where a decision takes a threshold."""
    case = prompt.case
    answer = model.vocabulary.text_bytes(case.answer_ids).decode(errors="replace")
    with_it = log_softmax(backend.next_logits(case.prompt_ids))
    without = log_softmax(backend.next_logits(without_sources(case)))
    return {
        "occurs": bool(places_of(model.vocabulary, case, answer)),
        "random": random.Random(seed).choice(["copied", "derived", "weights"]),
        "flip": int(np.argmax(with_it)) != int(np.argmax(without)),
        "kl": kl(with_it, without),
        "jsd": jensen_shannon(with_it, without),
    }


class Attention:
    """The attention of the last prompt token, from transformers in float32."""

    def __init__(self, path: Path) -> None:
        from transformers import AutoModelForCausalLM

        folder, name = (path, {}) if path.is_dir() else (path.parent, {"gguf_file": path.name})
        self._model = AutoModelForCausalLM.from_pretrained(
            folder, **name, local_files_only=True, attn_implementation="eager", dtype="float32"
        ).eval()

    def mass(self, prompt: Prompt) -> float:
        """Part of it that lies on the sources, mean over layers and heads, BOS left out."""
        import torch

        ids = torch.tensor([prompt.case.prompt_ids])
        with torch.inference_mode():
            layers = self._model(ids, output_attentions=True, logits_to_keep=1).attentions
        # A sliding window keeps only the last columns; prompts are far shorter than one.
        lines = torch.stack([layer[0, :, -1, :].mean(dim=0) for layer in layers])
        line = lines.mean(dim=0)
        line[0] = 0.0
        inside = sum(float(line[start:stop].sum()) for start, stop in prompt.case.sources)
        return inside / float(line.sum())


def _last(steps: Iterator[OriginReport], first: OriginReport) -> OriginReport:
    *_, last = [first, *steps]
    return last


def _strongest(word: WordOrigin) -> int | None:
    best = max(word.sources or (), key=lambda each: each.evidence, default=None)
    return None if best is None else best.span


def _meets(found: Range, places: tuple[Range, ...]) -> bool:
    return any(found[0] < stop and start < found[1] for start, stop in places)
