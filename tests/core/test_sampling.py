"""What the chain reports, and that the draw hits the interval it says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.chain import Ranking
from logitscope.distribution import Distribution
from logitscope.randomness import uniform
from logitscope.sampling import (
    KEPT,
    LLAMACPP_ORDER,
    NEVER_POSSIBLE,
    STAGE_CODES,
    TRANSFORMERS_ORDER,
    SamplerSettings,
    Shaped,
    Stage,
    TieRule,
    draw,
    draw_many,
    shape,
    shape_ranking,
)

PLAIN = SamplerSettings()
BELOW_1 = math.nextafter(1.0, 0.0)

ANY_CHAIN = st.builds(
    SamplerSettings,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 3, 40]),
    top_p=st.sampled_from([0.0, 0.6, 0.95, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 1.0]),
    typical_p=st.sampled_from([0.4, 0.9, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    order=st.permutations(list(Stage)).map(tuple),
    tie_rule=st.sampled_from(list(TieRule)),
)
HISTORY = st.lists(st.integers(0, 80), max_size=10)


def halves() -> np.ndarray:
    """Logits of the probabilities 1/2, 1/4, 1/8, 1/8 (to float32 rounding)."""
    return np.log([0.5, 0.25, 0.125, 0.125]).astype(np.float32)


def long_row(spread: float = 3.0, size: int = 262_144) -> np.ndarray:
    return (np.random.default_rng(5).standard_normal(size) * spread).astype(np.float32)


class TestReports:
    def test_each_mass_belongs_to_the_distribution_its_stage_saw(self) -> None:
        """Top-k 2 drops 1/4 of the whole; of the 2/3 and 1/3 left, min-p 0.6 drops 1/3."""
        shaped = shape(halves(), SamplerSettings(top_k=2, min_p=0.6), [])
        reports = {report.stage: report for report in shaped.reports}
        assert [report.stage for report in shaped.reports] == list(LLAMACPP_ORDER)
        top_k, min_p = reports[Stage.TOP_K], reports[Stage.MIN_P]
        assert (top_k.kept_before, top_k.kept_after) == (4, 2)
        assert top_k.removed_mass == pytest.approx(1 / 4, rel=1e-6)
        assert top_k.cut_probability == pytest.approx(1 / 4, rel=1e-6)
        assert (min_p.kept_before, min_p.kept_after) == (2, 1)
        assert min_p.removed_mass == pytest.approx(1 / 3, rel=1e-6)
        assert min_p.cut_probability == pytest.approx(2 / 3, rel=1e-6)
        active = {stage for stage, report in reports.items() if report.active}
        assert active == {Stage.TOP_K, Stage.MIN_P}
        assert reports[Stage.TOP_P].cut_probability is None
        assert reports[Stage.TOP_P].removed_mass == 0.0

    def test_the_token_that_crosses_top_p_is_kept(self) -> None:
        assert shape(halves(), SamplerSettings(top_p=0.51), []).ids.tolist() == [0, 1]

    def test_typical_may_drop_the_likeliest(self) -> None:
        """0.3 and seventy times 0.01: entropy 3.58 nats, nearer to the 4.61 nats of the small ones
        than to the 1.20 nats of the large one. 51 of the small ones hold 0.505.
        """
        row = np.log([0.3] + [0.01] * 70).astype(np.float32)
        shaped = shape(row, SamplerSettings(typical_p=0.505), [])
        assert shaped.ids.tolist() == list(range(1, 52))
        assert shaped.removed_by[0] == STAGE_CODES[Stage.TYPICAL]

    @given(rows(), ANY_CHAIN, HISTORY)
    def test_masses_multiply_to_what_is_left(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int]
    ) -> None:
        """Without temperature and penalties each removal is a share of the raw distribution."""
        chain = replace(chain, temperature=1.0, repetition_penalty=1.0, presence_penalty=0.0)
        shaped = shape(row, chain, history)
        left = math.prod(1.0 - report.removed_mass for report in shaped.reports)
        assert Distribution.of(row).mass(shaped.ids) == pytest.approx(left, abs=1e-12)

    @given(rows(), ANY_CHAIN, HISTORY, st.integers(0, 5))
    def test_head_excluded_and_tail_make_1(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int], count: int
    ) -> None:
        shaped, raw = shape(row, chain, history), Distribution.of(row)
        head, _ = shaped.head(count)
        excluded = np.flatnonzero(shaped.removed_by != KEPT)
        tail = shaped.ids[count:]
        parts = [raw.mass(head), raw.mass(excluded), raw.mass(tail)]
        assert math.fsum(parts) == pytest.approx(1.0, abs=1e-12)
        assert len(head) + len(excluded) + len(tail) == len(row)

    @given(rows(), ANY_CHAIN, HISTORY)
    def test_views_agree(self, row: np.ndarray, chain: SamplerSettings, history: list[int]) -> None:
        shaped = shape(row, chain, history)
        assert math.fsum(shaped.probabilities) == pytest.approx(1.0, abs=1e-12)
        assert len(shaped.ids) == shaped.kept == len(set(shaped.ids.tolist()))
        assert set(np.flatnonzero(shaped.removed_by == KEPT)) == set(shaped.ids.tolist())
        impossible = set(np.flatnonzero(shaped.removed_by == NEVER_POSSIBLE))
        assert impossible == set(np.flatnonzero(row == -np.inf))
        assert (np.diff(shaped.probabilities) <= 0).all()
        for place, token_id in enumerate(shaped.ids.tolist()):
            assert shaped.rank_of(token_id) == place + 1
            assert shaped.probability_of(token_id) == pytest.approx(shaped.probabilities[place])
        for stage, code in STAGE_CODES.items():
            removed = sum(
                report.kept_before - report.kept_after
                for report in shaped.reports
                if report.stage is stage
            )
            assert np.count_nonzero(shaped.removed_by == code) == removed

    def test_the_row_is_not_changed(self) -> None:
        row = halves()
        shaped = shape(row, SamplerSettings(repetition_penalty=2.0, temperature=0.5), [0, 1])
        assert shaped.kept == 4
        np.testing.assert_array_equal(row, halves())


class TestPenalties:
    def test_worked_example(self) -> None:
        """2 seen twice: 2 / 2 - 2 * 0.25 - 0.5 = 0; -1 seen once: -1 * 2 - 0.25 - 0.5 = -2.75."""
        chain = SamplerSettings(
            repetition_penalty=2.0, frequency_penalty=0.25, presence_penalty=0.5
        )
        shaped = shape(np.array([2.0, -1.0, 0.0], dtype=np.float32), chain, [0, 1, 0])
        weights = [math.exp(x) for x in (0.0, -2.75, 0.0)]
        expected = [weight / math.fsum(weights) for weight in weights]
        assert shaped.by_id.tolist() == pytest.approx(expected, rel=1e-7)

    def test_only_the_last_n_count(self) -> None:
        row = np.zeros(4, dtype=np.float32)
        chain = SamplerSettings(presence_penalty=1.0, penalty_last_n=2)
        seen = shape(row, chain, [0, 1, 2, 3]).by_id
        assert seen[0] == seen[1] > seen[2] == seen[3]
        everything = shape(row, replace(chain, penalty_last_n=-1), [0, 1, 2, 3]).by_id
        assert everything.tolist() == [0.25] * 4
        assert not replace(chain, penalty_last_n=0).is_active(Stage.PENALTIES)

    def test_ids_outside_the_row_are_ignored(self) -> None:
        chain = SamplerSettings(presence_penalty=1.0)
        with_strangers = shape(halves(), chain, [1, 99, -1])
        np.testing.assert_array_equal(with_strangers.by_id, shape(halves(), chain, [1]).by_id)

    def test_huge_logits_stay_finite(self) -> None:
        row = np.array([3e38, -3e38, 0.0], dtype=np.float32)
        chain = SamplerSettings(repetition_penalty=0.01, penalty_last_n=-1)
        assert shape(row, chain, [0, 1]).by_id.tolist() == [1.0, 0.0, 0.0]


class TestGreedy:
    @given(rows(), ANY_CHAIN, HISTORY)
    def test_one_hot_on_the_likeliest(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int]
    ) -> None:
        chain = replace(chain, temperature=0.0, repetition_penalty=1.0, presence_penalty=0.0)
        shaped = shape(row, chain, history)
        best = int(np.argmax(row))
        assert shaped.by_id.tolist() == np.eye(len(row))[best].tolist()
        choice = draw(shaped, 1, 2)
        assert (choice.token_id, choice.probability, choice.draw) == (best, 1.0, None)
        removed = {stage for stage in Stage if (shaped.removed_by == STAGE_CODES[stage]).any()}
        assert removed <= {Stage.TEMPERATURE}
        assert draw_many(shaped, 1, 2, 7).counts.tolist() == [7]

    def test_ties_go_to_the_lower_id(self) -> None:
        row = np.array([1.0, 7.0, 7.0], dtype=np.float32)
        assert draw(shape(row, SamplerSettings(temperature=0.0), []), 0, 0).token_id == 1

    def test_after_the_penalties_wherever_they_stand(self) -> None:
        chain = SamplerSettings(
            temperature=0.0, presence_penalty=5.0, order=(Stage.TEMPERATURE, Stage.PENALTIES)
        )
        assert shape(halves(), chain, [0]).ids.tolist() == [1]


class TestTies:
    ROW = np.array([2.0, 1.0, 1.0, 1.0, 0.0], dtype=np.float32)

    def test_rules(self) -> None:
        chain = SamplerSettings(top_k=2)
        exact = shape(self.ROW, replace(chain, tie_rule=TieRule.LOWEST_ID), [])
        assert exact.ids.tolist() == [0, 1]
        all_tied = shape(self.ROW, replace(chain, tie_rule=TieRule.ALL), [])
        assert all_tied.ids.tolist() == [0, 1, 2, 3]

    def test_each_preset_brings_the_rule_of_its_library(self) -> None:
        assert shape(self.ROW, SamplerSettings(top_k=2, order=LLAMACPP_ORDER), []).kept == 2
        assert shape(self.ROW, SamplerSettings(top_k=2, order=TRANSFORMERS_ORDER), []).kept == 4


class TestDraw:
    def test_intervals_of_a_worked_example(self) -> None:
        shaped = shape(halves(), PLAIN, [])
        expected = [(0.0, 0.5), (0.5, 0.75), (0.75, 0.875), (0.875, 1.0)]
        for token_id, interval in enumerate(expected):
            assert shaped.interval_of(token_id) == pytest.approx(interval, abs=1e-7)
        assert [shaped.place_of(u) for u in (0.0, 0.49, 0.51, 0.76, 0.88, BELOW_1)] == [
            0, 0, 1, 2, 3, 3,
        ]  # fmt: skip

    def test_intervals_are_half_open(self) -> None:
        """Four equal tokens: u on an end belongs to the token that begins there."""
        shaped = shape(np.zeros(4, dtype=np.float32), PLAIN, [])
        ends = [0.0, 0.25, 0.5, 0.75]
        assert [shaped.place_of(u) for u in ends] == [0, 1, 2, 3]
        assert shaped.places_of(np.array(ends)).tolist() == [0, 1, 2, 3]

    @given(rows(), ANY_CHAIN, HISTORY, st.integers(0, 1000))
    def test_u_lies_in_the_interval(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int], position: int
    ) -> None:
        chain = replace(chain, temperature=chain.temperature or 1.0)
        shaped = shape(row, chain, history)
        choice = draw(shaped, 7, position)
        assert choice.draw is not None
        assert choice.draw.u == uniform(7, position)
        assert choice.draw.low <= choice.draw.u < choice.draw.high
        assert shaped.interval_of(choice.token_id) == (choice.draw.low, choice.draw.high)
        assert choice.probability == pytest.approx(shaped.probability_of(choice.token_id))
        assert choice.draw.high - choice.draw.low == pytest.approx(choice.probability, abs=1e-12)
        assert shaped.removed_by[choice.token_id] == KEPT

    @given(rows(), ANY_CHAIN, HISTORY)
    def test_intervals_lie_side_by_side(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int]
    ) -> None:
        shaped = shape(row, chain, history)
        intervals = [shaped.interval_of(token_id) for token_id in shaped.ids.tolist()]
        assert intervals[0][0] == 0.0
        assert intervals[-1][1] == 1.0
        assert all(left[1] == right[0] for left, right in pairwise(intervals))
        removed = np.flatnonzero(shaped.removed_by != KEPT)
        assert all(shaped.interval_of(token_id) is None for token_id in removed.tolist())

    @given(rows(), ANY_CHAIN)
    def test_u_next_to_1_never_draws_an_impossible_token(
        self, row: np.ndarray, chain: SamplerSettings
    ) -> None:
        shaped = shape(row, chain, [])
        place = shaped.place_of(BELOW_1)
        assert shaped.probabilities[place] > 0.0

    @pytest.mark.parametrize("u", [-0.1, 1.0, math.nan])
    def test_u_outside_is_refused(self, u: float) -> None:
        with pytest.raises(ValueError, match=r"\[0, 1\)"):
            shape(halves(), PLAIN, []).place_of(u)

    @pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("chain", [PLAIN, SamplerSettings(0.7, top_p=0.99)])
    def test_a_partly_sorted_head_draws_as_the_full_ranking(
        self, spread: float, chain: SamplerSettings
    ) -> None:
        row = long_row(spread)
        full = shape(row, chain, [])
        ends = np.cumsum(full.probabilities)
        for position in range(30):
            fresh = shape(row, chain, [])
            choice = draw(fresh, 11, position)
            place = int(np.searchsorted(ends, choice.draw.u, side="right"))
            assert choice.token_id == full.ids[place]
            low = ends[place - 1] if place else 0.0
            assert (choice.draw.low, choice.draw.high) == (low, ends[place])

    def test_draw_again_and_many_are_the_attempts(self) -> None:
        shaped = shape(long_row(size=500), PLAIN, [])
        single = [draw(shaped, 3, 9, attempt).token_id for attempt in range(1, 201)]
        tally = draw_many(shaped, 3, 9, 200)
        assert dict(zip(tally.ids.tolist(), tally.counts.tolist(), strict=True)) == {
            token_id: single.count(token_id) for token_id in set(single)
        }

    def test_a_branch_does_not_disturb_its_sibling(self) -> None:
        shaped = shape(halves(), PLAIN, [])
        run = [draw(shaped, 5, position).token_id for position in range(50)]
        again = [draw(shaped, 5, position).token_id for position in reversed(range(50))]
        assert run == again[::-1]
        assert run != [draw(shaped, 6, position).token_id for position in range(50)]

    def test_frequencies(self) -> None:
        """Chi-square, 3 degrees of freedom: above 16.3 with probability 0.001."""
        shaped = shape(halves(), PLAIN, [])
        tally = draw_many(shaped, seed=1, position=2, n=100_000)
        expected = 100_000 * tally.expected
        assert float(((tally.counts - expected) ** 2 / expected).sum()) < 16.3
        assert tally.counts.sum() == 100_000


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([0.3, 2.0]), st.sampled_from([0.5, 0.97]))
def test_long_rows_against_plain_sorting(seed: int, temperature: float, mass: float) -> None:
    """The searches by block, partition and histogram find what sorting everything finds."""
    row = np.random.default_rng(seed).standard_normal(20_000).astype(np.float32)
    raw = np.exp((row.astype(np.float64) - row.max()) / temperature)
    probabilities = raw / raw.sum()
    order = np.argsort(-row, kind="stable")
    count = int(np.searchsorted(np.cumsum(probabilities[order]), mass)) + 1
    chain = SamplerSettings(temperature, top_p=mass, order=TRANSFORMERS_ORDER)
    np.testing.assert_array_equal(shape(row, chain, []).ids, order[:count])

    surprise = -np.log(probabilities)
    away = np.abs(surprise - np.dot(probabilities, surprise))
    nearest = np.argsort(away, kind="stable")
    count = int(np.searchsorted(np.cumsum(probabilities[nearest]), mass)) + 1
    typical = SamplerSettings(temperature, typical_p=mass, order=TRANSFORMERS_ORDER)
    kept = np.sort(shape(row, typical, []).ids)
    # A token whose distance ties in float64 with the last one's may fall on either side.
    assert len(np.setxor1d(kept, nearest[:count])) <= 1


@settings(max_examples=60)
@given(rows(), ANY_CHAIN, HISTORY, st.data())
def test_some_tokens_and_all_others(
    row: np.ndarray, chain: SamplerSettings, history: list[int], data: st.DataObject
) -> None:
    """Together they are the distribution by id, which shares no code with the split."""
    shaped = shape(row, chain, history)
    some = data.draw(st.sets(st.integers(0, len(row) - 1)))
    wanted = np.array(sorted(some), dtype=np.int64)
    found, rest = shaped.split(wanted)
    np.testing.assert_allclose(found, shaped.by_id[wanted], rtol=1e-12, atol=0)
    assert rest == pytest.approx(np.delete(shaped.by_id, wanted).sum(), rel=1e-9, abs=1e-300)


def test_a_kept_ranking_gives_the_same_for_other_settings() -> None:
    row = long_row()
    ranking = Ranking(row)
    for chain in (
        PLAIN,
        SamplerSettings(0.5, top_k=40, top_p=0.9),
        SamplerSettings(1.7, min_p=0.1),
    ):
        kept, fresh = shape_ranking(ranking, chain, [3]), shape(row, chain, [3])
        np.testing.assert_array_equal(kept.ids, fresh.ids)
        np.testing.assert_array_equal(kept.probabilities, fresh.probabilities)


def test_a_fraction_of_equal_tokens() -> None:
    """Of n equal tokens, the fewest that hold the share m/n are m, lowest ids first."""
    for size, part in ((8, 3), (1_024, 512), (65_536, 16_384)):
        row = np.zeros(size, dtype=np.float32)
        share = Fraction(part, size)
        shaped: Shaped = shape(row, SamplerSettings(top_p=float(share)), [])
        np.testing.assert_array_equal(shaped.ids, np.arange(part))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"temperature": -0.1}, "temperature must not be negative"),
        ({"temperature": math.nan}, "temperature must be a finite"),
        ({"temperature": math.inf}, "temperature must be a finite"),
        ({"top_k": -1}, "top_k must be 0"),
        ({"top_p": 1.1}, "top_p must be between"),
        ({"min_p": -0.1}, "min_p must be between"),
        ({"typical_p": math.nan}, "typical_p must be between"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be above"),
        ({"frequency_penalty": math.inf}, "frequency_penalty must be a finite"),
        ({"presence_penalty": math.nan}, "presence_penalty must be a finite"),
        ({"penalty_last_n": -2}, "penalty_last_n must be -1"),
        ({"order": (Stage.TOP_K, Stage.TOP_K)}, "names a stage twice"),
    ],
)
def test_meaningless_settings_are_refused(change: dict, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        SamplerSettings(**change)


def test_a_stage_missing_from_the_order_is_off() -> None:
    shaped = shape(halves(), SamplerSettings(top_k=1, order=(Stage.TEMPERATURE,)), [])
    assert shaped.kept == 4


def test_rows_without_a_distribution_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        shape(np.array([0.0, np.nan], dtype=np.float32), PLAIN, [])
