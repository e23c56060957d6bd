"""What is particular to the backend on transformers."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.backends import hf
from logitscope.backends.base import (
    Backend,
    Cancelled,
    ChatMessage,
    ContextOverflow,
    LoadOptions,
    Watch,
)
from logitscope.backends.hf_vocabulary import PROOF_TEXT, byte_alphabet
from logitscope.vocabulary import TokenKind

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
tiny_models: Any = pytest.importorskip("tiny_models")
pytestmark = pytest.mark.torch

CPU = LoadOptions(device="cpu", threads=1)


@pytest.fixture(scope="module")
def backend(tiny_hf: Path) -> Iterator[Backend]:
    opened = hf.load(tiny_hf, CPU)
    yield opened
    opened.close()


def own_rows(model: Any, ids: Sequence[int]) -> np.ndarray:
    """What transformers itself answers for all positions, shape (len(ids), V)."""
    with torch.inference_mode():
        rows: np.ndarray = model(torch.tensor([list(ids)]), use_cache=False).logits[0].numpy()
    return rows


def save(folder: Path, model: Any, tokenizer: Any = None) -> Path:
    path: Path = tiny_models.save_folder(
        folder, model, tokenizer or tiny_models.byte_level_tokenizer()
    )
    return path


def small(family: str, **changes: Any) -> Any:
    """A random model of a family that fits the byte-level tokenizer."""
    settings = {
        "vocab_size": 1008,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": None,
    }
    config = transformers.AutoConfig.for_model(family, **(settings | changes))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


# -- rows ---------------------------------------------------------------------------------------


def test_rows_equal_those_of_transformers(backend: Backend, tiny_hf: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_hf, local_files_only=True)
    ids = backend.tokenize(PROOF_TEXT, add_special=True, parse_special=False)
    expected = own_rows(model, ids)
    assert np.abs(backend.next_logits(ids) - expected[-1]).max() < 1e-5
    rows = np.concatenate([chunk.copy() for chunk in backend.score(ids, 1, len(ids) + 1)])
    assert np.abs(rows - expected).max() < 1e-5


def test_shards_give_the_same_model(backend: Backend, tiny_hf_sharded: Path) -> None:
    assert len(list(tiny_hf_sharded.glob("model-*.safetensors"))) > 2
    sharded = hf.load(tiny_hf_sharded, CPU)
    ids = list(range(3, 60))
    assert np.abs(sharded.next_logits(ids) - backend.next_logits(ids)).max() < 1e-5
    assert sharded.info.parameters == backend.info.parameters
    sharded.close()


@pytest.mark.parametrize("family", ["gemma3_text", "mistral"])
def test_sliding_windows_can_be_cut_at_any_place(tmp_path: Path, family: str) -> None:
    layers = {"layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8}
    model = small(family, sliding_window=8, **(layers if family == "gemma3_text" else {}))
    backend = hf.load(save(tmp_path / family, model), CPU)
    ids = np.random.default_rng(0).integers(3, 700, size=50).tolist()
    expected = own_rows(model, ids)
    backend.next_logits(ids)
    for length in (30, 9, 50, 8, 41):
        row = backend.next_logits(ids[:length])
        assert np.abs(row - expected[length - 1]).max() < 1e-4
        assert backend.last_pass.cached >= min(length - 1, 8)
    assert backend.info.capabilities.prefix_reuse
    backend.close()


def test_a_recurrent_model_starts_anew_where_it_cannot_be_cut(tmp_path: Path) -> None:
    model = small("mamba", state_size=4, num_attention_heads=4)
    backend = hf.load(save(tmp_path / "mamba", model), CPU)
    assert not backend.info.capabilities.prefix_reuse
    ids = np.random.default_rng(0).integers(3, 700, size=40).tolist()
    expected = own_rows(model, ids)
    for length, cached in ((30, 0), (31, 30), (31, 31), (35, 31), (20, 0)):
        row = backend.next_logits(ids[:length])
        assert np.abs(row - expected[length - 1]).max() < 1e-4
        assert (backend.last_pass.cached, backend.last_pass.evaluated) == (cached, length - cached)
    looks = iter([False, False, True])
    with pytest.raises(Cancelled):
        backend.next_logits(ids, Watch(is_cancelled=lambda: next(looks)))
    assert np.abs(backend.next_logits(ids) - expected[-1]).max() < 1e-4
    backend.close()


def test_asking_again_costs_nothing(backend: Backend) -> None:
    ids = list(range(10, 50))
    first = backend.next_logits(ids)
    again = backend.next_logits(ids)
    assert np.array_equal(first, again)
    assert backend.last_pass.evaluated == 0
    again += 1
    assert np.array_equal(backend.next_logits(ids), first)


def test_a_stop_works_inside_one_pass(backend: Backend, tiny_hf: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_hf, local_files_only=True)
    ids = np.random.default_rng(3).integers(3, 700, size=120).tolist()
    backend.next_logits(ids[:50])
    # Looks: once before the pass, then in front of the first and the second layer.
    looks = iter([False, False, True])
    with pytest.raises(Cancelled):
        backend.next_logits(ids, Watch(is_cancelled=lambda: next(looks)))
    assert list(looks) == []
    row = backend.next_logits(ids[:60])
    assert (backend.last_pass.cached, backend.last_pass.evaluated) == (50, 10)
    assert np.abs(row - own_rows(model, ids[:60])[-1]).max() < 1e-5


# -- loading ------------------------------------------------------------------------------------


def test_nothing_reaches_for_the_network(tiny_hf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def refuse(*arguments: Any, **_: Any) -> None:
        tried.append(arguments)
        raise OSError("the network is switched off in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    loaded = hf.load(tiny_hf, CPU)
    ids = loaded.tokenize("The sky is", add_special=True, parse_special=False)
    loaded.next_logits(ids)
    loaded.close()
    assert tried == []


def test_loading_prints_nothing(tiny_hf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hf.load(tiny_hf, CPU).close()
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_progress_rises_to_the_end_and_a_stop_is_heard(tiny_hf: Path) -> None:
    seen: list[tuple[int, int]] = []
    hf.load(tiny_hf, CPU, Watch(report=lambda done, total: seen.append((done, total)))).close()
    assert {total for _, total in seen} == {1000}
    done = [n for n, _ in seen]
    assert done == sorted(done)
    assert done[-1] == 1000
    assert len(set(done)) > 10

    def stop_amid_the_weights() -> bool:
        return reached[-1:] > [400]

    reached: list[int] = []
    watch = Watch(stop_amid_the_weights, report=lambda done, _: reached.append(done))
    with pytest.raises(Cancelled):
        hf.load(tiny_hf, CPU, watch)
    assert reached[-1] < 950


def test_info_tells_the_truth(backend: Backend, tiny_hf: Path) -> None:
    info = backend.info
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_hf, local_files_only=True)
    assert info.parameters == model.num_parameters()
    assert info.weight_bytes == 4 * model.num_parameters()
    # 2 layers x keys and values x 4 heads x 16 entries x 4 bytes.
    assert info.kv_bytes_per_token == 2 * 2 * 4 * 16 * 4
    assert info.architecture == "llama"
    assert info.quantization == "float32"
    assert info.context_length == info.trained_context_length == 256
    assert info.n_vocab == 1008
    assert info.device == "CPU, 1 thread"
    assert info.has_chat_template
    assert info.tied_embeddings is False
    assert info.name == "tiny-llama"


def test_tied_embeddings_are_counted_once(tmp_path: Path) -> None:
    model = tiny_models.llama(1008, tie_word_embeddings=True)
    backend = hf.load(save(tmp_path / "tied", model), CPU)
    assert backend.info.tied_embeddings is True
    # The untied one has 223,552; a table of 1,008 x 64 is saved.
    assert backend.info.parameters == 223_552 - 1008 * 64
    backend.close()


def test_learned_positions_are_a_hard_limit(tmp_path: Path) -> None:
    model = small("gpt2", n_embd=32, n_layer=2, n_head=4, max_position_embeddings=48)
    folder = save(tmp_path / "gpt2", model)
    backend = hf.load(folder, LoadOptions(device="cpu", threads=1, context_length=1000))
    assert backend.info.context_length == backend.info.trained_context_length == 48
    assert any("48 positions" in note for note in backend.info.notes)
    ids = list(range(3, 52))
    assert np.abs(backend.next_logits(ids[:48]) - own_rows(model, ids[:48])[-1]).max() < 1e-4
    with pytest.raises(ContextOverflow, match=r"49 tokens.* 48"):
        backend.next_logits(ids)
    backend.close()


def test_the_context_can_be_chosen_shorter(tiny_hf: Path) -> None:
    backend = hf.load(tiny_hf, LoadOptions(device="cpu", threads=1, context_length=20))
    assert (backend.info.context_length, backend.info.trained_context_length) == (20, 256)
    with pytest.raises(ContextOverflow):
        backend.next_logits(list(range(21)))
    backend.close()


def test_the_context_is_cut_where_its_cache_would_not_fit() -> None:
    length, notes = hf.choose_context(32_768, None, kv_bytes=1e6, free=10_000_000_000)
    assert length == 8_000
    assert "8000" in notes[0]


def test_the_header_hash_knows_the_headers_and_not_the_weights(
    tiny_hf: Path, tmp_path: Path, backend: Backend
) -> None:
    folder = Path(shutil.copytree(tiny_hf, tmp_path / "copy"))
    weights = folder / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    changed = hf.load(folder, CPU)
    assert changed.info.header_hash == backend.info.header_hash
    config = folder / "config.json"
    config.write_text(config.read_text() + "\n")
    again = hf.load(folder, CPU)
    assert again.info.header_hash != backend.info.header_hash
    changed.close()
    again.close()


def test_weights_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    model = tiny_models.llama(1008)
    model.lm_head.weight.data[5, 5] = float("nan")
    folder = save(tmp_path / "nan", model)
    with pytest.raises(hf.ModelFileError, match="not finite"):
        hf.load(folder, CPU)


def test_gguf_through_transformers_is_the_same_model(backend: Backend, tiny_gguf: Path) -> None:
    pytest.importorskip("accelerate")
    unpacked = hf.load(tiny_gguf, CPU)
    ids = backend.tokenize(PROOF_TEXT, add_special=True, parse_special=False)
    assert unpacked.tokenize(PROOF_TEXT, add_special=True, parse_special=False) == ids
    assert np.abs(unpacked.next_logits(ids) - backend.next_logits(ids)).max() < 1e-4
    assert unpacked.vocabulary.text_bytes(ids) == PROOF_TEXT.encode()
    unpacked.close()


# -- vocabulary ---------------------------------------------------------------------------------


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
    assert [vocabulary.kind_of(i) for i in range(n + 2, n + 5)] == [TokenKind.UNUSED] * 3
    assert vocabulary.bytes_of(n + 2) == f"<unused {n + 2}>".encode()
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


def test_the_models_own_chat_template(backend: Backend, tiny_hf: Path) -> None:
    messages = [ChatMessage("system", "Be brief."), ChatMessage("user", "Why is the sky blue?")]
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tiny_hf)
    plain = [{"role": m.role, "content": m.content} for m in messages]
    for prompt in (True, False):
        expected = tokenizer.apply_chat_template(
            plain, tokenize=False, add_generation_prompt=prompt
        )
        assert backend.render_chat(messages, add_generation_prompt=prompt) == expected
