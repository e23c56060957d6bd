"""The bigram table against PyTorch's autograd, exact arithmetic and the definition of entropy."""

from __future__ import annotations

import base64
import itertools
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logitscope import bigram_file
from logitscope.bigram import MOST_SYMBOLS, BigramError, Pairs, Trainer
from logitscope.bigram_file import BigramFile, BigramFileError, Training, Unit
from logitscope.bigram_text import LONGEST_TEXT, characters, tokens

SAMPLE = "my tea, my toast, my tea, my toast, my tea"
TEXTS = st.text(st.sampled_from("ab cé🙂"), min_size=2, max_size=80)


def pairs_of(text: str) -> Pairs:
    symbols = characters(text)
    return Pairs.of(symbols.ids, len(symbols.pieces))


def trained(text: str, steps: int, rate: float | None = None) -> tuple[Trainer, list[float]]:
    pairs = pairs_of(text)
    trainer = Trainer(pairs, rate or pairs.safe_rate)
    return trainer, [trainer.step() for _ in range(steps)]


# -- training -----------------------------------------------------------------------------------


def test_a_step_is_autograds_gradient_of_torchs_cross_entropy() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    symbols = characters(SAMPLE)
    trainer, _ = trained(SAMPLE, 3, rate=5.0)
    table = torch.tensor(trainer.table, requires_grad=True)
    ids = torch.tensor(symbols.ids)
    loss = torch.nn.functional.cross_entropy(table[ids[:-1]], ids[1:])
    loss.backward()
    before = trainer.table.copy()
    assert trainer.step() == pytest.approx(loss.item(), abs=1e-12)
    assert np.abs((before - trainer.table) / 5.0 - table.grad.numpy()).max() < 1e-12


def test_the_sample_of_42_characters_falls_below_half_a_nat() -> None:
    assert len(SAMPLE) == 42
    trainer, losses = trained(SAMPLE, 300)
    assert losses[0] == pytest.approx(math.log(len(set(SAMPLE))), abs=1e-12)
    assert math.exp(trainer.loss()) < math.exp(0.5)


def test_distinct_pairs_approach_a_perplexity_of_one() -> None:
    trainer, _ = trained("the quick fox".replace("e", ""), 1)
    assert trainer.loss() > 0.1
    distinct, _ = trained("abcdefghijklmnop", 300)
    assert pairs_of("abcdefghijklmnop").best_loss == 0.0
    assert 1.0 < math.exp(distinct.loss()) < 1.01


@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_the_optimum_is_the_conditional_entropy_of_the_text(text: str) -> None:
    together, first = Counter(itertools.pairwise(text)), Counter(text[:-1])
    n = len(text) - 1
    expected = -sum(k / n * math.log(k / first[a]) for (a, _b), k in together.items())
    assert pairs_of(text).best_loss == pytest.approx(expected, abs=1e-12)


@given(text=TEXTS)
@settings(max_examples=40, deadline=None)
def test_at_the_safe_rate_the_loss_falls_towards_the_optimum_and_never_below(text: str) -> None:
    trainer, losses = trained(text, 60)
    best = pairs_of(text).best_loss
    path = [*losses, trainer.loss()]
    assert all(after <= before + 1e-12 for before, after in itertools.pairwise(path))
    assert path[-1] >= best - 1e-12


def test_a_row_whose_followers_are_even_is_learned_exactly() -> None:
    # Behind "a" come b and c, once each: 0 is the optimum of what lies between these two.
    trainer, _ = trained("abaca", 2000)
    a, b, c = 0, 1, 2
    row = np.exp(trainer.table[a])
    row /= row.sum()
    assert row[b] == pytest.approx(0.5, abs=1e-3)
    assert row[b] == pytest.approx(row[c], abs=1e-12)


def test_rows_are_worked_on_in_blocks_without_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, losses = trained(SAMPLE, 20)
    monkeypatch.setattr("logitscope.bigram._BLOCK_ENTRIES", 1)
    blocks, again = trained(SAMPLE, 20)
    assert losses == pytest.approx(again, abs=1e-12)
    assert np.abs(whole.table - blocks.table).max() < 1e-12


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_rates_that_cannot_be_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="learning rate"):
        Trainer(pairs_of("abab"), rate)


@pytest.mark.parametrize("text", ["", "a"])
def test_a_text_without_a_pair_is_refused(text: str) -> None:
    with pytest.raises(BigramError, match="longer"):
        pairs_of(text)


def test_too_many_symbols_are_refused_with_the_memory() -> None:
    with pytest.raises(BigramError, match=r"5,000 different symbols.*200 MB.*4,096"):
        Pairs.of([0, 1], 5000)
    assert Pairs.of([0, 1], MOST_SYMBOLS).total == 1


# -- symbols ------------------------------------------------------------------------------------


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@settings(max_examples=80, deadline=None)
def test_symbols_join_to_the_text(text: str) -> None:
    pieces = [text.encode()[i : i + 3] for i in range(0, len(text), 2)]
    for symbols in (characters(text), tokens(text, pieces)):
        assert b"".join(symbols.pieces[i] for i in symbols.ids) == text.encode()
        assert list(symbols.pieces) == sorted(set(symbols.pieces))
        assert set(symbols.ids.tolist()) == set(range(len(symbols.pieces)))


def test_tokens_are_the_longest_pieces_that_fit() -> None:
    symbols = tokens("the theme", [b"the", b" the", b"me", b"m"])
    assert [symbols.pieces[i] for i in symbols.ids] == [b"the", b" the", b"me"]


def test_lone_surrogates_are_replacement_characters() -> None:
    assert characters("a\ud800").pieces == (b"a", "\ufffd".encode())


def test_a_text_that_is_too_long_is_refused() -> None:
    for cut in (characters, lambda text: tokens(text, [])):
        with pytest.raises(BigramError, match="4,000,001 characters"):
            cut("x" * (LONGEST_TEXT + 1))


# -- files --------------------------------------------------------------------------------------


def example() -> BigramFile:
    logits = np.array([[0.5, -0.5], [1.25, 3.0]], dtype=np.float32)
    training = Training(42, 300, 9.5, 0.4, 0.3)
    return BigramFile("tea", Unit.TOKENS, (b"a", b"\xff\x00"), logits, training)


def test_a_file_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "tea.bigram.json"
    bigram_file.save(path, example())
    again = bigram_file.load(path)
    assert (again.name, again.unit, again.symbols) == ("tea", Unit.TOKENS, (b"a", b"\xff\x00"))
    assert again.training == example().training
    assert np.array_equal(again.logits, example().logits)
    assert [file.name for file in tmp_path.iterdir()] == ["tea.bigram.json"]


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        bigram_file.save(tmp_path / "none" / "x.bigram.json", example())


CHANGES = {
    "another format": {"format": "other"},
    "another version": {"version": 2},
    "a huge version": {"version": "9" * 1000},
    "no name": {"name": None},
    "a long name": {"name": "x" * 1000},
    "another unit": {"unit": "words"},
    "a unit that cannot be looked up": {"unit": []},
    "no symbols": {"symbols": []},
    "too many symbols": {"symbols": ["61"] * 5000},
    "symbols as a text": {"symbols": "6162"},
    "a symbol that is a number": {"symbols": ["61", 62]},
    "a symbol not in hexadecimal": {"symbols": ["61", "xy"]},
    "an empty symbol": {"symbols": ["61", ""]},
    "a symbol twice": {"symbols": ["61", "61"]},
    "a long symbol": {"symbols": ["61", "61" * 2000]},
    "more symbols than logits": {"symbols": ["61", "62", "63"]},
    "logits that are none": {"logits": 3},
    "logits not in base64": {"logits": "!!!!"},
    "logits not in ASCII": {"logits": "é"},
    "logits that are not numbers": {
        "logits": base64.b64encode(np.full(4, np.nan, dtype="<f4").tobytes()).decode()
    },
    "logits without an end": {
        "logits": base64.b64encode(np.full(4, np.inf, dtype="<f4").tobytes()).decode()
    },
    "no training": {"training": None},
    "half a training": {"training": {"steps": 1}},
    "a training without end": {
        "training": {"symbols": 1, "steps": 1, "rate": 1, "loss": math.inf, "best_loss": 1}
    },
    "a training in words": {
        "training": {"symbols": 1, "steps": "x", "rate": 1, "loss": 1, "best_loss": 1}
    },
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_wrong_is_one_sentence(change: dict[str, object]) -> None:
    whole = json.loads(bigram_file.dumps(example())) | change
    with pytest.raises(BigramFileError, match=r"^x\.json .{10,160}\.$"):
        bigram_file.loads(json.dumps(whole).encode(), "x.json")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\xfe\x00", b"[" * 100_000, b'{"format": 1}', b"null"]
)
def test_what_is_no_model_at_all_is_one_sentence(data: bytes) -> None:
    with pytest.raises(BigramFileError, match=r"^x\.json .*\.$"):
        bigram_file.loads(data, "x.json")


@given(cut=st.integers(0, 400), byte=st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_is_refused_or_gives_a_whole_model(cut: int, byte: int) -> None:
    data = bytearray(bigram_file.dumps(example()))
    data[cut % len(data)] = byte
    try:
        model = bigram_file.loads(bytes(data), "x.json")
    except BigramFileError:
        return
    assert model.logits.shape == (len(model.symbols), len(model.symbols))
    assert np.isfinite(model.logits).all()


def test_a_file_beyond_the_largest_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bigram_file, "MOST_BYTES", 100)
    with pytest.raises(BigramFileError, match="too large"):
        bigram_file.loads(b" " * 101, "x.json")
