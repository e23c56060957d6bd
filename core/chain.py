"""The stages of the sampler chain: from candidates to fewer candidates.

A stage sees the tokens the stages before it have left. Top-k, top-p and min-p keep a prefix of
the ranking, so the state is a ranking, how many of it are left, and the temperature so far; no
stage needs the vocabulary sorted. Only typical sampling, which may drop the likeliest token, and
penalties, which change values, start a new ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from logitscope.ranking import Ids, Row, order_among, rank_within, top_among
from logitscope.sampler_settings import SamplerSettings, Stage, TieRule

Vector = NDArray[np.float64]

HEADS = (256, 4096)
"""How much of a ranking is sorted before all of it is: 256 tokens cost 0.2 ms at V = 262,144 and
suffice for most drawn tokens, 4,096 for most top-p cuts; all cost 6 ms."""

_BINS = 4096
"""Bins of the search for the cut of typical sampling: some 0.005 nats each on real rows, so that
a few hundred tokens remain to be sorted."""

_FLOAT32_MAX = float(np.finfo(np.float32).max)


class Ranking:
    """Values of ``ids`` (None: positions are ids) with a sorted head that grows on demand."""

    def __init__(self, values: Row, ids: Ids | None = None) -> None:
        """``values``: float32, no NaN, no +inf, at least one finite; ``ids``: ascending."""
        self.values = values
        self.ids = ids
        self.peak = float(values.max())
        self.possible = int(np.count_nonzero(values > -np.inf))
        self._head: Ids = np.empty(0, dtype=np.int64)

    def head(self, count: int) -> Ids:
        """Positions of the ``count`` largest values, largest first, ties by lower position."""
        if len(self._head) < count:
            sizes = [size for size in HEADS if size >= count]
            if sizes:
                self._head = top_among(self.values, min(sizes[0], len(self.values)))
            else:
                self._head = order_among(self.values, None)
        return self._head[:count]

    def at_least(self, value: float) -> int:
        """How many values reach ``value``."""
        limit = np.float32(value)
        if float(limit) < value:
            limit = np.nextafter(limit, np.float32(np.inf))
        return int(np.count_nonzero(self.values >= limit))

    def names(self, positions: Ids) -> Ids:
        """Ids of positions."""
        return positions if self.ids is None else self.ids[positions]

    def position(self, token_id: int) -> int | None:
        """Position of an id, None if it is not here."""
        if self.ids is None:
            return token_id if 0 <= token_id < len(self.values) else None
        place = int(np.searchsorted(self.ids, token_id))
        return place if place < len(self.ids) and self.ids[place] == token_id else None


@dataclass(frozen=True, eq=False)
class Candidates:
    """The ``count`` first tokens of a ranking, at a temperature."""

    ranking: Ranking
    count: int
    temperature: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether every token of the ranking with a probability above 0 is left."""
        return self.count == self.ranking.possible

    @cached_property
    def positions(self) -> Ids | None:
        """Positions in the ranking that ``weights`` belong to; None: all of them, in order."""
        return None if self.whole else self.ranking.head(self.count)

    @cached_property
    def weights(self) -> Vector:
        """exp((value - peak) / temperature); 0 for a value of -inf."""
        values = self.ranking.values
        return np.exp(self.exponents(values if self.positions is None else values[self.positions]))

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def exponents(self, values: Row) -> Vector:
        """(values - peak) / temperature: at most 0, -inf where it underflows."""
        with np.errstate(over="ignore"):
            shifted: Vector = values.astype(np.float64)
            shifted -= self.ranking.peak
            shifted /= self.temperature
        return shifted

    def ids(self) -> Ids:
        """Ids that ``weights`` belong to."""
        if self.positions is None:
            ids = self.ranking.ids
            return np.arange(len(self.ranking.values)) if ids is None else ids
        return self.ranking.names(self.positions)

    def head(self, count: int) -> tuple[Ids, Vector]:
        """Ids and probabilities of the ``min(count, self.count)`` likeliest, likeliest first."""
        places = self.ranking.head(min(count, self.count))
        weights = np.exp(self.exponents(self.ranking.values[places]))
        return self.ranking.names(places), weights / self.total

    def mask(self, size: int) -> NDArray[np.bool_]:
        """Which ids of ``range(size)`` are left."""
        mask = np.zeros(size, dtype=np.bool_)
        if self.positions is None:
            finite = self.ranking.values > -np.inf
            if self.ranking.ids is None:
                return finite
            mask[self.ranking.ids[finite]] = True
        else:
            mask[self.ranking.names(self.positions)] = True
        return mask

    def rank_of(self, token_id: int) -> int | None:
        """Rank of an id among those left, 1 = likeliest; None if it is not left."""
        position = self.ranking.position(token_id)
        if position is None:
            return None
        rank = rank_within(self.ranking.values, position)
        return rank if rank <= self.count else None

    def first(self, count: int) -> Candidates:
        """The ``count`` likeliest of these."""
        return self if count >= self.count else Candidates(self.ranking, count, self.temperature)

    def probability_of_last(self, kept: Candidates) -> float:
        """Probability, here, of the least likely token of ``kept``."""
        last = kept.ranking.head(kept.count)[-1:]
        return float(np.exp(self.exponents(kept.ranking.values[last]))[0]) / self.total


def penalise(
    candidates: Candidates, settings: SamplerSettings, history: Sequence[int]
) -> Candidates:
    """Repetition penalty (Keskar et al. 2019: l / r if l > 0, else l * r), then minus frequency
    times the token's count and minus presence, for every token among the last of the history.
    """
    recent = history if settings.penalty_last_n < 0 else history[-settings.penalty_last_n :]
    seen, counts = np.unique(np.asarray(recent, dtype=np.int64), return_counts=True)
    ranking = _rescaled(candidates)
    places = seen if ranking.ids is None else np.searchsorted(ranking.ids, seen)
    inside = (places >= 0) & (places < len(ranking.values))
    if ranking.ids is not None:
        inside[inside] = ranking.ids[places[inside]] == seen[inside]
    places, counts = places[inside], counts[inside]
    old = ranking.values[places].astype(np.float64)
    factor = settings.repetition_penalty
    new = np.where(old > 0, old / factor, old * factor)
    new -= counts * settings.frequency_penalty + settings.presence_penalty
    values = ranking.values.copy()
    possible = old > -np.inf
    values[places[possible]] = np.clip(new[possible], -_FLOAT32_MAX, _FLOAT32_MAX)
    after = Ranking(values, ranking.ids)
    return Candidates(after, after.possible)


def _rescaled(candidates: Candidates) -> Ranking:
    """A ranking of nothing but the candidates, their values divided by the temperature."""
    ranking = candidates.ranking
    if candidates.whole and candidates.temperature == 1.0:
        return ranking
    ids = np.sort(candidates.ids())
    values = ranking.values if candidates.whole else _values_of(ranking, ids)
    with np.errstate(over="ignore"):
        scaled = values.astype(np.float64) / candidates.temperature
    limited = np.clip(scaled, -_FLOAT32_MAX, _FLOAT32_MAX)
    limited[values == -np.inf] = -np.inf
    return Ranking(limited.astype(np.float32), ids)


def _values_of(ranking: Ranking, ids: Ids) -> Row:
    places = ids if ranking.ids is None else np.searchsorted(ranking.ids, ids)
    return ranking.values[places]


def heat(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """Divide by the temperature; 0 leaves the likeliest token alone."""
    if settings.greedy:
        return candidates.first(1)
    temperature = candidates.temperature * settings.temperature
    return Candidates(candidates.ranking, candidates.count, temperature)


def keep_top_k(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """The k likeliest."""
    count = min(settings.top_k, candidates.count)
    if settings.tie_rule is TieRule.ALL:
        last = candidates.ranking.head(count)[-1]
        count = candidates.ranking.at_least(float(candidates.ranking.values[last]))
    return candidates.first(count)


def keep_min_p(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """Those at least ``min_p`` times as likely as the likeliest."""
    lead = candidates.temperature * float(np.log(settings.min_p))
    return candidates.first(candidates.ranking.at_least(candidates.ranking.peak + lead))


def keep_top_p(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """The fewest of the likeliest that together hold at least ``top_p``: the token that crosses
    the threshold is kept (Holtzman et al. 2020).
    """
    for size in (*HEADS, candidates.count):
        _, probabilities = candidates.head(size)
        count = int(np.searchsorted(np.cumsum(probabilities), settings.top_p)) + 1
        if count <= len(probabilities):
            return candidates.first(count)
    return candidates


def keep_typical(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """Those whose surprise is nearest to the entropy, until they hold ``typical_p``
    (Meister et al. 2023), ties in distance by lower id.
    """
    ids = candidates.ids()
    alive = candidates.weights > 0.0
    ids, weights = ids[alive], candidates.weights[alive]
    probabilities = weights / candidates.total
    surprise = -np.log(probabilities)
    distance = np.abs(surprise - float(np.dot(probabilities, surprise)))
    kept = np.sort(ids[_nearest(distance, probabilities, ids, settings)])
    ranking = Ranking(_values_of(candidates.ranking, kept), kept)
    return Candidates(ranking, ranking.possible, candidates.temperature)


def _nearest(
    distance: Vector, probabilities: Vector, ids: Ids, settings: SamplerSettings
) -> NDArray[np.bool_]:
    """Which entries, nearest first, are needed to hold the mass.

    A histogram finds the bin in which the mass is reached; only that bin is sorted.
    """
    bins = (distance * ((_BINS - 1) / max(float(distance.max()), 1e-300))).astype(np.int64)
    reached = np.cumsum(np.bincount(bins, weights=probabilities, minlength=_BINS))
    cut = min(int(np.searchsorted(reached, settings.typical_p)), _BINS - 1)
    below = float(reached[cut - 1]) if cut else 0.0
    inside = np.flatnonzero(bins == cut)
    inside = inside[np.lexsort((ids[inside], distance[inside]))]
    mass = below + np.cumsum(probabilities[inside])
    count = min(int(np.searchsorted(mass, settings.typical_p)) + 1, len(inside))
    kept: NDArray[np.bool_] = bins < cut
    if settings.tie_rule is TieRule.ALL:
        kept |= distance <= distance[inside[count - 1]]
        return kept
    kept[inside[:count]] = True
    return kept


STAGES: dict[Stage, Callable[[Candidates, SamplerSettings], Candidates]] = {
    Stage.TEMPERATURE: heat,
    Stage.TOP_K: keep_top_k,
    Stage.TOP_P: keep_top_p,
    Stage.MIN_P: keep_min_p,
    Stage.TYPICAL: keep_typical,
}
"""Every stage but the penalties, which also need the history."""
