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

from logitscope.exponentials import exponents, masked_sum, pieces, weighted_surprise, weights_of
from logitscope.ranking import Ids, Row, rank_within, top_among
from logitscope.sampler_settings import SamplerSettings, Stage

Vector = NDArray[np.float64]

HEADS = (128, 4096, 32768)
"""How much of a ranking is sorted before all of it is: at V = 262,144 some 0.25, 0.5 and 1 ms,
against 9 ms for all."""

_BINS = 4096
_BIN_WIDTH = 0.01
"""Nats. Some hundred tokens of a real row share a bin; what lies beyond the last bin, 41 nats
away, weighs less than 1e-12 even if it is a vocabulary of a million."""

_FLOAT32_MAX = float(np.finfo(np.float32).max)


class Ranking:
    """Values of ``ids`` (None: positions are ids) with a sorted head that grows on demand."""

    def __init__(
        self, values: Row, ids: Ids | None = None, weigh: Callable[[], Vector] | None = None
    ) -> None:
        """``values``: float32, no NaN, no +inf, at least one finite; ``ids``: ascending;
        ``weigh`` gives ``weights`` where somebody else has them."""
        self.values = values
        self.ids = ids
        self._weigh = weigh
        self.peak = float(values.max())
        self.possible = int(np.count_nonzero(values > -np.inf))
        self._head: Ids = np.empty(0, dtype=np.int64)

    @cached_property
    def weights(self) -> Vector:
        """exp(value - peak): those of temperature 1."""
        return weights_of(self.values, self.peak) if self._weigh is None else self._weigh()

    def head(self, count: int) -> Ids:
        """Positions of the ``count`` largest values, largest first, ties by lower position."""
        if len(self._head) < count == 1:
            return np.array([int(self.values.argmax())])
        if len(self._head) < count:
            size = next((size for size in HEADS if size >= count), len(self.values))
            self._head = top_among(self.values, min(size, len(self.values)))
        return self._head[:count]

    def members(self, count: int) -> Ids | None:
        """The same positions in an order that depends on ``count`` alone: sums are taken in it, and
        must not change by a rounding with what else was asked. None for all positions.
        """
        if count == len(self.values):
            return None
        if count <= HEADS[-1]:
            return self.head(count)
        least = np.partition(self.values, -count)[-count]
        above = np.flatnonzero(self.values > least)
        tied = np.flatnonzero(self.values == least)
        return np.concatenate([above, tied[: count - len(above)]])

    def at_least(self, value: float) -> int:
        """How many values reach ``value``."""
        limit = np.float32(max(value, -_FLOAT32_MAX))
        if float(limit) < value:
            limit = np.nextafter(limit, np.float32(np.inf))
        return int(np.count_nonzero(self.values >= limit))

    def names(self, positions: Ids) -> Ids:
        """Ids of positions."""
        return positions if self.ids is None else self.ids[positions]

    def find(self, ids: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """Positions of those ids that are here, and which ones are."""
        if self.ids is None:
            here = (ids >= 0) & (ids < len(self.values))
            return ids[here], here
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        here = self.ids[places] == ids
        return places[here], here

    def restricted(self, positions: Ids) -> Ranking:
        """A ranking of nothing but the values at ascending positions."""
        return Ranking(self.values[positions], self.names(positions))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The ``count`` first tokens of a ranking, at a temperature."""

    ranking: Ranking
    count: int
    temperature: float = 1.0
    known: Ids | None = None
    """Their positions in any order, where a stage has found them already."""

    @cached_property
    def positions(self) -> Ids | None:
        """Positions in the ranking, in the order of ``weights``; None: all of them."""
        return self.ranking.members(self.count) if self.known is None else self.known

    @cached_property
    def values(self) -> Row:
        """Values in the order of ``weights``."""
        values = self.ranking.values
        return values if self.positions is None else values[self.positions]

    @cached_property
    def index(self) -> Ids | slice:
        """Ids in the order of ``weights``, to index an array over the vocabulary with."""
        if self.positions is not None:
            return self.ranking.names(self.positions)
        return slice(None) if self.ranking.ids is None else self.ranking.ids

    @cached_property
    def weights(self) -> Vector:
        """exp((value - peak) / temperature), the peak being the largest value."""
        if self.positions is None and self.temperature == 1.0:
            return self.ranking.weights
        return weights_of(self.values, self.ranking.peak, self.temperature)

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def head(self, count: int) -> tuple[Ids, Vector]:
        """Ids and probabilities of the ``min(count, self.count)`` likeliest, likeliest first.

        The ranking is the same at every temperature and is kept: a drag at T > 1, where draws
        fall far behind, would else sort the vocabulary at each move (9 ms).
        """
        places = self.ranking.head(min(count, self.count))
        if self.positions is None:
            return self.ranking.names(places), self.weights[places] / self.total
        return self.ranking.names(places), self.probabilities(self.ranking.values[places])

    def probabilities(self, values: Row) -> Vector:
        """Probabilities of tokens with such values."""
        return weights_of(values, self.ranking.peak, self.temperature) / self.total

    def rank_of(self, token_id: int) -> int | None:
        """Rank of an id among those left, 1 = likeliest; None if it is not left."""
        places, _ = self.ranking.find(np.array([token_id]))
        if len(places) == 0:
            return None
        rank = rank_within(self.ranking.values, int(places[0]))
        return rank if rank <= self.count else None

    def first(self, count: int, known: Ids | None = None) -> Candidates:
        """The ``count`` likeliest of these; ``known``: their positions, if at hand."""
        if count >= self.count:
            return self
        return Candidates(self.ranking, count, self.temperature, known)

    def places(self, mask: NDArray[np.bool_]) -> Ids:
        """Positions of those that a mask in the order of ``weights`` picks."""
        picked = np.flatnonzero(mask)
        return picked if self.positions is None else self.positions[picked]

    def mass_without(self, kept: Candidates, n_vocab: int) -> float:
        """Probability, here, of what ``kept`` no longer holds, added up directly."""
        if isinstance(self.index, slice):
            gone = self.weights.copy()
            gone[kept.index] = 0.0
            return float(gone.sum()) / self.total
        mask = np.ones(n_vocab, dtype=np.bool_)
        mask[kept.index] = False
        return masked_sum(self.weights, mask[self.index]) / self.total

    def least(self) -> Row:
        """Value of the least likely candidate, shape (1,)."""
        return np.array([self.values.min()])


def penalise(
    candidates: Candidates, settings: SamplerSettings, history: Sequence[int]
) -> Candidates:
    """Repetition penalty (Keskar et al. 2019: l / r if l > 0, else l * r), then minus frequency
    times the token's count and minus presence, for every token among the last of the history.
    """
    recent = history if settings.penalty_last_n < 0 else history[-settings.penalty_last_n :]
    seen, counts = np.unique(np.asarray(recent, dtype=np.int64), return_counts=True)
    ranking = _rescaled(candidates)
    places, inside = ranking.find(seen)
    old = ranking.values[places].astype(np.float64)
    factor = settings.repetition_penalty
    new = np.where(old > 0, old / factor, old * factor)
    new -= counts[inside] * settings.frequency_penalty + settings.presence_penalty
    values = ranking.values.copy()
    possible = old > -np.inf
    values[places[possible]] = np.clip(new[possible], -_FLOAT32_MAX, _FLOAT32_MAX)
    after = Ranking(values, ranking.ids)
    return Candidates(after, after.possible)


def _rescaled(candidates: Candidates) -> Ranking:
    """A ranking of nothing but the candidates, their values divided by the temperature."""
    ranking = candidates.ranking
    if candidates.count < ranking.possible:
        places = candidates.positions
        ranking = ranking if places is None else ranking.restricted(np.sort(places))
    if candidates.temperature == 1.0:
        return ranking
    with np.errstate(over="ignore"):
        scaled = ranking.values.astype(np.float64) / candidates.temperature
    impossible = ranking.values == -np.inf
    values = np.clip(scaled, -_FLOAT32_MAX, _FLOAT32_MAX).astype(np.float32)
    values[impossible] = -np.inf
    return Ranking(values, ranking.ids)


def heat(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """Divide by the temperature; 0 leaves the likeliest token alone."""
    if settings.greedy:
        return candidates.first(1)
    temperature = candidates.temperature * settings.temperature
    return Candidates(candidates.ranking, candidates.count, temperature)


def keep_top_k(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """The k likeliest."""
    count = min(settings.top_k, candidates.count)
    if settings.keeps_ties:
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
    for size in HEADS[:2]:
        _, probabilities = candidates.head(size)
        count = int(np.searchsorted(np.cumsum(probabilities), settings.top_p)) + 1
        if count <= len(probabilities):
            return candidates.first(count)
    mask = _nearest(candidates, np.negative, settings.top_p, keeps_ties=False)
    places = candidates.places(mask)
    return candidates.first(len(places), places)


def keep_typical(candidates: Candidates, settings: SamplerSettings) -> Candidates:
    """Those whose surprise is nearest to the entropy, until they hold ``typical_p``
    (Meister et al. 2023), ties in distance by lower id.
    """
    peak, temperature = candidates.ranking.peak, candidates.temperature
    surprise = weighted_surprise(candidates.weights, candidates.values, peak, temperature)
    # Surprise is ln(total) - exponent and the entropy ln(total) + mean: ln(total) drops out.
    mean = surprise / candidates.total

    def distance(exponent: Vector) -> Vector:
        return np.abs(exponent + mean)

    mask = _nearest(candidates, distance, settings.typical_p, keeps_ties=settings.keeps_ties)
    ranking = candidates.ranking.restricted(np.sort(candidates.places(mask)))
    return Candidates(ranking, ranking.possible, temperature)


def _nearest(
    candidates: Candidates,
    distance: Callable[[Vector], Vector],
    mass: float,
    *,
    keeps_ties: bool,
) -> NDArray[np.bool_]:
    """Which candidates, smallest distance first, are needed to hold the mass.

    ``distance`` is a function of the exponent. A histogram of the mass over the distance finds
    the bin in which the mass is reached; only that bin is sorted.
    """
    peak, temperature = candidates.ranking.peak, candidates.temperature
    bins = np.empty(candidates.count, dtype=np.int16)
    held = np.zeros(_BINS)
    for part in pieces(candidates.count):
        away = distance(exponents(candidates.values[part], peak, temperature))
        places = np.minimum(away / _BIN_WIDTH, _BINS - 1).astype(np.intp)
        bins[part] = places
        held += np.bincount(places, weights=candidates.weights[part], minlength=_BINS)
    reached = np.cumsum(held) / candidates.total
    cut = min(int(np.searchsorted(reached, mass)), _BINS - 1)
    inside = np.flatnonzero(bins == cut)
    away = distance(exponents(candidates.values[inside], peak, temperature))
    places = inside if candidates.positions is None else candidates.positions[inside]
    order = np.lexsort((places, away))
    inside, away = inside[order], away[order]
    below = float(reached[cut - 1]) if cut else 0.0
    running = below + np.cumsum(candidates.weights[inside]) / candidates.total
    count = min(int(np.searchsorted(running, mass)) + 1, len(inside))
    if keeps_ties and count:
        count = int(np.searchsorted(away, away[count - 1], side="right"))
    kept: NDArray[np.bool_] = bins < cut
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
