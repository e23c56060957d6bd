"""One continuation behind several contexts, one after the other: what every backend can do.

The faster ways of the backends check what they are given, and say how far they are, as this does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from logitscope.backends.base import Backend, ContextOverflow, ModelInfo, VariantRows, Watch

Range = tuple[int, int]


def without(context: Sequence[int], cut: Sequence[Range]) -> list[int]:
    """The ids of ``context`` outside of the ranges. Raises ValueError for a range outside of it."""
    kept = [True] * len(context)
    for start, stop in cut:
        if not 0 <= start <= stop <= len(context):
            raise ValueError(f"{start} to {stop} is no range of {len(context)} ids")
        kept[start:stop] = [False] * (stop - start)
    return [token for token, stays in zip(context, kept, strict=True) if stays]


def check_variants(
    info: ModelInfo, contexts: Sequence[Sequence[int]], continuation: Sequence[int]
) -> None:
    """Raise what ``Backend.score_variants`` raises for what it cannot score."""
    longest = max(map(len, contexts), default=1)
    if min(map(len, contexts), default=1) == 0:
        raise ValueError("there is no row behind a context without ids")
    for ids in (*contexts, continuation):
        if len(ids) and not (min(ids) >= 0 and max(ids) < info.n_vocab):
            raise ValueError(f"an id is outside the vocabulary of {info.n_vocab} tokens")
    # The last token is only predicted, never read.
    if (needed := longest + len(continuation) - 1) > info.context_length:
        raise ContextOverflow(
            f"Prompt and answer have {needed:,} tokens together, but the context holds"
            f" {info.context_length:,}: shorten one of them, or load the model with a longer"
            " context."
        )


def check_cuts(
    info: ModelInfo,
    context: Sequence[int],
    cuts: Sequence[Sequence[Range]],
    continuation: Sequence[int],
) -> None:
    """Raise what ``Backend.score_cuts`` raises for what it cannot score."""
    check_variants(info, [context], continuation)
    if not all(without(context, cut) for cut in cuts):
        raise ValueError("a cut leaves no ids: there is no row behind a context without ids")


def score_each(
    backend: Backend, contexts: Sequence[Sequence[int]], continuation: Sequence[int], watch: Watch
) -> Iterator[VariantRows]:
    """See ``Backend.score_variants``; every context is read with ``Backend.score``."""
    check_variants(backend.info, contexts, continuation)
    return _score_each(backend, contexts, continuation, watch) if continuation else iter(())


def score_each_cut(
    backend: Backend,
    context: Sequence[int],
    cuts: Sequence[Sequence[Range]],
    continuation: Sequence[int],
    watch: Watch,
) -> Iterator[VariantRows]:
    """See ``Backend.score_cuts``; exact."""
    check_cuts(backend.info, context, cuts, continuation)
    contexts = [without(context, cut) for cut in cuts]
    return backend.score_variants(contexts, continuation, watch)


def _score_each(
    backend: Backend, contexts: Sequence[Sequence[int]], continuation: Sequence[int], watch: Watch
) -> Iterator[VariantRows]:
    total = sum(len(context) + len(continuation) for context in contexts)
    before = 0
    for variant, context in enumerate(contexts):
        ids = [*context, *continuation]
        inner = replace(watch, report=_share(watch.report, before, before + len(ids), total))
        start = 0
        for rows in backend.score(ids, len(context), len(ids), inner):
            yield VariantRows(variant, start, rows)
            start += len(rows)
        before += len(ids)
        watch.report(before, total)


def _share(
    report: Callable[[int, int], None], begin: int, end: int, total: int
) -> Callable[[int, int], None]:
    """Progress of one part as progress of the whole; it never falls."""
    furthest = begin

    def told(done: int, of: int) -> None:
        nonlocal furthest
        furthest = max(furthest, begin + (end - begin) * done // max(of, 1))
        report(furthest, total)

    return told
