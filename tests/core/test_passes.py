"""The log of passes, against sums done by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logitscope.passes import PassKind, PassLog

COSTS = st.tuples(st.integers(0, 4096), st.integers(0, 4096), st.floats(0, 10))


def test_a_prompt_is_a_prefill_and_a_token_behind_it_a_decode() -> None:
    log = PassLog()
    assert log.add(0, 12, 0.120)
    assert log.add(12, 1, 0.015)
    assert log.add(13, 1, 0.017)
    assert log.add(6, 5, 0.050)
    assert [one.kind.value for one in log.passes] == ["prefill", "decode", "decode", "prefill"]
    assert [one.number for one in log.passes] == [1, 2, 3, 4]
    prefill, decode = log.totals(PassKind.PREFILL), log.totals(PassKind.DECODE)
    assert (prefill.passes, prefill.evaluated, prefill.cached) == (2, 17, 6)
    assert (decode.passes, decode.evaluated, decode.cached) == (2, 2, 25)
    assert decode.seconds_per_token == 0.016
    assert log.last is not None
    assert log.last.evaluated == 5
    last = log.last_of(PassKind.DECODE)
    assert last is not None
    assert last.seconds == 0.017


def test_the_first_token_of_all_is_a_prefill() -> None:
    """There is nothing in the cache that it could lean on."""
    log = PassLog()
    log.add(0, 1, 0.01)
    assert log.passes[0].kind is PassKind.PREFILL


def test_a_row_at_hand_is_no_pass() -> None:
    log = PassLog()
    assert not log.add(57, 0, 0.0)
    assert log.last is None
    assert log.totals(PassKind.DECODE).seconds_per_token is None


@given(st.lists(COSTS, max_size=40), st.integers(1, 10))
def test_totals_outlive_what_is_forgotten(costs: list[tuple[int, int, float]], kept: int) -> None:
    log = PassLog(kept)
    for cost in costs:
        log.add(*cost)
    real = [cost for cost in costs if cost[1] > 0]
    assert [(p.cached, p.evaluated, p.seconds) for p in log.passes] == real[-kept:]
    totals = [log.totals(kind) for kind in PassKind]
    assert sum(total.passes for total in totals) == len(real)
    assert sum(total.evaluated for total in totals) == sum(cost[1] for cost in real)
    assert sum(total.cached for total in totals) == sum(cost[0] for cost in real)
    log.clear()
    assert log.passes == ()
    assert log.totals(PassKind.PREFILL).passes == 0
