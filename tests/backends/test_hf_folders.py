"""Folders that are no model, damaged, or not allowed: one clear sentence for each."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logitscope.backends import hf, hf_load
from logitscope.backends.base import BackendError, LoadOptions, ModelFileError, NotEnoughMemory
from logitscope.backends.hf_files import inspect_folder

pytest.importorskip("transformers", reason="the extra `torch` is not installed")
pytestmark = pytest.mark.torch

CPU = LoadOptions(device="cpu", threads=1)


class Touch:
    """A pickle that writes a file when it is opened."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def edit(path: Path, **changes: Any) -> None:
    """Change keys of a JSON file; None removes one."""
    value = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in value.items() if v is not None}))


def cut(path: Path, kept: float) -> None:
    size = path.stat().st_size
    os.truncate(path, int(size * kept))


def lie_about_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(struct.pack("<Q", 1 << 63))


def drop_tensor(path: Path, name: str) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    del tensors[name]
    save_file(tensors, path, metadata={"format": "pt"})


def other_shape(path: Path, name: str) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    tensors[name] = tensors[name][:-1].contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def spoil(path: Path, **changes: Any) -> None:
    """Rewrite the header's first tensor entry with contradictions."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    name = next(key for key in header if key != "__metadata__")
    header[name] |= changes
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + raw[8 + length :])


def only_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(folder / "ran")))


Damage = Callable[[Path], object]
WEIGHTS = "model.safetensors"

CASES: dict[str, tuple[Damage, str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), r"no config\.json"),
    "broken config": (
        lambda f: (f / "config.json").write_text('{"model_type": "llama",\n  oops'),
        r"config\.json .*not valid JSON \(line 2, column 3\)",
    ),
    "config is a list": (lambda f: (f / "config.json").write_text("[]"), r"JSON object"),
    "config in Latin-1": (
        lambda f: (f / "config.json").write_bytes(b'{"model_type": "\xe9"}'),
        r"config\.json .*not valid JSON",
    ),
    "config too deep": (
        lambda f: (f / "config.json").write_text("[" * 100_000),
        r"config\.json .*not valid JSON",
    ),
    "no model type": (lambda f: edit(f / "config.json", model_type=None), r"model_type"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), r"no tokenizer"),
    "broken tokenizer": (
        lambda f: (f / "tokenizer.json").write_text("{"),
        r"tokenizer\.json .*not valid JSON",
    ),
    "empty tokenizer": (lambda f: (f / "tokenizer.json").write_text("{}"), r"tokenizer .*cannot"),
    "broken tokenizer settings": (
        lambda f: (f / "tokenizer_config.json").write_text("{]"),
        r"tokenizer_config\.json .*not valid JSON",
    ),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), r"no weights \(model\.safetensors\)"),
    "only pickle": (only_pickle, r"pickle files .*convert them to safetensors"),
    "empty weights": (
        lambda f: (f / WEIGHTS).write_bytes(b""),
        r"damaged or cut off in its header",
    ),
    "weights cut in the header": (lambda f: os.truncate(f / WEIGHTS, 100), r"in its header"),
    "weights cut": (lambda f: cut(f / WEIGHTS, 0.6), r"model\.safetensors .*cut off"),
    "weights too long": (
        lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes() + b"x" * 9),
        r"longer than its header says",
    ),
    "header of 2^63 bytes": (lambda f: lie_about_header(f / WEIGHTS), r"in its header"),
    "random weights": (lambda f: (f / WEIGHTS).write_bytes(os.urandom(5000)), r"download"),
    "shape contradicts size": (lambda f: spoil(f / WEIGHTS, shape=[1 << 40, 3]), r"damaged header"),
    "negative shape": (lambda f: spoil(f / WEIGHTS, shape=[-1, -1]), r"damaged header"),
    "negative offset": (lambda f: spoil(f / WEIGHTS, data_offsets=[-8, 10]), r"damaged header"),
    "offsets of words": (lambda f: spoil(f / WEIGHTS, data_offsets="ab"), r"damaged header"),
    "a tensor is missing": (
        lambda f: drop_tensor(f / WEIGHTS, "lm_head.weight"),
        r"lack lm_head\.weight",
    ),
    "a tensor of another shape": (
        lambda f: other_shape(f / WEIGHTS, "model.norm.weight"),
        r"cannot load the weights",
    ),
    "unknown architecture": (
        lambda f: edit(f / "config.json", model_type="snake9000"),
        r"does not know the architecture snake9000",
    ),
    "remote code": (
        lambda f: edit(
            f / "config.json",
            model_type="snake9000",
            auto_map={"AutoModelForCausalLM": "modeling_snake.Snake"},
        ),
        r"Python code .*does not execute",
    ),
    "sentence transformer": (lambda f: (f / "modules.json").write_text("[]"), r"embedding model"),
    "encoder only": (
        lambda f: edit(f / "config.json", model_type="bert", architectures=["BertForMaskedLM"]),
        r"BertForMaskedLM.* not a causal language model",
    ),
    "base model without head": (
        lambda f: edit(f / "config.json", architectures=["LlamaModel"]),
        r"LlamaModel.* not a causal language model",
    ),
    "encoder-decoder": (
        lambda f: edit(
            f / "config.json", model_type="t5", architectures=["T5ForConditionalGeneration"]
        ),
        r"encoder-decoder",
    ),
    "a million layers": (
        lambda f: edit(f / "config.json", num_hidden_layers=10**6),
        r"1000000 layers, but .* tensors",
    ),
    "fewer layers in the files": (
        lambda f: edit(f / "config.json", num_hidden_layers=3),
        r"lack model\.layers\.2",
    ),
    "nonsense in the configuration": (
        lambda f: edit(f / "config.json", hidden_size="wide"),
        r"cannot read config\.json",
    ),
    "only an adapter": (
        lambda f: (f / "config.json").rename(f / "adapter_config.json"),
        r"adapter \(LoRA\)",
    ),
}


@pytest.fixture
def folder(tiny_hf: Path, tmp_path: Path) -> Path:
    """A copy of the small model that a test may damage; the path has spaces and an emoji."""
    return Path(shutil.copytree(tiny_hf, tmp_path / "my model 🌈 ñ"))


@pytest.mark.parametrize(("damage", "sentence"), CASES.values(), ids=CASES.keys())
def test_one_sentence_says_what_is_wrong(folder: Path, damage: Damage, sentence: str) -> None:
    damage(folder)
    with pytest.raises(ModelFileError) as caught:
        hf.load(folder, CPU)
    text = str(caught.value)
    assert re.search(sentence, text), text
    assert "\n" not in text
    assert "Traceback" not in text
    assert folder.name in text
    assert text.endswith(".")
    assert not (folder / "ran").exists()


def test_the_undamaged_copy_loads(folder: Path) -> None:
    backend = hf.load(folder, CPU)
    assert backend.info.name == folder.name
    backend.close()


def test_pickle_beside_safetensors_is_never_opened(folder: Path) -> None:
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        (folder / name).write_bytes(pickle.dumps(Touch(folder / "ran")))
    hf.load(folder, CPU).close()
    assert not (folder / "ran").exists()


def test_code_beside_a_known_architecture_is_never_run(folder: Path) -> None:
    program = f"open({str(folder / 'ran')!r}, 'w')\n"
    (folder / "modeling_evil.py").write_text(program)
    (folder / "tokenization_evil.py").write_text(program)
    edit(folder / "config.json", auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})
    edit(
        folder / "tokenizer_config.json",
        auto_map={"AutoTokenizer": [None, "tokenization_evil.Evil"]},
    )
    hf.load(folder, CPU).close()
    assert not (folder / "ran").exists()


def test_the_missing_shard_is_named(tiny_hf_sharded: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_hf_sharded, tmp_path / "sharded"))
    shard = sorted(folder.glob("model-*.safetensors"))[1]
    shard.unlink()
    with pytest.raises(ModelFileError, match=f"{shard.name} is missing"):
        hf.load(folder, CPU)


def test_an_index_that_leads_out_of_the_folder_is_refused(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder.parent / "outside.safetensors")
    index = {"weight_map": {"model.norm.weight": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match="weight_map"):
        hf.load(folder, CPU)


def test_what_is_no_folder(tiny_hf: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not a folder"):
        hf.load(tiny_hf / WEIGHTS, CPU)
    with pytest.raises(ModelFileError, match="There is nothing at"):
        hf.load(tmp_path / "nowhere", CPU)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
def test_a_pipe_in_a_folder_is_refused_without_waiting(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        hf.load(folder, CPU)


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "generation_config.json",
        "chat_template.jinja",
        "merges.txt",
        "tokenizer.json",
        "vocab.json",
        "model.safetensors.index.json",
    ],
)
def test_a_file_of_gigabytes_that_cannot_be_one_is_not_read(folder: Path, name: str) -> None:
    """No file is read further than any such file is long, also in a process without a limit."""
    if name == "model.safetensors.index.json":
        (folder / WEIGHTS).unlink()
    path = folder / name
    path.touch()
    os.truncate(path, 3 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(
            ModelFileError, match=rf"^{re.escape(name)} in .* is longer than \d+ MB"
        ):
            inspect_folder(folder)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(folder: Path) -> None:
    folder.chmod(0)
    try:
        with pytest.raises(ModelFileError, match="No permission to read"):
            hf.load(folder, CPU)
    finally:
        folder.chmod(0o700)


def test_permission_denied_is_said_in_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelFileError, match=r"No permission to read .*config\.json"):
        hf.load(folder, CPU)


def test_memory_is_estimated_before_loading(
    tiny_hf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    half = Path(shutil.copytree(tiny_hf, tmp_path / "half"))
    model = AutoModelForCausalLM.from_pretrained(tiny_hf, dtype=torch.bfloat16)
    model.save_pretrained(half)
    # 223,552 parameters of 4 bytes, and 5 %: 0.94 MB.
    monkeypatch.setattr(hf_load, "free_memory", lambda *_: 800_000)
    with pytest.raises(
        NotEnoughMemory, match=r"about 0\.9 MB \(float32 .* twice .*0\.8 MB are free"
    ):
        hf.load(half, CPU)
    monkeypatch.setattr(hf_load, "free_memory", lambda *_: 1_000_000)
    backend = hf.load(half, CPU)
    assert backend.info.quantization == "float32"
    assert any("stored as bfloat16" in note for note in backend.info.notes)
    backend.close()


def test_an_architecture_without_a_cache_is_refused(tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = {"vocab_size": 1008, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 48}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("openai-gpt", **settings))
    tiny_models = pytest.importorskip("tiny_models")
    folder = tiny_models.save_folder(tmp_path / "gpt1", model, tiny_models.byte_level_tokenizer())
    with pytest.raises(ModelFileError, match=r"OpenAIGPTLMHeadModel has no key-value cache"):
        hf.load(folder, CPU)


@pytest.mark.parametrize("device", ["cuda", "mps", "toaster"])
def test_a_device_that_is_not_there(tiny_hf: Path, device: str) -> None:
    import torch

    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is such a device")
    with pytest.raises(BackendError, match=f"no device {device}"):
        hf.load(tiny_hf, LoadOptions(device=device, threads=1))
