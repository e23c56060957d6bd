"""Flash attention of llama.cpp: who chooses it, and that the numbers are then those with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import Program

from logitscope.backends.base import LoadOptions
from logitscope.backends.gguf_header import read_header
from logitscope.backends.llamacpp_plan import make_plan

llama_cpp = pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
pytestmark = pytest.mark.llama


@pytest.mark.parametrize(
    ("asked", "offload", "cache_type", "takes"),
    [
        (None, False, "f16", False),
        (None, True, "f16", True),
        (None, True, "f32", False),
        (True, False, "f16", True),
        (False, True, "f16", False),
    ],
)
def test_by_itself_it_is_for_a_gpu_only(
    tiny_gguf: Path, *, asked: bool | None, offload: bool, cache_type: str, takes: bool
) -> None:
    options = LoadOptions(threads=1, flash_attention=asked, cache_type=cache_type)
    plan = make_plan(read_header(tiny_gguf), options, can_offload=offload)
    assert plan.flash_attention is takes


def test_on_the_processor_it_is_told_that_the_numbers_are_others(tiny_gguf: Path) -> None:
    from logitscope.backends.llamacpp import load

    for asked, told in ((None, False), (False, False), (True, True)):
        options = LoadOptions(threads=1, device="cpu", flash_attention=asked)
        backend = load(tiny_gguf, options)
        assert any("Flash attention is on" in note for note in backend.info.notes) is told
        backend.close()


@pytest.mark.gemma
@pytest.mark.parametrize(("asked", "style"), [(True, "flash"), (False, "plain")])
def test_the_numbers_are_those_of_llama_cpp_with_the_same_choice(
    gemma_path: Path, tmp_path: Path, *, asked: bool, style: str
) -> None:
    """On this model the two choices differ by 0.1 in a probability."""
    from logitscope.backends.llamacpp import load

    options = LoadOptions(threads=2, device="cpu", context_length=512, flash_attention=asked)
    backend = load(gemma_path, options)
    ids = backend.tokenize("The sky is", add_special=True, parse_special=False)
    row = backend.next_logits(ids).astype(np.float64)
    backend.close()
    first, *others = np.argsort(-row)[:10].tolist()
    with Program("bare_llama", gemma_path, 2, 512, style, home=tmp_path) as bare:
        for other in others:
            lead = bare.ask("lead", ids=ids, one=first, other=other)["lead"]
            assert row[first] - row[other] == pytest.approx(lead, abs=0.02)
