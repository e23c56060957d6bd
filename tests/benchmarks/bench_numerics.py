"""What the numerics of one step cost at 262,144 entries, beside the usual NumPy way.

Every figure is the fastest of many calls in one thread's CPU time, which other programs on the
machine disturb least. The limits are those of the design; the ratios compare with the plainest
NumPy code for the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from logitscope.distribution import Distribution, log_sum_exp, order, rank_of, summarise, top
from logitscope.randomness import uniform
from logitscope.sampling import (
    LLAMACPP_ORDER,
    TRANSFORMERS_ORDER,
    SamplerSettings,
    draw,
    shape,
)
from logitscope.surprisal import token_numbers

SIZE = 262_144
REPEATS = 40
HISTORY = list(range(0, 6_400, 100))

CHAINS = {
    "greedy": (SamplerSettings(temperature=0.0), 1.0),
    "temperature alone": (SamplerSettings(temperature=0.8), 4.0),
    "top-k 40": (SamplerSettings(top_k=40), 1.0),
    "top-p 0.95 of everything": (SamplerSettings(temperature=0.9, top_p=0.95), 10.0),
    "typical 0.9 of everything": (SamplerSettings(typical_p=0.9), 10.0),
    "all stages, llama.cpp order": (
        SamplerSettings(0.8, 40, 0.95, 0.05, 0.9, 1.1, 0.1, 0.1, order=LLAMACPP_ORDER),
        10.0,
    ),
    "all stages, nothing cut early": (
        SamplerSettings(0.8, 0, 0.95, 1e-9, 0.95, 1.1, 0.1, 0.1, order=TRANSFORMERS_ORDER),
        10.0,
    ),
}


@pytest.fixture(scope="module", params=["peaked", "flat"])
def row(request: pytest.FixtureRequest) -> np.ndarray:
    """``peaked``: a head of 40 likely tokens over a bell, entropy about 3 nats, as of a language
    model; ``flat``: the bell alone, where a top-p of 0.95 keeps some 20,000 tokens.
    """
    rng = np.random.default_rng(0)
    logits = rng.standard_normal(SIZE) * 3
    if request.param == "peaked":
        logits[rng.integers(0, SIZE, 40)] = 24 - 4 * np.log(np.arange(1, 41))
    return logits.astype(np.float32)


def milliseconds(call: Callable[[], object]) -> float:
    """The fastest of many calls."""
    call()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return best * 1_000


@pytest.mark.parametrize("name", CHAINS)
def test_chain_and_draw(row: np.ndarray, name: str) -> None:
    settings, limit = CHAINS[name]
    cost = milliseconds(lambda: draw(shape(row, settings, HISTORY), 1, 2))
    print(f"\n{name:32} {cost:7.3f} ms (limit {limit:g})")
    assert cost < limit


def test_chain_and_reports(row: np.ndarray) -> None:
    settings, limit = CHAINS["all stages, nothing cut early"]
    cost = milliseconds(lambda: shape(row, settings, HISTORY).reports)
    print(f"\n{'all stages with reports':32} {cost:7.3f} ms (limit {limit:g})")
    assert cost < limit


def _plain_log_sum_exp(row: np.ndarray) -> float:
    wide = row.astype(np.float64)
    peak = wide.max()
    return float(peak + np.log(np.exp(wide - peak).sum()))


PEERS: dict[str, tuple[Callable, Callable, float]] = {
    "top 10 / argpartition": (lambda r: top(r, 10), lambda r: np.argpartition(-r, 10)[:10], 1.0),
    "order / stable argsort": (order, lambda r: np.argsort(-r, kind="stable"), 1.0),
    "log-sum-exp / plain float64": (log_sum_exp, _plain_log_sum_exp, 1.3),
}


@pytest.mark.parametrize("name", PEERS)
def test_against_plain_numpy(row: np.ndarray, name: str) -> None:
    ours, plain, limit = PEERS[name]
    mine, theirs = milliseconds(lambda: ours(row)), milliseconds(lambda: plain(row))
    print(f"\n{name:32} {mine:7.3f} / {theirs:7.3f} ms = {mine / theirs:.2f} (limit {limit:g})")
    assert mine / theirs < limit


@pytest.mark.parametrize(
    ("name", "call", "limit"),
    [
        ("summarise", lambda r: summarise(r, 77), 1.5),
        ("entropy, head 20, tail", lambda r: _panel(Distribution.of(r)), 8.0),
        ("rank of an id", lambda r: rank_of(r, 77), 0.3),
        ("one random number", lambda _: uniform(3, 5), 0.02),
    ],
)
def test_single_calls(row: np.ndarray, name: str, call: Callable, limit: float) -> None:
    cost = milliseconds(lambda: call(row))
    print(f"\n{name:32} {cost:7.3f} ms (limit {limit:g})")
    assert cost < limit


def _panel(distribution: Distribution) -> tuple[float, float]:
    return distribution.entropy, distribution.head(20).tail_mass


@pytest.mark.parametrize("size", [1_008, 32_000, 151_936, SIZE])
def test_numbers_a_token(size: int) -> None:
    """Loss, rank, entropy and top 10 of every token of a chunk, beside a bare log-softmax of it in
    float32: the least that any scoring has to do.
    """
    count = max(2 * SIZE // size, 2)
    block = (np.random.default_rng(0).standard_normal((count, size)) * 3).astype(np.float32)
    targets = np.arange(count) % size
    mine = milliseconds(lambda: token_numbers(block, targets)) / count
    bare = milliseconds(lambda: _log_softmax(block)) / count
    print(f"\nnumbers a token at {size:7,} {mine:14.4f} / {bare:.4f} ms = {mine / bare:.2f}")
    assert mine / bare < 5.0


def _log_softmax(block: np.ndarray) -> np.ndarray:
    shifted = block - block.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted
