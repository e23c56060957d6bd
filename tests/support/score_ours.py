"""Scoring as the command line does it: the measured side of `bench_score`.

Program: ``main(path, backend, threads, context)``.
"""

from __future__ import annotations

import time

from answering import Answer, peak_bytes, serve

from logitscope.backends.base import LoadOptions
from logitscope.backends.scoring import ScoringModel
from logitscope.scoring_passes import ScoringPass


def main(path: str, backend: str, threads: str, context: str) -> None:
    device = "cpu" if backend == "hf" else None
    options = LoadOptions(int(context), int(threads), device=device, branches=False)
    with ScoringModel(path, backend, options) as model:

        def tokenize(text: str) -> Answer:
            return {"ids": model.tokenize(text, add_special=True)}

        def score(texts: list[list[int]], start: int) -> Answer:
            """All numbers of ``ids[start:]`` of every text; peak of the model process."""
            begun, loss = time.perf_counter(), 0.0
            passes = [ScoringPass(tuple(ids), start, start) for ids in texts]
            for _, reply in model.score(passes):
                loss -= float(reply.log_probability.sum())
            seconds = time.perf_counter() - begun
            assert model.pid is not None
            return {"seconds": seconds, "peak": peak_bytes(model.pid), "loss": loss}

        serve({}, {"tokenize": tokenize, "score": score})
