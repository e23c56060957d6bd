"""Numbers of every token of a text: loss, rank, entropy, what else was expected."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from logitscope.ranking import LONG_ROW, rank_within, refuse_id, refuse_peak, top_of_rows

Matrix = NDArray[np.float32]

TOP = 10
"""Alternatives kept for every token."""

_SHORT_BLOCK, _LONG_BLOCK = 1 << 18, 1 << 21
"""Entries whose rows are worked on together, by the length of a row: some 60 NumPy calls (100 us)
are spread over them. Short rows are copied as a block, long ones are not."""

_PIECE = 1 << 18
"""Entries exponentiated at once, in two float32 buffers of 1 MB. Smaller ones would stay in the L2
cache; but between two calls a thread waits for the interpreter lock, and at 1 << 16 two threads
took 0.93 ms a row of 262,144 where they now take 0.52, one alone 0.93 and 0.80."""

_COLUMNS = 512
"""Float32 terms added up before a sum goes on in float64."""

_ONES = np.ones(_COLUMNS, dtype=np.float32)

_LOWEST = np.float32(-200.0)
"""exp() of anything below -104 is 0 in float32; clipping here turns -inf * 0 into 0."""


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


def token_numbers(
    rows: Matrix,
    targets: NDArray[np.integer],
    top: int = TOP,
    workers: Executor | None = None,
) -> TokenNumbers:
    """Numbers of ``targets[i]`` under ``rows[i]``; rows float32 (n, V), targets (n,).

    Exponentials are float32, and sums of 512 of them too; from there on all is float64. The
    likeliest token's weight, exactly 1, is kept out of the sum, so that the loss of a nearly
    certain token keeps its relative precision. Against float64 throughout, log-probability and
    entropy differ by less than 1e-6 of max(1, value). No temporary is larger than 2 MB, a worker.
    ``workers`` are threads that share the rows (NumPy releases the interpreter lock); the numbers
    are the same with any number of them.
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
    step = max((_LONG_BLOCK if size >= LONG_ROW else _SHORT_BLOCK) // size, 1)
    parts = [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]
    spread = map if workers is None or len(parts) == 1 else workers.map
    for _ in spread(partial(_fill, numbers, rows, targets), parts):
        pass
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
    block, ids, own = rows[part], targets[part], numbers.logit[part]
    peak = block.max(axis=1)
    if not np.isfinite(peak).all():
        for value in peak.tolist():
            refuse_peak(value)
    best = top_of_rows(block, min(max(numbers.top_ids.shape[1], 1), block.shape[1]))
    rest, surprise = _sums(block, peak, best[:, 0])
    if np.isnan(surprise).any():
        rest, surprise = _sums(block, peak, best[:, 0], clip=True)
    log_total = np.log1p(rest)
    numbers.log_probability[part] = own.astype(np.float64) - peak - log_total
    numbers.entropy[part] = log_total + surprise / (1.0 + rest)
    numbers.rank[part] = _ranks(block, own, ids, best)
    lead = np.take_along_axis(block, best, axis=1).astype(np.float64) - peak[:, None]
    width = min(best.shape[1], numbers.top_ids.shape[1])
    numbers.top_ids[part, :width] = best[:, :width]
    numbers.top_log_probability[part, :width] = (lead - log_total[:, None])[:, :width]


def _sums(
    block: Matrix, peak: NDArray[np.float32], first: NDArray[np.int64], *, clip: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Row sums of exp(x), without the likeliest entry, and of -x * exp(x); x = row - peak.

    Without ``clip`` the second is NaN for a row with -inf in it; with it, a fifth slower.
    """
    count, size = block.shape
    rest, surprise = np.zeros(count), np.zeros(count)
    width = max(_PIECE // count // _COLUMNS, 1) * _COLUMNS
    buffers = np.empty((2, count * min(width, size)), dtype=np.float32)
    for begin in range(0, size, width):
        piece = block[:, begin : begin + width]
        shifted, weights = (buffer[: piece.size].reshape(piece.shape) for buffer in buffers)
        with np.errstate(over="ignore"):
            np.subtract(piece, peak[:, None], out=shifted)
        if clip:
            np.maximum(shifted, _LOWEST, out=shifted)
        np.exp(shifted, out=weights)
        here = np.flatnonzero((first >= begin) & (first < begin + width))
        weights[here, first[here] - begin] = 0.0
        rest += _line_sums(weights)
        surprise -= _line_sums(weights, shifted)
    return rest, surprise


def _line_sums(matrix: Matrix, factor: Matrix | None = None) -> NDArray[np.float64]:
    """Sum over each line of a matrix, or of its product, entry by entry, with another.

    By matrix products, which give the interpreter lock up; ``einsum``, as fast alone, keeps it,
    and two threads took as long as one.
    """
    lines, columns = matrix.shape
    whole = columns // _COLUMNS * _COLUMNS
    sums = np.zeros(lines)
    for part, width in ((slice(whole), _COLUMNS), (slice(whole, columns), columns - whole)):
        if part.start == columns or part.stop == 0:
            continue
        left = matrix[:, part].reshape(-1, 1, width)
        right = _ONES[:width] if factor is None else factor[:, part].reshape(-1, width, 1)
        # -inf times 0 is NaN and seen to; and some BLAS set flags without a cause (macOS).
        with np.errstate(all="ignore"):
            products = np.matmul(left, right)
        sums += products.reshape(lines, -1).sum(axis=1, dtype=np.float64)
    return sums


def _ranks(
    block: Matrix, own: NDArray[np.float32], ids: NDArray[np.int64], best: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rank of ``ids[i]``, whose value is ``own[i]``, in row i, of which ``best[i]`` are the
    likeliest; ties by lower id; (n,)."""
    if block.shape[1] >= LONG_ROW:
        each = zip(block, ids.tolist(), best.tolist(), strict=True)
        return np.array([_rank(*line) for line in each], dtype=np.int64)
    ranks = _counts(block > own[:, None]) + 1
    equal = block == own[:, None]
    if np.count_nonzero(equal) > len(block):
        for line in np.flatnonzero(_counts(equal) > 1).tolist():
            ranks[line] = rank_within(block[line], int(ids[line]))
    return ranks


def _counts(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many entries of each line, of fewer than 65,536, are set; four times as quick as a sum
    of booleans."""
    counts: NDArray[np.int64] = mask.view(np.uint8).sum(axis=1, dtype=np.uint16).astype(np.int64)
    return counts


def _rank(row: NDArray[np.float32], token_id: int, best: list[int]) -> int:
    """Most tokens are among the likeliest, and need not be counted up to."""
    return best.index(token_id) + 1 if token_id in best else rank_within(row, token_id)


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


def perplexity_windows(n: int, context: int) -> list[Window]:
    """The passes of llama.cpp's ``llama-perplexity`` without a stride, to compare numbers with it.

    Windows of exactly ``context`` tokens lie end to end; only the second half of each is scored,
    a shorter rest at the end is left out, and the model is given BOS (if it uses one) in place of
    the first token of each window. Raises ValueError for a context below four tokens.
    """
    if context < 4:
        raise ValueError(f"This windowing needs a context of at least 4, but it is {context}.")
    return [
        Window(begin, begin + context, begin + context // 2 + 1)
        for begin in range(0, n - context + 1, context)
    ]
