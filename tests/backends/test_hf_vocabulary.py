"""The bytes of a tokenizer's ids: byte-level, sentencepiece-like, added tokens, others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from logitscope.backends import hf
from logitscope.backends.base import LoadOptions
from logitscope.backends.hf_vocabulary import PROOF_TEXT, byte_alphabet
from logitscope.display import token_label
from logitscope.vocabulary import TokenKind

transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
tiny_models: Any = pytest.importorskip("tiny_models")
pytestmark = pytest.mark.torch

CPU = LoadOptions(device="cpu", threads=1)


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    path: Path = tiny_models.save_folder(folder, model, tokenizer)
    return path


def test_the_byte_alphabet_is_that_of_the_tokenizers_library() -> None:
    from tokenizers import pre_tokenizers

    assert set(byte_alphabet()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(byte_alphabet().values()) == list(range(256))
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for character in ("\n", " ", "é", "天"):
        ((piece, _),) = splitter.pre_tokenize_str(character)
        assert bytes(byte_alphabet()[c] for c in piece) == character.encode()


def test_sentencepiece_like_tokenizers(
    tiny_hf_sentencepiece: Path, tiny_hf_gemma_like: Path
) -> None:
    for path, adds_space in ((tiny_hf_sentencepiece, True), (tiny_hf_gemma_like, False)):
        backend = hf.load(path, CPU)
        vocabulary = backend.vocabulary
        assert vocabulary.adds_space is adds_space
        assert backend.info.notes == ()
        ids = backend.tokenize("Ω", add_special=False, parse_special=False)[-2:]
        assert [vocabulary.bytes_of(i) for i in ids] == [b"\xce", b"\xa9"]
        assert {vocabulary.kind_of(i) for i in ids} == {TokenKind.BYTE}
        assert int((vocabulary.kinds == TokenKind.BYTE).sum()) == 256
        # The mark itself cannot be told from a space: the tokenizer loses the difference.
        marked = backend.tokenize("a▁b", add_special=False, parse_special=False)
        assert marked == backend.tokenize("a b", add_special=False, parse_special=False)
        # A written byte piece is text.
        typed = backend.tokenize("<0x41>", add_special=False, parse_special=True)
        assert vocabulary.text_bytes(typed).lstrip() == b"<0x41>"
        backend.close()


def test_added_tokens_and_rows_without_a_token(tmp_path: Path) -> None:
    tokenizer = tiny_models.byte_level_tokenizer()
    n = len(tokenizer)
    tokenizer.add_tokens(["<tool> é"])
    tokenizer.add_tokens(["<hidden>"], special_tokens=True)
    backend = hf.load(save(tmp_path / "added", tiny_models.llama(n + 5), tokenizer), CPU)
    vocabulary = backend.vocabulary
    assert vocabulary.bytes_of(n) == "<tool> é".encode()
    assert vocabulary.kind_of(n) == TokenKind.NORMAL
    assert vocabulary.bytes_of(n + 1) == b"<hidden>"
    assert vocabulary.kind_of(n + 1) == TokenKind.CONTROL
    unknown = range(n + 2, n + 5)
    assert [vocabulary.kind_of(i) for i in unknown] == [TokenKind.UNUSED] * 3
    # No file names these rows, so nothing may: the label is made from the id where it is shown.
    assert [vocabulary.bytes_of(i) for i in unknown] == [b""] * 3
    assert [token_label(vocabulary, i) for i in unknown] == [f"<id {i}>" for i in unknown]
    assert vocabulary.text_bytes([n, *unknown]) == "<tool> é".encode()
    assert b"unused" not in vocabulary.blob
    text = "x<tool> é y<hidden>z"
    ids = backend.tokenize(text, add_special=False, parse_special=False)
    assert n in ids
    assert n + 1 not in ids
    assert vocabulary.text_bytes(ids) == text.encode()
    assert n + 1 in backend.tokenize(text, add_special=False, parse_special=True)
    backend.close()


def test_a_token_without_a_row_in_the_model_is_refused_in_words(tmp_path: Path) -> None:
    tokenizer = tiny_models.byte_level_tokenizer()
    model = tiny_models.llama(len(tokenizer))
    tokenizer.add_tokens(["<late>"])
    backend = hf.load(save(tmp_path / "late", model, tokenizer), CPU)
    assert len(backend.vocabulary) == len(tokenizer) - 1
    with pytest.raises(hf.BackendError, match="<late>"):
        backend.tokenize("a <late> b", add_special=False, parse_special=False)
    backend.close()


def test_all_ends_of_a_text_are_known(tiny_hf: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_hf, tmp_path / "ends"))
    settings = folder / "generation_config.json"
    settings.write_text(json.dumps({"eos_token_id": [1, 2]}))
    backend = hf.load(folder, CPU)
    assert backend.vocabulary.end_ids == {1, 2}
    assert backend.vocabulary.eos == 1
    backend.close()


def test_truncation_and_padding_of_the_file_are_ignored(tmp_path: Path) -> None:
    tokenizer = tiny_models.byte_level_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=64, pad_id=1, pad_token="</s>")
    backend = hf.load(save(tmp_path / "cut", tiny_models.llama(1008), tokenizer), CPU)
    ids = backend.tokenize(PROOF_TEXT, add_special=False, parse_special=False)
    assert backend.vocabulary.text_bytes(ids) == PROOF_TEXT.encode()
    backend.close()


def test_a_tokenizer_that_changes_the_text_is_noted(tmp_path: Path) -> None:
    from tokenizers import normalizers

    tokenizer = tiny_models.byte_level_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    backend = hf.load(save(tmp_path / "nfc", tiny_models.llama(1008), tokenizer), CPU)
    assert any("changes the text" in note and "NFC" in note for note in backend.info.notes)
    ids = backend.tokenize("e\u0301", add_special=False, parse_special=False)
    assert backend.vocabulary.text_bytes(ids) == "é".encode()
    backend.close()


def test_a_tokenizer_without_bytes_is_noted(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[UNK]", "[BOS]"], show_progress=False
    )
    inner.train_from_iterator(["the sky is blue and the grass is green"] * 4, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")
    backend = hf.load(save(tmp_path / "words", tiny_models.llama(300), tokenizer), CPU)
    assert any("best guess" in note for note in backend.info.notes)
    ids = backend.tokenize("the sky is blue", add_special=False, parse_special=False)
    assert backend.vocabulary.text_bytes(ids).strip() == b"the sky is blue"
    backend.close()


def test_the_description_decides_and_not_the_named_class(tiny_hf: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_hf, tmp_path / "class"))
    settings = folder / "tokenizer_config.json"
    named = json.loads(settings.read_text()) | {"tokenizer_class": "LlamaTokenizer"}
    settings.write_text(json.dumps(named))
    backend = hf.load(folder, CPU)
    expected = tiny_models.byte_level_tokenizer().encode(PROOF_TEXT)
    assert backend.tokenize(PROOF_TEXT, add_special=True, parse_special=False) == expected
    backend.close()


def test_a_folder_with_vocab_and_merges_instead(tiny_hf: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_hf, tmp_path / "old"))
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n")
    names = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names | {"unk_token": "</s>"}))
    backend = hf.load(folder, CPU)
    ids = backend.tokenize(PROOF_TEXT, add_special=False, parse_special=False)
    expected = tiny_models.byte_level_tokenizer().encode(PROOF_TEXT, add_special_tokens=False)
    assert ids == expected
    assert backend.vocabulary.text_bytes(ids) == PROOF_TEXT.encode()
    backend.close()
