"""The next-token distribution as a table for terminals and scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.columns import aligned
from logitscope.distribution import Distribution
from logitscope.sampling import SamplerSettings, shape
from logitscope.token_text import token_record
from logitscope.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class TokenLine:
    """One candidate. Raw: softmax of the raw logits; shaped: after the sampler chain."""

    rank: int
    id: int
    label: str
    """Every character visible: a space is ``·``, bytes that are no text are hexadecimal."""
    text: str | None
    """What it adds to a text; None for a special token, whose bytes are a name, and where the bytes
    are no UTF-8 by themselves."""
    bytes: str
    """Hexadecimal, such as ``20 74 68 65``."""
    kind: str
    logit: float
    probability: float
    log_probability: float
    """Nats."""
    shaped_probability: float


@dataclass(frozen=True, slots=True)
class NextTable:
    """The likeliest tokens and the sum of all others: both columns of probabilities add up to 1."""

    tokens: tuple[TokenLine, ...]
    other_count: int
    other_probability: float
    other_shaped_probability: float
    entropy: float
    """Nats, raw distribution."""
    n_vocab: int
    kept: int
    """How many tokens the sampler chain left with a probability: at temperatures near 0 those of
    most tokens are too small for a float64."""

    def as_json(self) -> dict[str, Any]:
        """Plain data for ``json.dumps``."""
        return asdict(self)


def build_table(
    row: NDArray[np.float32],
    vocabulary: Vocabulary,
    settings: SamplerSettings,
    history: Sequence[int],
    count: int,
) -> NextTable:
    """The ``min(count, V)`` likeliest tokens of a raw row, shape (V,), with their numbers.

    ``history``: the ids before the position, for the penalties. Raises ValueError for a row
    without a distribution.
    """
    raw = Distribution.of(row)
    shaped = shape(row, settings, history)
    head = raw.head(count)
    shaped_of = shaped.by_id
    others = np.ones(len(row), dtype=bool)
    others[head.ids] = False
    logs = raw.log_probability(head.ids)
    numbers = zip(head.ids.tolist(), head.probabilities, logs, strict=True)
    tokens = tuple(
        TokenLine(
            rank=rank,
            **token_record(vocabulary, token_id),
            kind=vocabulary.kind_of(token_id).name.lower(),
            logit=float(row[token_id]),
            probability=float(probability),
            log_probability=float(log),
            shaped_probability=float(shaped_of[token_id]),
        )
        for rank, (token_id, probability, log) in enumerate(numbers, start=1)
    )
    return NextTable(
        tokens=tokens,
        other_count=head.tail_count,
        other_probability=head.tail_mass,
        other_shaped_probability=float(shaped_of[others].sum()),
        entropy=raw.entropy,
        n_vocab=len(row),
        kept=int(np.count_nonzero(shaped_of)),
    )


def table_lines(table: NextTable) -> Iterator[str]:
    """The table as lines of text, columns aligned for a terminal."""
    yield from aligned(
        [
            ("rank", "id", "token", "bytes", "logit", "raw", "shaped"),
            *(_cells(token) for token in table.tokens),
            (
                "",
                "",
                f"every other token ({table.other_count:,})",
                "",
                "",
                _percent(table.other_probability),
                _percent(table.other_shaped_probability),
            ),
        ],
        left={2, 3},
    )
    yield f"entropy {table.entropy:.4f} nats"
    yield f"{table.kept:,} of {table.n_vocab:,} tokens can be drawn"


def _cells(token: TokenLine) -> tuple[str, ...]:
    return (
        str(token.rank),
        str(token.id),
        token.label,
        token.bytes,
        f"{token.logit:.4f}",
        _percent(token.probability),
        _percent(token.shaped_probability),
    )


def _percent(probability: float) -> str:
    return f"{probability:.4%}"
