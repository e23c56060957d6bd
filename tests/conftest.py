"""Fixtures for all rooms."""

from __future__ import annotations

import importlib
import signal
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from logitscope.backends import packaged

# Tests are never timed: a busy machine takes ten times as long for an example. What the profile in
# force sets besides, such as the same examples every time on CI, stays.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")

# A shell lets what it starts in the background ignore Ctrl-C, and what that starts inherits it:
# the programs that tests interrupt would not hear a thing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def gemma_path() -> Path:
    """The real Gemma 3 270M, Q4_K_M, from the extra ``gemma``; assembled once into the cache."""
    if not packaged.is_packaged_installed():
        pytest.skip("the extra `gemma` is not installed")
    return packaged.assemble()


@pytest.fixture(scope="session")
def tiny_hf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random 2-layer Llama with a byte-level BPE, as a Hugging Face folder (1,008 ids)."""
    return _tiny_models().save_byte_level(tmp_path_factory.mktemp("tiny") / "tiny-llama")


@pytest.fixture(scope="session")
def tiny_gguf(tiny_hf: Path) -> Path:
    """The weights and the tokenizer of ``tiny_hf`` as an F32 GGUF."""
    pytest.importorskip("gguf")
    return _tiny_models().convert_to_gguf(tiny_hf, tiny_hf.parent / "tiny-llama-f32.gguf")


@pytest.fixture(scope="session")
def tiny_hf_other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another seed, and the tokens of a smaller vocabulary (812 ids)."""
    folder = tmp_path_factory.mktemp("other") / "tiny-llama-other"
    return _tiny_models().save_byte_level(folder, seed=1, n_vocab=812, tokenizer_size=800)


@pytest.fixture(scope="session")
def tiny_gguf_other(tiny_hf_other: Path) -> Path:
    """The weights and the tokenizer of ``tiny_hf_other`` as an F32 GGUF."""
    pytest.importorskip("gguf")
    return _tiny_models().convert_to_gguf(tiny_hf_other, tiny_hf_other.parent / "other-f32.gguf")


@pytest.fixture(scope="session")
def tiny_hf_sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of ``tiny_hf`` with its weights spread over several files."""
    folder = tmp_path_factory.mktemp("sharded") / "tiny-llama-sharded"
    return _tiny_models().save_byte_level(folder, max_shard_size="200KB")


@pytest.fixture(scope="session")
def tiny_hf_sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with a tokenizer like Llama 2's: ``▁``, byte fallback, a space in front."""
    folder = tmp_path_factory.mktemp("sentencepiece") / "tiny-llama2"
    return _tiny_models().save_sentencepiece(folder, prefix_space=True)


@pytest.fixture(scope="session")
def tiny_hf_gemma_like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with a tokenizer like Gemma's: ``▁``, byte fallback, no space in front."""
    folder = tmp_path_factory.mktemp("gemma-like") / "tiny-gemma-like"
    return _tiny_models().save_sentencepiece(folder, prefix_space=False)


def _tiny_models() -> ModuleType:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    return importlib.import_module("tiny_models")
