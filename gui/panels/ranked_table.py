"""The ranked list with its exact values, to be copied or exported."""

from __future__ import annotations

import numpy as np

from logitscope.display import hex_of, token_label
from logitscope.distribution import Distribution
from logitscope.gui.export import Table
from logitscope.gui.panels.step_words import remover_name
from logitscope.ranking import Ids
from logitscope.sampling import Shaped
from logitscope.vocabulary import Vocabulary

TITLES = (
    "rank",
    "token",
    "raw",
    "shaped",
    "removed_by",
    "cumulative",
    "odds_to_top",
    "logit",
    "log_probability",
    "id",
    "bytes",
)


def ranked_table(
    distribution: Distribution, shaped: Shaped, vocabulary: Vocabulary, rows: Ids | None = None
) -> Table:
    """The tokens of ``rows`` (0 = likeliest); None: all of them, which takes seconds."""
    if rows is None:
        rows = np.arange(len(distribution))
    ids = distribution.order[rows]
    names = ids.tolist()
    columns = (
        (rows + 1).tolist(),
        [token_label(vocabulary, name) for name in names],
        distribution.probabilities[ids].tolist(),
        shaped.by_id[ids].tolist(),
        [remover_name(code, is_greedy=shaped.greedy) for code in shaped.removed_by[ids].tolist()],
        distribution.cumulative[rows].tolist(),
        distribution.odds_to_top(ids).tolist(),
        distribution.logits[ids].tolist(),
        distribution.log_probability(ids).tolist(),
        names,
        [hex_of(vocabulary.bytes_of(name)) for name in names],
    )
    return Table("tokens", TITLES, tuple(zip(*columns, strict=True)))
