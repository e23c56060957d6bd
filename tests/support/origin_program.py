"""A backend asked as the origin analysis asks it, with a count of what goes through llama.cpp.

Program: ``main(path, context, threads)``. Commands score variants or cuts, read each from scratch,
or write each token by token; all answer seconds, tokens and the process's peak.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from answering import Answer, peak_bytes, serve

from logitscope.backends import llamacpp
from logitscope.backends.base import LoadOptions
from logitscope.backends.llamacpp_lib import library
from logitscope.backends.variants import VariantModel
from logitscope.heap import keep_freed_blocks
from logitscope.surprisal import token_numbers

Ids = list[int]


def main(path: str, context: str, threads: str) -> None:
    options = LoadOptions(context_length=int(context), threads=int(threads))
    backend = llamacpp.load(Path(path), options)
    # As the model process has them; those who are compared share their rows likewise.
    keep_freed_blocks()
    workers = ThreadPoolExecutor(int(threads), "numbers")
    model = VariantModel(backend, workers=workers)
    decoded = _count_tokens()

    def measured(work: Callable[[], object]) -> Answer:
        before, begun = decoded[0], time.perf_counter()
        work()
        seconds = time.perf_counter() - begun
        return {"seconds": seconds, "tokens": decoded[0] - before, "peak": peak_bytes()}

    def forget() -> None:
        """Nothing of what was read before may help the next reading."""
        for sequence in backend._cache._sequences:
            backend._cache._cut(sequence, 0)

    def scratch(contexts: list[Ids], tail: Ids) -> Answer:
        """One pass over each whole text, rows for the continuation."""

        def read(ids: Ids) -> None:
            for rows in backend.score([*ids, *tail], len(ids), len(ids) + len(tail)):
                token_numbers(rows, np.array(tail[: len(rows)]), workers=workers)

        parts = []
        for ids in contexts:
            forget()
            parts.append(measured(lambda ids=ids: read(ids)))
        return {k: sum(part[k] for part in parts) for k in ("seconds", "tokens")}

    def written(contexts: list[Ids], tail: Ids) -> Answer:
        """Each text again, its answer token by token, as a program that generates does."""

        def write(ids: Ids) -> None:
            for i in range(len(tail)):
                row = backend.next_logits([*ids, *tail[:i]])
                token_numbers(row[None], np.array(tail[i : i + 1]))

        parts = []
        for ids in contexts:
            forget()
            parts.append(measured(lambda ids=ids: write(ids)))
        return {k: sum(part[k] for part in parts) for k in ("seconds", "tokens")}

    info = backend.info
    first = {
        "bos": backend.vocabulary.bos,
        "weights": info.weight_bytes,
        "kv": round(info.kv_bytes_per_token * info.context_length),
    }
    commands: dict[str, Callable[..., Answer]] = {
        "tokenize": lambda text: {"ids": model.tokenize(text)},
        "variants": lambda contexts, tail: measured(lambda: model.score_variants(contexts, tail)),
        "cuts": lambda context, cuts, tail: measured(
            lambda: model.score_cuts(context, [[tuple(r) for r in cut] for cut in cuts], tail)
        ),
        "scratch": scratch,
        "written": written,
    }
    serve(first, commands)


def _count_tokens() -> list[int]:
    """Tokens that ``llama_decode`` was given from now on, in one entry."""
    lib: Any = library()
    count, decode = [0], lib.llama_decode

    def counted(context: Any, batch: Any) -> int:
        count[0] += batch.n_tokens
        status: int = decode(context, batch)
        return status

    lib.llama_decode = counted
    return count
