"""Numbers of every token of a text: loss, rank, entropy, what else was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.ranking import refuse_id, refuse_peak, sort_keys, top_among

Matrix = NDArray[np.float32]

TOP = 10
"""Alternatives kept for every token."""

_BLOCK = 1 << 18
"""Most entries worked on at once (1 MB of float32): the temporaries stay in the L2/L3 cache."""

_LONG_ROW = 1 << 15
"""From here on the search of the top runs row by row: NumPy's call overhead (some 30 us a row) is
then below a tenth of the row's arithmetic."""

_COLUMNS = 512
"""Float32 terms added up before a sum goes on in float64."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenNumbers:
    """Numbers of n tokens from raw distributions; see ``backends.messages.Scored``."""

    log_probability: NDArray[np.float64]
    """(n,), nats."""
    rank: NDArray[np.int32]
    """(n,), 1 = likeliest; ties by lower id."""
    entropy: NDArray[np.float64]
    """(n,), nats."""
    logit: NDArray[np.float32]
    """(n,), the token's own."""
    top_ids: NDArray[np.int32]
    """(n, top): likeliest first; -1 where the vocabulary is smaller."""
    top_log_probability: NDArray[np.float32]
    """(n, top), nats; -inf where the vocabulary is smaller."""


@dataclass(frozen=True, slots=True)
class RawNumbers:
    """Numbers of one token from the raw distribution; see ``steps.StepRecord``."""

    log_probability: float
    rank: int
    entropy: float
    top_ids: tuple[int, ...]
    top_log_probabilities: tuple[float, ...]


def summarise(logits: NDArray[np.floating], token_id: int, top: int = TOP) -> RawNumbers:
    """Numbers of one token of one row, as ``token_numbers`` gives them.

    Raises ValueError for a row without a distribution, IndexError for an id outside it.
    """
    row = np.ascontiguousarray(logits, dtype=np.float32)
    if row.ndim != 1 or row.size == 0:
        raise ValueError(f"A row of logits must have shape (V,) with V >= 1, not {row.shape}.")
    refuse_id(token_id, len(row))
    numbers = token_numbers(row[None, :], np.array([token_id]), min(top, len(row)))
    return RawNumbers(
        log_probability=float(numbers.log_probability[0]),
        rank=int(numbers.rank[0]),
        entropy=float(numbers.entropy[0]),
        top_ids=tuple(numbers.top_ids[0].tolist()),
        top_log_probabilities=tuple(numbers.top_log_probability[0].tolist()),
    )


def token_numbers(rows: Matrix, targets: NDArray[np.integer], top: int = TOP) -> TokenNumbers:
    """Numbers of ``targets[i]`` under ``rows[i]``; rows float32 (n, V), targets (n,).

    Exponentials are float32, sums float64. Errors: see tests.
    Raises ValueError for rows without a distribution, IndexError for ids outside the vocabulary.
    """
    rows, targets = _checked(rows, targets)
    count, size = rows.shape
    numbers = TokenNumbers(
        log_probability=np.empty(count),
        rank=np.empty(count, dtype=np.int32),
        entropy=np.empty(count),
        logit=rows[np.arange(count), targets],
        top_ids=np.full((count, top), -1, dtype=np.int32),
        top_log_probability=np.full((count, top), -np.inf, dtype=np.float32),
    )
    step = max(_BLOCK // size, 1)
    for begin in range(0, count, step):
        _fill(numbers, rows, targets, slice(begin, min(begin + step, count)))
    return numbers


def _checked(rows: Matrix, targets: NDArray[np.integer]) -> tuple[Matrix, NDArray[np.int64]]:
    rows = np.asarray(rows, dtype=np.float32)
    ids = np.asarray(targets, dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] == 0 or ids.shape != rows.shape[:1]:
        raise ValueError(
            f"Rows of shape (n, V) and n targets are needed, not {rows.shape} and {ids.shape}."
        )
    if len(ids):
        refuse_id(int(ids.min()), rows.shape[1])
        refuse_id(int(ids.max()), rows.shape[1])
    return rows, ids


def _fill(numbers: TokenNumbers, rows: Matrix, targets: NDArray[np.int64], part: slice) -> None:
    block, ids = rows[part], targets[part]
    count, size = block.shape
    lines = np.arange(count)
    peak = block.max(axis=1)
    for value in peak.tolist():
        refuse_peak(value)
    shifted = block - peak[:, None]
    weights = np.exp(shifted)
    first = block.argmax(axis=1)
    weights[lines, first] = 0.0
    rest = _row_sums(weights)
    np.maximum(shifted, np.float32(-200.0), out=shifted)
    shifted *= weights
    surprise = -_row_sums(shifted)
    log_total = np.log1p(rest)
    own = numbers.logit[part]
    higher = np.count_nonzero(block > own[:, None], axis=1)
    before = np.arange(size)[None, :] < ids[:, None]
    equal = np.count_nonzero((block == own[:, None]) & before, axis=1)
    numbers.rank[part] = higher + equal + 1
    numbers.entropy[part] = log_total + surprise / (1.0 + rest)
    numbers.log_probability[part] = own.astype(np.float64) - peak - log_total
    best = _top_rows(block, min(numbers.top_ids.shape[1], size))
    numbers.top_ids[part, : best.shape[1]] = best
    lead = np.take_along_axis(block, best, axis=1).astype(np.float64) - peak[:, None]
    numbers.top_log_probability[part, : best.shape[1]] = lead - log_total[:, None]


def _row_sums(values: Matrix) -> NDArray[np.float64]:
    whole = values.shape[1] // _COLUMNS * _COLUMNS
    parts = values[:, :whole].reshape(len(values), -1, _COLUMNS).sum(axis=2)
    sums: NDArray[np.float64] = parts.sum(axis=1, dtype=np.float64)
    sums += values[:, whole:].sum(axis=1, dtype=np.float64)
    return sums


def _top_rows(block: Matrix, k: int) -> NDArray[np.int64]:
    if block.shape[1] >= _LONG_ROW:
        return np.stack([top_among(row, k) for row in block])
    names = np.arange(block.shape[1], dtype=np.uint32)
    best = np.empty((len(block), k), dtype=np.int64)
    for line, row in enumerate(block):
        keys = sort_keys(row, names)
        keys.partition(k - 1)
        best[line] = np.sort(keys[:k]) & np.uint64(0xFFFF_FFFF)
    return best


@dataclass(frozen=True, slots=True)
class LossSummary:
    """Averages over the tokens of a range whose loss is known, each token weighing the same."""

    tokens: int
    """Tokens with a known loss."""
    unknown: int
    """Tokens without one: the first of a text without BOS."""
    total_loss: float
    """Nats."""
    mean_loss: float
    """Nats a token; NaN where no token is known."""
    perplexity: float
    """exp(mean_loss)."""
    bits_per_byte: float
    """NaN where no bytes are given."""
    bits_per_character: float
    at_rank_1: float
    """Share of the known tokens, 0 to 1."""
    within_rank_10: float
    within_rank_100: float
    within_rank_1000: float


def summarise_loss(
    loss: NDArray[np.floating],
    rank: NDArray[np.integer],
    n_bytes: int | None = None,
    n_characters: int | None = None,
) -> LossSummary:
    """Averages of a range of tokens.

    ``loss``: nats, (n,), NaN = unknown; ``rank``: (n,), read where the loss is known. ``n_bytes``
    and ``n_characters`` count the text of the tokens with a known loss.
    """
    loss = np.asarray(loss, dtype=np.float64)
    known = ~np.isnan(loss)
    ranks = np.asarray(rank)[known]
    count = len(ranks)
    total = math.fsum(loss[known].tolist())
    mean = total / count if count else math.nan
    shares = [float(np.mean(ranks <= limit)) if count else math.nan for limit in (1, 10, 100, 1000)]
    return LossSummary(
        tokens=count,
        unknown=len(loss) - count,
        total_loss=total,
        mean_loss=mean,
        perplexity=_exp(mean),
        bits_per_byte=_bits_per(total, n_bytes, count),
        bits_per_character=_bits_per(total, n_characters, count),
        at_rank_1=shares[0],
        within_rank_10=shares[1],
        within_rank_100=shares[2],
        within_rank_1000=shares[3],
    )


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _bits_per(total: float, units: int | None, count: int) -> float:
    if not units or not count:
        return math.nan
    return total / math.log(2.0) / units


@dataclass(frozen=True, slots=True)
class Window:
    """One pass over ``ids[begin:end]`` that scores tokens ``score_from <= p < end``."""

    begin: int
    end: int
    score_from: int


def windows(n: int, context: int, stride: int | None = None) -> list[Window]:
    """Cut n tokens into passes of at most ``context`` so that each is scored exactly once.

    Each window but the first begins ``stride`` tokens (default and most: half the context) after
    the one before and scores only what that one has not; hence every scored token has at least
    ``context - stride`` tokens before it in its window, or the whole text before it. The first
    window scores from token 0 on (whose loss is unknown without BOS before it).

    Raises ValueError for a context below two tokens or a stride out of range.
    """
    if context < 2:
        raise ValueError(f"Scoring needs a context of at least 2 tokens, but it is {context}.")
    most = context // 2
    step = most if stride is None else stride
    if not 1 <= step <= most:
        raise ValueError(f"The stride must be between 1 and {most}, but is {step}.")
    passes: list[Window] = []
    scored = 0
    while scored < n:
        begin = 0 if not passes else passes[-1].begin + step
        end = min(begin + context, n)
        passes.append(Window(begin, end, scored))
        scored = end
    return passes
