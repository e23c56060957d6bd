"""What is particular to the backend on transformers."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from logitscope.backends import hf, hf_load
from logitscope.backends.base import (
    Backend,
    Cancelled,
    ChatMessage,
    ContextOverflow,
    LoadOptions,
    Watch,
)
from logitscope.backends.hf_describe import choose_context
from logitscope.backends.hf_files import inspect_folder
from logitscope.backends.hf_vocabulary import PROOF_TEXT

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


def test_bfloat16_rows_are_handed_over_as_float32(tiny_hf: Path) -> None:
    libraries = hf_load.import_libraries()
    parts = hf_load.load_parts(libraries, inspect_folder(tiny_hf), CPU, Watch())
    model = parts.model.to(torch.bfloat16)
    half = hf.HfBackend(torch, replace(parts, model=model), CPU)
    ids = list(range(3, 60))
    with torch.inference_mode():
        expected = model(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()
    rows = np.concatenate([chunk.copy() for chunk in half.score(ids, 1, len(ids) + 1)])
    assert rows.dtype == np.float32
    # Eight bits of mantissa: some steps of 1/32 where logits reach 8.
    assert np.abs(rows - expected).max() < 0.25
    assert half.info.kv_bytes_per_token == 2 * 2 * 4 * 16 * 2
    assert half.info.quantization == "bfloat16"
    assert any("steps of 0.125" in note for note in half.info.notes)
    half.close()


def test_a_model_that_also_sees_reads_text_alone(tmp_path: Path) -> None:
    text = {"vocab_size": 1008, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None}
    eye = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = transformers.Gemma3Config(
        text_config=text | heads | ends | {"sliding_window": 8, "max_position_embeddings": 64},
        vision_config=eye | {"num_attention_heads": 2, "image_size": 32, "patch_size": 16},
        mm_tokens_per_image=4,
        image_token_index=1000,
    )
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    backend = hf.load(save(tmp_path / "sees", model), CPU)
    ids = list(range(3, 40))
    expected = own_rows(model, ids)
    for length in (37, 20):
        assert np.abs(backend.next_logits(ids[:length]) - expected[length - 1]).max() < 1e-5
    assert backend.info.trained_context_length == 64
    # 2 layers x keys and values x 2 heads x 8 entries x 4 bytes.
    assert backend.info.kv_bytes_per_token == 2 * 2 * 2 * 8 * 4
    backend.close()


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
    length, notes = choose_context(32_768, None, kv_bytes=1e6, free=10_000_000_000)
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
    assert unpacked.info.notes == ()
    unpacked.close()


LOAD_IN_A_PROCESS_OF_ITS_OWN = """
import sys
from pathlib import Path
from logitscope.backends import hf
from logitscope.backends.base import LoadOptions
hf.load(Path(sys.argv[1]), LoadOptions(device="cpu", threads=1)).close()
"""


@pytest.mark.parametrize("name", ["tiny_hf", "tiny_gguf"])
def test_a_fresh_process_prints_nothing(request: pytest.FixtureRequest, name: str) -> None:
    pytest.importorskip("accelerate")
    path = request.getfixturevalue(name)
    result = subprocess.run(
        [sys.executable, "-c", LOAD_IN_A_PROCESS_OF_ITS_OWN, str(path)],
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_the_models_own_chat_template(backend: Backend, tiny_hf: Path) -> None:
    messages = [ChatMessage("system", "Be brief."), ChatMessage("user", "Why is the sky blue?")]
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tiny_hf)
    plain = [{"role": m.role, "content": m.content} for m in messages]
    for prompt in (True, False):
        expected = tokenizer.apply_chat_template(
            plain, tokenize=False, add_generation_prompt=prompt
        )
        assert backend.render_chat(messages, add_generation_prompt=prompt) == expected


@pytest.mark.parametrize(
    ("cuda", "mps", "device"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_a_gpu_is_taken_before_the_cpu_and_cuda_before_mps(
    cuda: bool, mps: bool, device: str
) -> None:
    torch = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )
    assert hf_load.choose_device(torch, None) == device
    assert hf_load.choose_device(torch, "cpu") == "cpu"
