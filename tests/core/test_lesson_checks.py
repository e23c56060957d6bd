"""The predicates that tell whether a step was done: each holds where it should, and only there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from logitscope.distribution import Distribution
from logitscope.document import Block, State
from logitscope.lesson_checks import CHECKS
from logitscope.lesson_moment import ModelFacts, Moment, OriginFacts
from logitscope.sampling import SamplerSettings
from logitscope.steps import Draw, Origin, StepRecord

ROW = Distribution(np.array([1.0, 0.0, -1.0], dtype=np.float32))
RULE = "Policy: 45 days.\n"
STATE = State(blocks=(Block(RULE), Block("Question?")), prompt_ids=(0, 1, 2))
BASE = Moment(state=STATE, distribution=ROW, position=3)


def step(p: float = 0.5, origin: Origin = Origin.SAMPLED, *, greedy: bool = False) -> StepRecord:
    draw = None if greedy or origin is not Origin.SAMPLED else Draw(0.1, 0.0, 0.5)
    return StepRecord(1, origin, math.log(p), 1, 1.0, p, draw, (0,), (-0.7,), 0.0)


ONE, RARE, GREEDY, FORCED = step(), step(0.01), step(greedy=True), step(origin=Origin.FORCED)
SECOND = replace(ONE, rank=2)


def settings(**changes: Any) -> Moment:
    return replace(BASE, state=replace(STATE, settings=SamplerSettings(**changes)))


def blocks(*made: Block) -> Moment:
    return replace(BASE, state=replace(STATE, blocks=made))


def losses(*values: float) -> Moment:
    return replace(BASE, losses=np.array(values))


HOLDS: list[tuple[str, dict[str, Any], Moment]] = [
    ("view", {"shows": "tab:how"}, replace(BASE, views=frozenset({"tab:how"}))),
    ("panel", {"id": "passes"}, replace(BASE, panels=frozenset({"passes"}))),
    ("temperature", {"least": 1.5}, settings(temperature=1.5)),
    ("temperature", {"least": 0, "most": 0}, settings(temperature=0.0)),
    ("top_p", {"least": 0.9, "most": 0.9}, settings(top_p=0.9)),
    ("other_seed", {}, settings(seed=9)),
    ("stepped", {}, replace(BASE, path=(ONE,))),
    ("stepped", {"least": 2, "greedy": True}, replace(BASE, path=(ONE, GREEDY))),
    ("rewound", {}, replace(BASE, runs=1)),
    ("forced", {}, replace(BASE, path=(FORCED,))),
    ("drawn_again", {"least": 5}, replace(BASE, attempts=5)),
    ("selected", {}, replace(BASE, follows_end=False, position=1)),
    ("selected", {"within": "path"}, replace(BASE, path=(ONE,), follows_end=False)),
    ("selected", {"within": "prompt"}, replace(BASE, follows_end=False, position=2)),
    ("selected_extreme", {}, replace(BASE, path=(ONE, RARE), follows_end=False, position=4)),
    ("selected_extreme", {"of": "text"},
     replace(losses(math.nan, 1.0, 3.0), follows_end=False, position=2)),
    ("scored", {}, losses(math.nan, 1.0, 3.0)),
    ("text_has", {"text": "POLICY"}, BASE),
    ("text_lacks", {"text": "banana"}, BASE),
    ("text_changed", {}, blocks(Block("Other"))),
    ("source", {"text": "Policy: 45 days."}, blocks(Block(RULE, is_source=True), Block("?"))),
    ("source", {"text": "Policy: 45 days."}, blocks(Block(RULE, sources=((0, 16),)))),
    ("no_source", {}, BASE),
    ("origin_known", {}, replace(BASE, origin=OriginFacts({"weights": 2, "unknown": 1}))),
    ("backend", {"is_run_by": "bigram"}, replace(BASE, model=ModelFacts("bigram", 1, 0.0, 9))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "now"), HOLDS)
def test_it_holds_where_it_was_done(name: str, parameters: dict[str, Any], now: Moment) -> None:
    assert CHECKS[name](BASE, now, **parameters)


FAILS: list[tuple[str, dict[str, Any], Moment]] = [
    ("view", {"shows": "tab:how"}, BASE),
    ("panel", {"id": "passes"}, BASE),
    ("temperature", {"least": 1.5}, settings(temperature=1.45)),
    ("top_p", {"least": 0.9, "most": 0.9}, BASE),
    ("other_seed", {}, BASE),
    ("stepped", {"least": 2}, replace(BASE, path=(ONE,))),
    ("stepped", {"greedy": True}, replace(BASE, path=(SECOND,))),
    ("stepped", {}, replace(BASE, path=(FORCED,))),
    ("rewound", {}, replace(BASE, runs=1, path=(ONE,))),
    ("rewound", {}, BASE),
    ("forced", {}, replace(BASE, path=(ONE,))),
    ("drawn_again", {"least": 5}, replace(BASE, attempts=4)),
    ("selected", {}, BASE),
    ("selected", {}, replace(BASE, follows_end=False, position=0)),
    ("selected", {"within": "path"}, replace(BASE, follows_end=False, position=2)),
    ("selected_extreme", {}, replace(BASE, path=(ONE, RARE), follows_end=False, position=3)),
    ("selected_extreme", {"of": "text"},
     replace(losses(math.nan, 1.0, 3.0), follows_end=False, position=1)),
    ("scored", {}, losses(math.nan, 1.0, math.nan)),
    ("scored", {}, losses(math.nan, 1.0)),
    ("text_has", {"text": "banana"}, BASE),
    ("text_lacks", {"text": "policy"}, BASE),
    ("text_changed", {}, BASE),
    ("source", {"text": "Policy: 45 days."}, BASE),
    ("source", {"text": "Policy: 45 days."}, blocks(Block(RULE, sources=((0, 9),)))),
    ("source", {"text": "elsewhere"}, blocks(Block(RULE, is_source=True))),
    ("no_source", {}, blocks(Block(RULE, is_source=True))),
    ("origin_known", {}, replace(BASE, origin=OriginFacts({"unknown": 3}))),
    ("origin_known", {}, BASE),
    ("backend", {"is_run_by": "bigram"}, replace(BASE, model=ModelFacts("hf", 1, 0.0, 9))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "now"), FAILS)
def test_it_fails_where_it_was_not(name: str, parameters: dict[str, Any], now: Moment) -> None:
    assert not CHECKS[name](BASE, now, **parameters)


def test_every_predicate_is_tried_both_ways() -> None:
    assert {name for name, _, _ in HOLDS} == {name for name, _, _ in FAILS} == set(CHECKS)


def test_steps_of_before_do_not_count() -> None:
    start = replace(BASE, path=(ONE, FORCED))
    assert not CHECKS["stepped"](start, replace(BASE, path=(ONE, FORCED)))
    assert not CHECKS["forced"](start, replace(BASE, path=(ONE, FORCED, RARE)))
    assert CHECKS["stepped"](start, replace(BASE, path=(ONE, FORCED, RARE)))
