"""The backends of the contract suite, each with rows that do not come from its own code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from logitscope.backends.base import Backend, LoadOptions

Row = NDArray[np.float32]

NAMES = ("fake", "bigram", "hf", "hf-sentencepiece", "llamacpp")


@dataclass(frozen=True)
class Case:
    """One backend with a model, and what its rows must equal."""

    name: str
    path: Path
    other_path: Path
    """A different model for the same backend."""
    load: Callable[..., Backend]
    options: LoadOptions
    fresh: Callable[[Sequence[int]], Row]
    """The row of an evaluation that never saw another text."""
    fresh_tolerance: float
    """Largest difference to ``fresh`` in any logit."""
    noise: float
    """Largest difference between two ways to the same row within the backend."""

    def open(self, path: Path | None = None, **changes: Any) -> Backend:
        """A new backend; the caller closes it."""
        return self.load(path or self.path, replace(self.options, **changes))


@pytest.fixture(scope="session", params=NAMES)
def case(request: pytest.FixtureRequest) -> Case:
    """Every backend of the contract in turn."""
    if request.param == "fake":
        return fake_case()
    if request.param == "bigram":
        return bigram_case(request)
    if request.param == "llamacpp":
        return llamacpp_case(request)
    return hf_case(request, sentencepiece=request.param == "hf-sentencepiece")


@pytest.fixture(scope="session")
def backend(case: Case) -> Iterator[Backend]:
    """One loaded backend for all tests: each of them must leave it usable."""
    opened = case.open()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def wide_hf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 2-layer Llama of 34 MB: large enough for a forgotten copy to be seen."""
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    changes = {"hidden_size": 512, "intermediate_size": 2048}
    folder = tmp_path_factory.mktemp("wide") / "wide-llama"
    path: Path = importlib.import_module("tiny_models").save_byte_level(folder, changes=changes)
    return path


@pytest.fixture(scope="session")
def wide_gguf(wide_hf: Path) -> Path:
    """The weights of ``wide_hf`` as an F32 GGUF."""
    target = wide_hf.parent / "wide-f32.gguf"
    path: Path = importlib.import_module("tiny_models").convert_to_gguf(wide_hf, target)
    return path


def fake_case() -> Case:
    """Rows of the fake are a pure function of the ids, so nothing may differ at all."""
    load = importlib.import_module("logitscope.backends.fake").load
    path = Path("fake:vocab=1000,seed=3,context=256")
    options = LoadOptions()

    def fresh(ids: Sequence[int]) -> Row:
        row: Row = load(path, options).next_logits(ids)
        return row

    return Case("fake", path, Path("fake:vocab=700,seed=4"), load, options, fresh, 0.0, 0.0)


def bigram_case(request: pytest.FixtureRequest) -> Case:
    """Rows are copied from a table: nothing may differ at all."""
    bigram_file = importlib.import_module("logitscope.bigram_file")
    folder = request.getfixturevalue("tmp_path_factory").mktemp("bigram")

    def save(name: str, n_symbols: int) -> tuple[Path, Row]:
        symbols = tuple(chr(0x4E00 + i).encode() for i in range(n_symbols))
        table = np.random.default_rng(n_symbols).normal(size=(n_symbols, n_symbols))
        model = bigram_file.BigramFile(
            name, bigram_file.Unit.CHARACTERS, symbols, table.astype(np.float32)
        )
        path = folder / f"{name}.bigram.json"
        bigram_file.save(path, model)
        return path, model.logits

    path, table = save("first", 750)
    other, _ = save("other", 500)
    first_symbol = 2 + 256

    def fresh(ids: Sequence[int]) -> Row:
        known = table[ids[-1] - first_symbol] if ids[-1] >= first_symbol else np.zeros(len(table))
        rest = np.full(first_symbol, -20.0)
        return np.concatenate([rest, known]).astype(np.float32)

    load = importlib.import_module("logitscope.backends.bigram").load
    options = LoadOptions(context_length=256)
    return Case("bigram", path, other, load, options, fresh, 0.0, 0.0)


def hf_case(request: pytest.FixtureRequest, *, sentencepiece: bool) -> Case:
    """In float32 the order of summation differs with the shape of a pass: some 1e-6 of 10."""
    name = "tiny_hf_sentencepiece" if sentencepiece else "tiny_hf"
    path = request.getfixturevalue(name)
    other = request.getfixturevalue("tiny_hf_other")
    load = importlib.import_module("logitscope.backends.hf").load
    options = LoadOptions(device="cpu", threads=1)
    return Case(name, path, other, load, options, transformers_rows(path), 1e-4, 1e-4)


def llamacpp_case(request: pytest.FixtureRequest) -> Case:
    """With an F32 cache the rows are within 1e-3 of transformers on the same weights."""
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    folder = request.getfixturevalue("tiny_hf")
    path = request.getfixturevalue("tiny_gguf")
    other = request.getfixturevalue("tiny_gguf_other")
    load = importlib.import_module("logitscope.backends.llamacpp").load
    options = LoadOptions(cache_type="f32", threads=1)
    return Case("llamacpp", path, other, load, options, transformers_rows(folder), 1e-3, 1e-3)


def transformers_rows(folder: Path) -> Callable[[Sequence[int]], Row]:
    """Rows of transformers' own model, one pass over all ids, no cache."""
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    # Two threads that wait for each other cost more than so small a model.
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, local_files_only=True, dtype=torch.float32
    )

    def fresh(ids: Sequence[int]) -> Row:
        with torch.inference_mode():
            logits = model(torch.tensor([list(ids)]), use_cache=False).logits
        row: Row = logits[0, -1].numpy()
        return row

    return fresh


@pytest.fixture
def opened() -> Iterator[Callable[[Path], Any]]:
    """Opens the vocabulary of a GGUF without its weights."""
    from logitscope.backends.llamacpp_lib import library

    lib, models = library(), []

    def open_vocabulary(path: Path) -> Any:
        parameters = lib.llama_model_default_params()
        parameters.vocab_only = True
        models.append(lib.llama_model_load_from_file(str(path).encode(), parameters))
        assert models[-1]
        return lib.llama_model_get_vocab(models[-1])

    yield open_vocabulary
    for model in models:
        lib.llama_model_free(model)
