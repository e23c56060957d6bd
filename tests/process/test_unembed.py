"""Where a logit comes from, asked over the pipe; and what passes cost, as the replies tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from logitscope.backends.base import LoadOptions, PassStats
from logitscope.backends.messages import (
    Evaluated,
    Failed,
    Finished,
    Loaded,
    Stepped,
    Unembedded,
)
from logitscope.sampling import SamplerSettings

IDS = (0, 70, 71, 72)


@pytest.fixture(scope="module")
def hf_client(new_asker: Callable[[], Any], tiny_hf: Path) -> Iterator[Any]:
    """A process with a tiny model of transformers, for tests that leave it as it is."""
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    asker = new_asker()
    number = asker.load(str(tiny_hf), options=LoadOptions(device="cpu", threads=1))
    reply = asker.replies.closing(number, 120.0)
    assert isinstance(reply, Loaded)
    assert reply.info.capabilities.hidden_state
    yield asker
    asker.close()


@pytest.mark.torch
def test_the_parts_add_up_to_the_logit_in_the_row(hf_client: Any) -> None:
    evaluated = hf_client.answer(hf_client.evaluate(IDS))
    assert isinstance(evaluated, Evaluated)
    row = hf_client.row(evaluated.row)
    for token_id in (5, 500):
        reply = hf_client.answer(hf_client.unembed(IDS, token_id))
        assert isinstance(reply, Unembedded)
        assert (reply.ids, reply.parts.token_id) == (IDS, token_id)
        assert reply.parts.logit == pytest.approx(float(row[token_id]), abs=1e-3)


def test_a_model_without_a_hidden_state_says_so(shared_client: Any) -> None:
    reply = shared_client.answer(shared_client.unembed(IDS, 5))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "hidden state" in reply.sentence
    shared_client.evaluated()


def test_steps_tell_what_their_rows_cost(shared_client: Any) -> None:
    """The fake reads exactly the ids that its cache lacks."""
    ids = (1, 90, 91, 92, 93)
    shared_client.evaluated((2, 60))
    number = shared_client.generate(ids, SamplerSettings(temperature=0.0), 3, ignore_end=True)
    finished = shared_client.answer(number)
    steps = [r for r in shared_client.replies.of(number) if isinstance(r, Stepped)]
    costs = [(step.cost.cached, step.cost.evaluated) for step in steps]
    assert costs == [(0, 5), (5, 1), (6, 1)]
    assert isinstance(finished, Finished)
    assert (finished.cost.cached, finished.cost.evaluated) == (7, 1)


def test_a_row_at_hand_costs_nothing(shared_client: Any) -> None:
    ids = (1, 95, 96)
    shared_client.evaluated(ids)
    number = shared_client.generate(ids, SamplerSettings(temperature=0.0), 1, ignore_end=True)
    shared_client.answer(number)
    first = next(r for r in shared_client.replies.of(number) if isinstance(r, Stepped))
    assert first.cost == PassStats(3, 0, 0.0)
