"""The kept sets and probabilities are those of transformers and of llama.cpp."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from library_chains import Outcome, llamacpp_chain, transformers_chain
from logit_rows import rows

from logitscope.sampling import (
    LLAMACPP_ORDER,
    TRANSFORMERS_ORDER,
    SamplerSettings,
    Shaped,
    Stage,
    TieRule,
    shape,
)


def needs(library: str, extra: str) -> pytest.MarkDecorator:
    """Skip where a library is not installed."""
    missing = find_spec(library) is None
    return pytest.mark.skipif(missing, reason=f"the extra `{extra}` is not installed")


SHARES = st.one_of(st.floats(0.01, 0.99), st.sampled_from([0.5, 0.9, 0.95]))
HISTORIES = st.lists(st.integers(0, 30), max_size=20)


def chains(order: st.SearchStrategy, rule: TieRule, **fixed) -> st.SearchStrategy[SamplerSettings]:
    """Settings with any of the truncating stages switched on."""
    return st.builds(
        SamplerSettings,
        temperature=st.sampled_from([0.1, 0.7, 1.0, 1.5, 5.0]),
        top_k=st.integers(0, 40),
        top_p=st.one_of(st.just(1.0), SHARES),
        min_p=st.one_of(st.just(0.0), SHARES),
        order=order,
        tie_rule=st.just(rule),
        penalty_last_n=st.just(-1),
        **fixed,
    )


TYPICAL = {"typical_p": st.one_of(st.just(1.0), SHARES)}
ANY_ORDER = st.permutations(list(Stage)).map(tuple)


def assert_equal(shaped: Shaped, outcome: Outcome, row: np.ndarray, tolerance: float) -> None:
    """Same number of tokens, same logits among them, same probabilities.

    Which of several tokens with one logit a cut keeps is not defined by either library, so ids
    are compared where a logit's tokens are all kept, and by the project's rule elsewhere.
    """
    assert shaped.kept == len(outcome.ids)
    theirs = np.exp(outcome.logits - outcome.logits.max())
    theirs = np.sort(theirs / theirs.sum())[::-1]
    np.testing.assert_allclose(shaped.probabilities, theirs, rtol=tolerance, atol=1e-12)
    np.testing.assert_array_equal(np.sort(row[shaped.ids]), np.sort(row[outcome.ids]))
    for value in np.unique(row[shaped.ids]):
        tied = np.flatnonzero(row == value)
        ours = np.sort(shaped.ids[row[shaped.ids] == value])
        np.testing.assert_array_equal(ours, tied[: len(ours)])


@pytest.mark.torch
@needs("transformers", "torch")
class TestTransformers:
    @settings(max_examples=300, deadline=None)
    @given(rows(), chains(ANY_ORDER, TieRule.ALL, **TYPICAL))
    def test_any_order(self, row: np.ndarray, chain: SamplerSettings) -> None:
        outcome = transformers_chain(row, chain, [])
        assume(outcome.margin > 1e-9)
        assert_equal(shape(row, chain, []), outcome, row, 1e-9)

    @settings(max_examples=300, deadline=None)
    @given(
        rows(largest=20.0),
        chains(
            st.just(TRANSFORMERS_ORDER),
            TieRule.ALL,
            repetition_penalty=st.floats(0.5, 2.0),
            **TYPICAL,
        ),
        HISTORIES,
    )
    def test_repetition_penalty_in_its_order(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int]
    ) -> None:
        history = [token_id for token_id in history if token_id < len(row)] or [0]
        outcome = transformers_chain(row, chain, history)
        assume(outcome.margin > 1e-4)
        shaped = shape(row, chain, history)
        assert shaped.kept == len(outcome.ids)
        weights = np.exp(outcome.logits - outcome.logits.max())
        ours = np.sort([shaped.probability_of(int(token_id)) for token_id in shaped.ids])
        # Penalised logits are rounded to float32, as both libraries do with a float32 row.
        np.testing.assert_allclose(ours, np.sort(weights / weights.sum()), rtol=1e-4, atol=1e-12)

    def test_preset_is_the_order_of_the_library(self) -> None:
        """Ask transformers itself which processors it builds, and in which order."""
        from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=8,
                hidden_size=8,
                intermediate_size=8,
                num_hidden_layers=1,
                num_attention_heads=1,
            )
        )
        config = GenerationConfig(
            do_sample=True,
            repetition_penalty=1.1,
            temperature=0.7,
            top_k=5,
            top_p=0.9,
            min_p=0.1,
            typical_p=0.9,
        )
        processors = model._get_logits_processor(config, input_ids_seq_length=1)
        names = [type(processor).__name__ for processor in processors]
        stages = {
            "RepetitionPenaltyLogitsProcessor": Stage.PENALTIES,
            "TemperatureLogitsWarper": Stage.TEMPERATURE,
            "TopKLogitsWarper": Stage.TOP_K,
            "TopPLogitsWarper": Stage.TOP_P,
            "MinPLogitsWarper": Stage.MIN_P,
            "TypicalLogitsWarper": Stage.TYPICAL,
        }
        assert tuple(stages[name] for name in names) == TRANSFORMERS_ORDER


@pytest.mark.llama
@needs("llama_cpp", "llama")
class TestLlamaCpp:
    @settings(max_examples=200, deadline=None)
    @given(rows(largest=2.0**120), chains(ANY_ORDER, TieRule.LOWEST_ID))
    def test_any_order_without_typical(self, row: np.ndarray, chain: SamplerSettings) -> None:
        outcome = llamacpp_chain(row, chain, [])
        assume(outcome.margin > 1e-4)
        assert_equal(shape(row, chain, []), outcome, row, 2e-4)

    @settings(max_examples=200, deadline=None)
    @given(rows(largest=20.0, impossible=False), chains(ANY_ORDER, TieRule.LOWEST_ID, **TYPICAL))
    def test_any_order_with_typical(self, row: np.ndarray, chain: SamplerSettings) -> None:
        """Finite rows: llama.cpp's entropy is NaN as soon as one probability is 0."""
        assume(chain.temperature >= 0.7)
        outcome = llamacpp_chain(row, chain, [])
        assume(outcome.margin > 1e-4)
        assert_equal(shape(row, chain, []), outcome, row, 2e-4)

    @settings(max_examples=300, deadline=None)
    @given(
        rows(largest=20.0, impossible=False),
        chains(
            st.just(LLAMACPP_ORDER),
            TieRule.LOWEST_ID,
            repetition_penalty=st.floats(0.5, 2.0, width=32),
            frequency_penalty=st.floats(-2.0, 2.0, width=32),
            presence_penalty=st.floats(-2.0, 2.0, width=32),
        ),
        HISTORIES,
        st.integers(1, 8),
    )
    def test_penalties(
        self, row: np.ndarray, chain: SamplerSettings, history: list[int], last_n: int
    ) -> None:
        chain = replace(chain, penalty_last_n=last_n)
        history = [token_id for token_id in history if token_id < len(row)]
        outcome = llamacpp_chain(row, chain, history)
        assume(outcome.margin > 1e-4)
        shaped = shape(row, chain, history)
        assert shaped.kept == len(outcome.ids)
        weights = np.exp(outcome.logits - outcome.logits.max())
        ours = np.sort([shaped.probability_of(int(token_id)) for token_id in shaped.ids])
        np.testing.assert_allclose(ours, np.sort(weights / weights.sum()), rtol=1e-3, atol=1e-9)

    @given(rows(largest=20.0), st.integers(0, 3))
    def test_temperature_0_is_greedy(self, row: np.ndarray, top_k: int) -> None:
        chain = SamplerSettings(temperature=0.0, top_k=top_k)
        outcome = llamacpp_chain(row, chain, [])
        shaped = shape(row, chain, [])
        assert row[outcome.ids].tolist() == row[shaped.ids].tolist()
        assert shaped.ids.tolist() == [int(np.argmax(row))]
