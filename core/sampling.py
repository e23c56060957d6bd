"""The sampler chain: settings, the shaped distribution, and the draw from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from logitscope.chain import HEADS, STAGES, Candidates, Ranking, penalise
from logitscope.randomness import uniform, uniforms
from logitscope.ranking import Ids, checked_row
from logitscope.sampler_settings import (
    LLAMACPP_ORDER,
    TRANSFORMERS_ORDER,
    SamplerSettings,
    Stage,
    TieRule,
)
from logitscope.steps import Draw

__all__ = [
    "KEPT",
    "LLAMACPP_ORDER",
    "NEVER_POSSIBLE",
    "STAGE_CODES",
    "TRANSFORMERS_ORDER",
    "Choice",
    "SamplerSettings",
    "Shaped",
    "Stage",
    "StageReport",
    "Tally",
    "TieRule",
    "draw",
    "draw_many",
    "shape",
    "shape_ranking",
]

Vector = NDArray[np.float64]

KEPT = 0
"""Code in ``Shaped.removed_by`` of a token that can be drawn."""
STAGE_CODES: dict[Stage, int] = {stage: code for code, stage in enumerate(Stage, start=1)}
"""Code in ``Shaped.removed_by`` of each stage."""
NEVER_POSSIBLE = 255
"""Code in ``Shaped.removed_by`` of a token whose raw logit is -inf."""


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage did. Probabilities belong to the distribution which that stage saw."""

    stage: Stage
    active: bool
    """False: at its neutral value, or switched off by greedy."""
    kept_before: int
    kept_after: int
    removed_mass: float
    cut_probability: float | None
    """Probability of the least likely token it kept; None where it removed nothing."""


@dataclass(frozen=True, eq=False)
class Shaped:
    """The distribution a token is drawn from; what is derived is computed when first asked for."""

    settings: SamplerSettings
    n_vocab: int
    _trail: tuple[tuple[Stage, Candidates, Candidates], ...] = field(repr=False)
    """Each stage of the order with what it saw and what it left."""
    _final: Candidates = field(repr=False)

    @property
    def greedy(self) -> bool:
        """Whether there is no draw: one token has the probability 1."""
        return self.settings.greedy

    @property
    def kept(self) -> int:
        """How many tokens can be drawn."""
        return self._final.count

    def head(self, count: int) -> tuple[Ids, Vector]:
        """Ids and probabilities of the ``min(count, kept)`` likeliest, likeliest first.

        Does not sort the vocabulary for a small ``count``.
        """
        return self._final.head(count)

    @cached_property
    def ids(self) -> Ids:
        """All kept ids, likeliest first, ties by lower id; int64, shape (kept,)."""
        return self._final.head(self.kept)[0]

    @cached_property
    def probabilities(self) -> Vector:
        """Probabilities of ``ids``; float64, shape (kept,)."""
        return self._final.head(self.kept)[1]

    @cached_property
    def by_id(self) -> Vector:
        """Probability of every id, 0 where it was removed; float64, shape (V,)."""
        dense = np.zeros(self.n_vocab)
        dense[self._final.index] = self._final.weights
        dense /= self._final.total
        return dense

    def split(self, ids: Ids) -> tuple[Vector, float]:
        """Probabilities of ``ids``, 0 where removed, and of all others together; the latter are
        added up directly, since one minus a head would lose a small tail to rounding.
        """
        final = self._final
        others = final.weights.copy()
        if isinstance(final.index, slice) and final.index == slice(None):
            found = others[ids]
            others[ids] = 0.0
        else:
            places = np.full(self.n_vocab, -1, dtype=np.int32)
            places[final.index] = np.arange(final.count, dtype=np.int32)
            here = places[ids]
            found = np.where(here < 0, 0.0, others[here])
            others[here[here >= 0]] = 0.0
        return found / final.total, float(others.sum()) / final.total

    @cached_property
    def reports(self) -> tuple[StageReport, ...]:
        """One report a stage, in the order of the chain."""
        return tuple(self._report(*entry) for entry in self._trail)

    def _report(self, stage: Stage, before: Candidates, after: Candidates) -> StageReport:
        removes = before.count != after.count
        return StageReport(
            stage=stage,
            active=self.settings.is_active(stage),
            kept_before=before.count,
            kept_after=after.count,
            removed_mass=before.mass_without(after, self.n_vocab) if removes else 0.0,
            cut_probability=float(before.probabilities(after.least())[0]) if removes else None,
        )

    @cached_property
    def removed_by(self) -> NDArray[np.uint8]:
        """Which stage removed each id: KEPT, NEVER_POSSIBLE or one of STAGE_CODES; (V,)."""
        codes = np.full(self.n_vocab, NEVER_POSSIBLE, dtype=np.uint8)
        for stage, before, after in self._trail:
            if before.count != after.count:
                codes[before.index] = STAGE_CODES[stage]
        codes[self._final.index] = KEPT
        return codes

    def probability_of(self, token_id: int) -> float:
        """Probability of one id; 0 if it was removed. Raises IndexError outside the vocabulary."""
        return float(self.by_id[token_id])

    def rank_of(self, token_id: int) -> int | None:
        """Rank among the tokens that can be drawn, 1 = likeliest; None if it was removed."""
        return self._final.rank_of(token_id)

    def interval_of(self, token_id: int) -> tuple[float, float] | None:
        """The half-open interval of u that draws this id; None if it was removed.

        A token whose probability underflows to 0 has an empty one.
        """
        rank = self._final.rank_of(token_id)
        return None if rank is None else self._interval(rank - 1)

    def _interval(self, place: int) -> tuple[float, float]:
        cumulative = self._cumulative(place + 2)
        low = float(cumulative[place - 1]) if place else 0.0
        return low, float(cumulative[place])

    def ends(self, count: int) -> Vector:
        """Upper ends of the intervals of u that draw the ``min(count, kept)`` likeliest; each
        interval begins where the one before ends, the first at 0.
        """
        return self._cumulative(count)[:count]

    def _cumulative(self, count: int) -> Vector:
        """Upper ends of the intervals of at least the ``min(count, kept)`` likeliest.

        Running sums from the likeliest on, so that a longer head continues a shorter one bit for
        bit. At the end of the ranking rounding is taken up: the last token with a width ends at 1.
        """
        size = next((size for size in HEADS if count <= size < self.kept), self.kept)
        if size not in self._ends:
            _, probabilities = self._final.head(size)
            ends = np.minimum(np.cumsum(probabilities), 1.0)
            if size == self.kept:
                ends[int(np.flatnonzero(probabilities)[-1]) :] = 1.0
            self._ends[size] = ends
        return self._ends[size]

    @cached_property
    def _ends(self) -> dict[int, Vector]:
        return {}

    def place_of(self, u: float) -> int:
        """Place in ``ids`` of the token whose interval holds ``u``; 0 = likeliest."""
        if not 0.0 <= u < 1.0:
            raise ValueError(f"u must lie in [0, 1), but is {u}.")
        for size in HEADS:
            ends = self._cumulative(size)
            place = int(np.searchsorted(ends, u, side="right"))
            if place < len(ends):
                return place
        return int(np.searchsorted(self._cumulative(self.kept), u, side="right"))

    def places_of(self, u: Vector) -> Ids:
        """``place_of`` of many u at once; int64, shape of ``u``."""
        return np.searchsorted(self._cumulative(self.kept), u, side="right").astype(np.int64)


def shape(
    logits: NDArray[np.floating], settings: SamplerSettings, history: Sequence[int]
) -> Shaped:
    """Run the sampler chain over one raw row.

    ``logits``: float32, (V,), not changed, and not to be changed while the result is in use;
    ``history``: the ids before the position, for the penalties (ids outside the vocabulary are
    ignored). Raises ValueError for a row without a distribution.
    """
    return shape_ranking(Ranking(checked_row(logits)), settings, history)


def shape_ranking(ranking: Ranking, settings: SamplerSettings, history: Sequence[int]) -> Shaped:
    """``shape`` of a checked row whose ranking is kept: other settings do not sort it again."""
    state = Candidates(ranking, ranking.possible)
    trail: list[tuple[Stage, Candidates, Candidates]] = []
    for stage in _stages(settings):
        before = state
        if not settings.is_active(stage):
            pass
        elif stage is Stage.PENALTIES:
            state = penalise(before, settings, history)
        else:
            state = STAGES[stage](before, settings)
        trail.append((stage, before, state))
    return Shaped(settings, len(ranking.values), tuple(trail), state)


def _stages(settings: SamplerSettings) -> tuple[Stage, ...]:
    """The order; greedy takes the likeliest after the penalties wherever they stand."""
    if settings.greedy and Stage.PENALTIES in settings.order:
        return (Stage.PENALTIES, *(s for s in settings.order if s is not Stage.PENALTIES))
    return settings.order


@dataclass(frozen=True, slots=True)
class Choice:
    """The token a step has chosen."""

    token_id: int
    probability: float
    """Shaped probability."""
    draw: Draw | None
    """None where greedy chose."""


def draw(shaped: Shaped, seed: int, position: int, attempt: int = 0) -> Choice:
    """Choose a token with the random number of (seed, position, attempt).

    ``attempt`` 0 is the run itself, 1, 2, … are "draw again".
    """
    if shaped.greedy:
        return Choice(int(shaped.head(1)[0][0]), 1.0, None)
    u = uniform(seed, position, attempt)
    place = shaped.place_of(u)
    ids, probabilities = shaped.head(place + 1)
    low, high = shaped._interval(place)
    return Choice(int(ids[place]), float(probabilities[place]), Draw(u, low, high))


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often tokens were drawn; those drawn at least once, likeliest first."""

    ids: Ids
    counts: NDArray[np.int64]
    expected: Vector
    """Shaped probabilities of ``ids``."""


def draw_many(shaped: Shaped, seed: int, position: int, n: int, first: int = 1) -> Tally:
    """Draw n times, attempts ``first`` and on: the same tokens as ``draw`` one by one."""
    if shaped.greedy:
        return Tally(shaped.ids, np.array([n]), shaped.probabilities)
    places, counts = np.unique(
        shaped.places_of(uniforms(seed, position, n, first)), return_counts=True
    )
    return Tally(shaped.ids[places], counts, shaped.probabilities[places])
