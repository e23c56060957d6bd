"""The bigram backend beside the contract: its rows, what it refuses, where it is found."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from logitscope import bigram_file
from logitscope.backends import bigram, library
from logitscope.backends.base import BackendError, LoadOptions, ModelFileError
from logitscope.backends.inspect import context_for, estimate_memory, inspect
from logitscope.backends.registry import choose, open_backend
from logitscope.bigram import Pairs, Trainer
from logitscope.bigram_file import BigramFile, Training, Unit
from logitscope.bigram_text import Symbols, characters, tokens
from logitscope.distribution import log_softmax, softmax

TEXT = "my tea, my toast, my tea, my toast, my tea"


def save(folder: Path, symbols: Symbols, unit: Unit) -> tuple[Path, float]:
    pairs = Pairs.of(symbols.ids, len(symbols.pieces))
    trainer = Trainer(pairs, pairs.safe_rate)
    for _ in range(300):
        trainer.step()
    path = folder / "tea.bigram.json"
    table = trainer.table.astype(np.float32)
    bigram_file.save(path, BigramFile("Tea", unit, symbols.pieces, table, Training()))
    return path, trainer.loss()


@pytest.mark.parametrize("unit", list(Unit))
def test_a_text_costs_in_the_window_what_it_cost_in_training(tmp_path: Path, unit: Unit) -> None:
    pieces = [b"my", b" tea", b", ", b"toast"]
    symbols = characters(TEXT) if unit is Unit.CHARACTERS else tokens(TEXT, pieces)
    path, trained = save(tmp_path, symbols, unit)
    backend = open_backend("", str(path), LoadOptions())
    ids = backend.tokenize(TEXT, add_special=True, parse_special=False)
    rows = np.concatenate(list(backend.score(ids, 2, len(ids))))
    losses = [-log_softmax(row)[i] for row, i in zip(rows, ids[2:], strict=True)]
    assert len(losses) == len(symbols.ids) - 1
    # Marks and bytes share less than 1e-6, and the file's logits are float32.
    assert float(np.mean(losses)) == pytest.approx(trained, abs=2e-6)


def test_what_has_no_row_says_nothing(tmp_path: Path) -> None:
    path, _ = save(tmp_path, characters(TEXT), Unit.CHARACTERS)
    backend = bigram.load(path, LoadOptions())
    start, unknown = backend.tokenize("Z", add_special=True, parse_special=False)
    n_symbols = len(set(TEXT))
    for last in (start, unknown):
        probabilities = softmax(backend.next_logits([last]))
        assert probabilities[-n_symbols:] == pytest.approx(1 / n_symbols, abs=1e-6)
        assert probabilities[:-n_symbols].sum() < 1e-6


def test_only_the_last_id_matters(tmp_path: Path) -> None:
    path, _ = save(tmp_path, characters(TEXT), Unit.CHARACTERS)
    backend = bigram.load(path, LoadOptions())
    long = backend.tokenize("toast, my t", add_special=True, parse_special=False)
    assert np.array_equal(backend.next_logits(long), backend.next_logits(long[-1:]))
    assert (backend.last_pass.cached, backend.last_pass.evaluated) == (0, 1)
    assert (backend.info.trained_context_length, backend.info.kv_bytes_per_token) == (1, 0)
    backend.close()
    with pytest.raises(BackendError, match="open it again"):
        backend.next_logits(long)


def test_it_is_told_by_its_name(tmp_path: Path) -> None:
    path, _ = save(tmp_path, characters(TEXT), Unit.CHARACTERS)
    assert choose(str(path)) == "bigram"
    with pytest.raises(ModelFileError, match="There is no file"):
        choose(str(tmp_path / "none.bigram.json"))


@pytest.mark.parametrize("data", [b"", b"{}", b"GGUF", b'{"format": "logitscope-bigram"}'])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.bigram.json"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"^bad\.bigram\.json .*\.$"):
        open_backend("", str(path), LoadOptions())
    folder = tmp_path / "folder.bigram.json"
    folder.mkdir()
    with pytest.raises(ModelFileError, match="cannot be read"):
        open_backend("bigram", str(folder), LoadOptions())


def test_inspection_tells_what_is_in_it(tmp_path: Path) -> None:
    path, _ = save(tmp_path, characters(TEXT), Unit.CHARACTERS)
    summary = inspect(path, seconds=60)
    n_symbols = len(set(TEXT))
    assert (summary.name, summary.format, summary.refusal) == ("Tea", "Bigram 1", "")
    assert summary.parameters == n_symbols**2
    assert summary.weight_bytes == 4 * n_symbols**2
    assert summary.n_vocab == n_symbols + 258
    assert summary.header_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    estimate = estimate_memory(summary, context_for(summary))
    assert estimate.kv_cache == 0
    assert estimate.total < 128 << 20


def test_it_is_found_where_it_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_args, **_named: tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = library.own_models()
    folder.mkdir(parents=True)
    path, _ = save(folder, characters(TEXT), Unit.CHARACTERS)
    found = [entry for entry in library.find_models() if entry.path == path]
    assert [(entry.title, entry.source) for entry in found] == [("tea", "Logitscope")]
    assert found[0].bytes == path.stat().st_size


def test_the_largest_table_is_read_in_bounded_rows(tmp_path: Path) -> None:
    path, _ = save(tmp_path, characters(TEXT), Unit.CHARACTERS)
    backend = bigram.load(path, LoadOptions(score_budget_bytes=3 * 4 * (258 + len(set(TEXT)))))
    ids = backend.tokenize(TEXT, add_special=False, parse_special=False)
    sizes = [len(rows) for rows in backend.score(ids, 1, len(ids) + 1)]
    assert max(sizes) == 3
    assert len(sizes) == math.ceil(len(ids) / 3)
