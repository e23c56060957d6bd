"""Losses, ranks and entropies per token against PyTorch in float64; averages; windows."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.surprisal import (
    Window,
    perplexity_windows,
    summarise,
    summarise_loss,
    token_numbers,
    windows,
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="the extra `torch` is not installed")


def matrix(count: int, size: int, spread: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, size)) * spread).astype(np.float32)


SHAPES = [(1, 262_144), (3, 151_936), (5, 32_768), (9, 32_767), (70, 1_008), (40, 513), (6, 2)]


class TestTokenNumbers:
    @pytest.mark.parametrize("spread", [0.01, 1.0, 3.0, 20.0])
    @pytest.mark.parametrize(("count", "size"), SHAPES)
    def test_against_pytorch(self, torch: Any, count: int, size: int, spread: float) -> None:
        block = matrix(count, size, spread)
        targets = np.random.default_rng(1).integers(0, size, count)
        numbers = token_numbers(block, targets)
        exact = torch.from_numpy(block).double()
        loss = torch.nn.functional.cross_entropy(
            exact, torch.from_numpy(targets), reduction="none"
        ).numpy()
        entropy = torch.distributions.Categorical(logits=exact).entropy().numpy()
        np.testing.assert_allclose(-numbers.log_probability, loss, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(numbers.entropy, entropy, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(numbers.logit, block[np.arange(count), targets])
        order = np.argsort(-block.astype(np.float64), axis=1, kind="stable")
        pairs = zip(order, targets, strict=True)
        ranks = [int(np.flatnonzero(line == i)[0]) + 1 for line, i in pairs]
        assert numbers.rank.tolist() == ranks
        k = min(10, size)
        np.testing.assert_array_equal(numbers.top_ids[:, :k], order[:, :k])
        top = torch.log_softmax(exact, 1).numpy()[np.arange(count)[:, None], order[:, :k]]
        np.testing.assert_allclose(numbers.top_log_probability[:, :k], top, rtol=1e-6, atol=1e-6)

    @given(rows(), st.data())
    def test_any_row(self, row: np.ndarray, data: st.DataObject) -> None:
        torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
        token_id = data.draw(st.integers(0, len(row) - 1))
        numbers = summarise(row, token_id)
        exact = torch.log_softmax(torch.from_numpy(row).double(), 0)
        assert numbers.log_probability == pytest.approx(exact[token_id].item(), rel=1e-6, abs=1e-6)
        expected = torch.special.entr(exact.exp()).sum().item()
        assert numbers.entropy == pytest.approx(expected, rel=1e-6, abs=1e-6)
        order = sorted(range(len(row)), key=lambda i: (-float(row[i]), i))
        assert numbers.rank == order.index(token_id) + 1
        assert list(numbers.top_ids) == order[:10]

    @pytest.mark.parametrize("size", [2, 511, 512, 513, 40_000])
    def test_a_single_row_of_any_length(self, size: int) -> None:
        torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
        row = np.random.default_rng(size).normal(0, 5, size).astype(np.float32)
        row[1::7] = -np.inf
        exact = torch.log_softmax(torch.from_numpy(row).double(), 0)
        numbers = summarise(row, size // 2 * 7 % size)
        expected = exact[size // 2 * 7 % size].item()
        assert numbers.log_probability == pytest.approx(expected, rel=1e-6, abs=1e-6)
        entropy = torch.special.entr(exact.exp()).sum().item()
        assert numbers.entropy == pytest.approx(entropy, rel=1e-6, abs=1e-6)
        top = exact.sort(descending=True, stable=True)
        assert list(numbers.top_ids) == top.indices[:10].tolist()
        np.testing.assert_allclose(numbers.top_log_probabilities, top.values[:10], rtol=1e-6)

    @settings(max_examples=50)
    @given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
    def test_rows_do_not_depend_on_their_neighbours(self, count: int, size: int, seed: int) -> None:
        block = np.round(matrix(count, size, 2.0, seed))
        targets = np.random.default_rng(seed).integers(0, size, count)
        together = token_numbers(block, targets, top=3)
        for line in range(count):
            alone = token_numbers(block[line : line + 1], targets[line : line + 1], top=3)
            for name in ("rank", "logit", "top_ids"):
                assert getattr(alone, name).tolist() == getattr(together, name)[[line]].tolist()
            for name in ("log_probability", "entropy", "top_log_probability"):
                expected = getattr(together, name)[[line]]
                np.testing.assert_allclose(getattr(alone, name), expected, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize(("count", "size"), [(3, 40_000), (700, 1000), (1, 50)])
    def test_workers_give_the_same(self, count: int, size: int) -> None:
        made = np.random.default_rng(count).normal(0, 3, (count, size)).astype(np.float32)
        ids = np.arange(count) % size
        alone = token_numbers(made, ids)
        with ThreadPoolExecutor(3) as workers:
            shared = token_numbers(made, ids, workers=workers)
        for name in ("log_probability", "rank", "entropy", "top_ids", "top_log_probability"):
            np.testing.assert_array_equal(getattr(shared, name), getattr(alone, name))

    def test_a_workers_error_is_raised(self) -> None:
        bad = np.full((4, 300_000), np.nan, dtype=np.float32)
        with ThreadPoolExecutor(2) as workers, pytest.raises(ValueError, match="NaN"):
            token_numbers(bad, np.zeros(4, dtype=int), workers=workers)

    def test_halves_quarters_eighths(self) -> None:
        """Probabilities 1/2, 1/4, 1/8: mean loss ln 4, perplexity 4."""
        row = np.log([0.5, 0.25, 0.125, 0.125]).astype(np.float32)
        numbers = token_numbers(np.stack([row] * 3), np.array([0, 1, 2]))
        summary = summarise_loss(-numbers.log_probability, numbers.rank)
        assert summary.mean_loss == pytest.approx(math.log(4.0), rel=1e-6)
        assert summary.perplexity == pytest.approx(4.0, rel=1e-6)

    def test_the_loss_of_a_certain_token_keeps_its_digits(self) -> None:
        row = np.array([30.0] + [0.0] * 999, dtype=np.float32)
        numbers = summarise(row, 0)
        assert -numbers.log_probability == pytest.approx(999 * math.exp(-30.0), rel=1e-6)

    def test_small_vocabulary_is_padded(self) -> None:
        numbers = token_numbers(np.zeros((2, 3), dtype=np.float32), np.array([0, 2]))
        assert numbers.top_ids.tolist() == [[0, 1, 2] + [-1] * 7] * 2
        assert numbers.top_log_probability[0, 2] == pytest.approx(-math.log(3.0))
        assert (numbers.top_log_probability[:, 3:] == -np.inf).all()
        assert summarise(np.zeros(3, dtype=np.float32), 0).top_ids == (0, 1, 2)

    def test_dtypes_and_no_rows(self) -> None:
        numbers = token_numbers(np.zeros((0, 5), dtype=np.float32), np.zeros(0, dtype=np.int64))
        kinds = {name: getattr(numbers, name).dtype for name in type(numbers).__slots__}
        assert kinds == {
            "log_probability": np.float64,
            "rank": np.int32,
            "entropy": np.float64,
            "logit": np.float32,
            "top_ids": np.int32,
            "top_log_probability": np.float32,
        }
        assert numbers.top_ids.shape == (0, 10)

    def test_rows_are_not_changed(self) -> None:
        block = matrix(3, 600, 2.0)
        before = block.copy()
        numbers = token_numbers(block, np.array([1, 2, 3]))
        assert numbers.rank.shape == (3,)
        np.testing.assert_array_equal(block, before)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    @pytest.mark.parametrize("size", [5, 40_000])
    def test_rows_without_a_distribution(self, bad: float, size: int) -> None:
        block = np.zeros((2, size), dtype=np.float32)
        block[1, 3] = bad
        with pytest.raises(ValueError, match="has no distribution"):
            token_numbers(block, np.array([0, 0]))

    def test_arguments_out_of_range(self) -> None:
        block = np.zeros((2, 5), dtype=np.float32)
        for targets in ([0, 5], [-1, 0]):
            with pytest.raises(IndexError, match="vocabulary of 5"):
                token_numbers(block, np.array(targets))
        with pytest.raises(ValueError, match="n targets"):
            token_numbers(block, np.array([0]))
        with pytest.raises(ValueError, match="shape"):
            summarise(block, 0)


class TestSummary:
    def test_unknown_tokens_do_not_count(self) -> None:
        loss = np.array([np.nan, math.log(2.0), math.log(8.0), 0.0])
        rank = np.array([0, 1, 11, 1_000])
        summary = summarise_loss(loss, rank, n_bytes=8, n_characters=2)
        assert (summary.tokens, summary.unknown) == (3, 1)
        assert summary.total_loss == pytest.approx(4 * math.log(2.0), rel=1e-15)
        assert summary.perplexity == pytest.approx(2 ** (4 / 3), rel=1e-15)
        assert summary.bits_per_byte == pytest.approx(0.5, rel=1e-15)
        assert summary.bits_per_character == pytest.approx(2.0, rel=1e-15)
        shares = (summary.at_rank_1, summary.within_rank_10, summary.within_rank_100)
        assert shares == pytest.approx((1 / 3, 1 / 3, 2 / 3))
        assert summary.within_rank_1000 == 1.0

    def test_nothing_known(self) -> None:
        for loss in ([], [np.nan]):
            summary = summarise_loss(np.array(loss), np.array([0] * len(loss)), 3, 3)
            assert (summary.tokens, summary.total_loss) == (0, 0.0)
            empty = (summary.mean_loss, summary.perplexity, summary.bits_per_byte)
            assert all(math.isnan(value) for value in (*empty, summary.at_rank_1))

    def test_no_bytes(self) -> None:
        summary = summarise_loss(np.array([1.0]), np.array([1]), n_bytes=0)
        assert math.isnan(summary.bits_per_byte)
        assert math.isnan(summary.bits_per_character)

    def test_an_impossible_token(self) -> None:
        summary = summarise_loss(np.array([np.inf, 1.0]), np.array([5, 1]))
        assert summary.mean_loss == summary.perplexity == math.inf

    @given(st.lists(st.floats(0, 700), min_size=1, max_size=50))
    def test_perplexity_is_exp_of_the_mean(self, losses: list[float]) -> None:
        summary = summarise_loss(np.array(losses), np.ones(len(losses), dtype=int))
        assert summary.mean_loss == math.fsum(losses) / len(losses)
        assert summary.perplexity == math.exp(summary.mean_loss)

    def test_averages_weigh_tokens_not_windows(self) -> None:
        """A million equal losses and one: exact to the last digits (float64 sums)."""
        losses = np.full(1_000_001, 0.1)
        losses[-1] = 7.0
        summary = summarise_loss(losses, np.ones(len(losses), dtype=int))
        assert summary.mean_loss == pytest.approx((100_000 + 7.0) / 1_000_001, rel=1e-15)


class TestWindows:
    @given(st.integers(0, 400), st.integers(2, 60), st.data())
    def test_every_token_once_with_half_a_window_before_it(
        self, n: int, context: int, data: st.DataObject
    ) -> None:
        stride = data.draw(st.one_of(st.none(), st.integers(1, context // 2)))
        passes = windows(n, context, stride)
        scored = [p for window in passes for p in range(window.score_from, window.end)]
        assert scored == list(range(n))
        for window in passes:
            assert 0 <= window.begin <= window.score_from < window.end <= n
            assert window.end - window.begin <= context
            for position in range(window.score_from, window.end):
                before = position - window.begin
                assert before == position or before >= context - (stride or context // 2)
                assert before == position or before >= context / 2

    def test_short_text_is_one_window(self) -> None:
        assert windows(5, 8) == [Window(0, 5, 0)]
        assert windows(0, 8) == []

    def test_default_stride_is_half_a_window(self) -> None:
        assert windows(10, 4) == [
            Window(0, 4, 0),
            Window(2, 6, 4),
            Window(4, 8, 6),
            Window(6, 10, 8),
        ]

    @pytest.mark.parametrize(("context", "stride"), [(1, None), (8, 0), (8, 5), (9, 5)])
    def test_refused(self, context: int, stride: int | None) -> None:
        with pytest.raises(ValueError, match="but"):
            windows(100, context, stride)

    def test_as_llama_perplexity(self) -> None:
        """``-c 512`` on 1,100 tokens: two chunks, each scoring n_ctx - n_ctx / 2 - 1 = 255."""
        passes = perplexity_windows(1_100, 512)
        assert passes == [Window(0, 512, 257), Window(512, 1_024, 769)]
        assert [window.end - window.score_from for window in passes] == [255, 255]
        assert perplexity_windows(511, 512) == []
        with pytest.raises(ValueError, match="at least 4"):
            perplexity_windows(10, 3)
