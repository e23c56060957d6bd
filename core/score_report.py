"""Numbers of scored texts for terminals and scripts: averages of a file, or one record a token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from logitscope.columns import aligned
from logitscope.display import hex_of, token_label
from logitscope.losses import LossTable
from logitscope.one_line import in_one_line
from logitscope.record_output import Record
from logitscope.surprisal import summarise_loss
from logitscope.text_units import TextUnits
from logitscope.token_text import text_of_token
from logitscope.vocabulary import Vocabulary

TOKEN_FIELDS = {
    "file": "text",
    "position": "integer",
    "id": "integer",
    "token": "text",
    "text": "text",
    "bytes": "text",
    "loss": "real",
    "probability": "real",
    "rank": "integer",
    "entropy": "real",
    "logit": "real",
    "top_ids": "integers",
    "top_log_probabilities": "reals",
}
"""What ``token_records`` yields: names and the types that ``record_output`` writes."""


@dataclass(frozen=True, slots=True)
class FileScore:
    """Averages of one file; NaN where nothing is known. Its names are those of the output."""

    file: str
    tokens: int
    """Tokens with a known loss."""
    unread: int
    """Tokens that could have one, but were not reached."""
    bytes: int
    """Of the tokens with a known loss, in UTF-8."""
    characters: int
    mean_loss: float
    """Nats a token."""
    perplexity: float
    bits_per_byte: float
    bits_per_character: float
    rank_1: float
    """Share of the tokens with this rank or a better one, 0 to 1."""
    rank_10: float
    rank_100: float
    rank_1000: float
    mean_entropy: float
    """Nats."""

    def record(self) -> Record:
        """The fields as plain values."""
        return {name: _plain(value) for name, value in asdict(self).items()}


_TYPES = {"str": "text", "int": "integer", "float": "real"}
SCORE_FIELDS = {field.name: _TYPES[str(field.type)] for field in fields(FileScore)}
"""The same of ``FileScore.record``."""


def file_score(
    name: str, table: LossTable, texts: Sequence[Sequence[int]], vocabulary: Vocabulary
) -> FileScore:
    """Averages over all texts of a file, whose ids end to end are those of the table.

    The space that some tokenizers put in front of a text is not counted as text.
    """
    known = ~np.isnan(table.log_probability)
    n_bytes, n_characters = TextUnits(vocabulary).count(table.ids[known])
    if vocabulary.adds_space:
        spaces = _leading_spaces(table, texts, vocabulary)
        n_bytes, n_characters = n_bytes - spaces, n_characters - spaces
    summary = summarise_loss(table.loss, table.rank, n_bytes, n_characters)
    entropies = table.entropy[known]
    return FileScore(
        file=name,
        tokens=summary.tokens,
        unread=summary.unknown - sum(1 for ids in texts if ids),
        bytes=n_bytes,
        characters=n_characters,
        mean_loss=summary.mean_loss,
        perplexity=summary.perplexity,
        bits_per_byte=summary.bits_per_byte,
        bits_per_character=summary.bits_per_character,
        rank_1=summary.at_rank_1,
        rank_10=summary.within_rank_10,
        rank_100=summary.within_rank_100,
        rank_1000=summary.within_rank_1000,
        mean_entropy=float(entropies.mean()) if len(entropies) else math.nan,
    )


def _leading_spaces(
    table: LossTable, texts: Sequence[Sequence[int]], vocabulary: Vocabulary
) -> int:
    """How many texts begin with a space of the tokenizer whose token has a known loss."""
    offset = found = 0
    for ids in texts:
        first = next((i for i, token in enumerate(ids) if not vocabulary.is_special(token)), None)
        if first is not None and not np.isnan(table.log_probability[offset + first]):
            found += vocabulary.bytes_of(ids[first]).startswith(b" ")
        offset += len(ids)
    return found


def score_lines(records: Sequence[Record]) -> Iterator[str]:
    """Averages (``FileScore.record``) as a table for a terminal."""
    titles = (
        "file",
        "tokens",
        "mean loss",
        "perplexity",
        "bits/byte",
        "bits/char",
        "rank 1",
        "≤ 10",
        "≤ 100",
        "≤ 1000",
        "entropy",
    )
    yield from aligned([titles, *map(_cells, records)], left={0})


def _cells(record: Record) -> tuple[str, ...]:
    shares = (record[name] for name in ("rank_1", "rank_10", "rank_100", "rank_1000"))
    return (
        in_one_line(record["file"]),
        f"{record['tokens']:,}",
        _number(record["mean_loss"]),
        _number(record["perplexity"]),
        _number(record["bits_per_byte"]),
        _number(record["bits_per_character"]),
        *("–" if share is None else f"{share:.1%}" for share in shares),
        _number(record["mean_entropy"]),
    )


def token_records(name: str, table: LossTable, vocabulary: Vocabulary) -> Iterator[Record]:
    """All numbers of every token, with the fields of ``TOKEN_FIELDS``.

    A token without a loss (the first of a text, or one not reached) has None for its numbers.
    """
    for position, token_id in enumerate(table.ids.tolist()):
        log_probability = float(table.log_probability[position])
        top = table.top_ids[position]
        found = top >= 0
        values = (
            name,
            position,
            token_id,
            token_label(vocabulary, token_id),
            text_of_token(vocabulary, token_id),
            hex_of(vocabulary.bytes_of(token_id)),
            _plain(0.0 - log_probability),
            _plain(math.exp(log_probability)),
            int(table.rank[position]) or None,
            _plain(float(table.entropy[position])),
            _plain(float(table.logit[position])),
            top[found].tolist(),
            table.top_log_probability[position][found].tolist(),
        )
        yield dict(zip(TOKEN_FIELDS, values, strict=True))


def token_lines(records: Sequence[Record]) -> Iterator[str]:
    """Records of tokens as a table for a terminal, without the alternatives."""
    titles = ("file", "position", "id", "token", "loss", "probability", "rank", "entropy")
    lines = [
        (
            in_one_line(record["file"]),
            str(record["position"]),
            str(record["id"]),
            record["token"],
            _number(record["loss"]),
            "–" if record["probability"] is None else f"{record['probability']:.4g}",
            "–" if record["rank"] is None else str(record["rank"]),
            _number(record["entropy"]),
        )
        for record in records
    ]
    yield from aligned([titles, *lines], left={0, 3})


def _plain(value: float | str) -> float | str | None:
    """NaN is unknown: JSON has no word for it."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4f}"
