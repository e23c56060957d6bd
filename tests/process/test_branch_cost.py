"""A branch behind a long prompt costs one decode, as the model process itself counts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from logitscope.backends.base import LoadOptions
from logitscope.backends.messages import Channel, Evaluated, Loaded
from logitscope.sampling import SamplerSettings

PROMPT = tuple(range(100, 600)) * 4
GREEDY = SamplerSettings(temperature=0.0)


GEMMA = pytest.param("gemma", marks=[pytest.mark.gemma, pytest.mark.llama])


@pytest.fixture(scope="module", params=["fake", GEMMA])
def loaded(request: pytest.FixtureRequest, new_asker: Callable[[], Any]) -> Iterator[Any]:
    """A process whose context holds the prompt and what is to come."""
    path: str | Path = "fake:vocab=1000,seed=3,context=4096"
    if request.param == "gemma":
        pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
        path = request.getfixturevalue("gemma_path")
    asker = new_asker()
    options = LoadOptions(context_length=4096, threads=1)
    reply = asker.replies.closing(asker.load(str(path), options=options), 120.0)
    assert isinstance(reply, Loaded), reply
    yield asker
    asker.close()


def cost(asker: Any, tail: tuple[int, ...], channel: Channel = Channel.LIVE) -> tuple[int, int]:
    """(cached, evaluated) of one evaluation behind the prompt."""
    number = asker.evaluate(PROMPT, tail, channel=channel)
    reply = asker.replies.closing(number, 120.0)
    assert isinstance(reply, Evaluated), reply
    return reply.cached, reply.evaluated


def test_a_branch_behind_2000_tokens_costs_one_decode(loaded: Any) -> None:
    assert len(PROMPT) == 2000
    assert cost(loaded, ()) == (0, 2000)
    number = loaded.generate(PROMPT, GREEDY, 30, ignore_end=True)
    loaded.replies.closing(number, 120.0)
    # Forcing another first token leaves the 30 behind it; three branches lie side by side.
    for other in (700, 701, 702):
        assert cost(loaded, (other,)) == (2000, 1)


@pytest.mark.parametrize("loaded", [GEMMA], indirect=True, scope="module")
def test_looking_far_back_keeps_the_prompt_of_the_branches(loaded: Any) -> None:
    cost(loaded, (710,))
    number = loaded.evaluate(PROMPT[:300], channel=Channel.INSPECT)
    looked = loaded.replies.closing(number, 120.0)
    assert (looked.cached, looked.evaluated) == (299, 1)
    assert cost(loaded, (703,)) == (2000, 1)
