"""Peak memory: the most that a process had in RAM (VmHWM), mapped files included."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from answering import peak_bytes
from programs import Program
from texts import OPENING, long_text
from verdict import Verdict

MODEL_EXTRA_MB = 600.0
WINDOW_MB = 400.0
VOCABULARY = 262_144
CONTEXT = 8192
READ, GENERATE, SCORE = 1500, 200, 1000
WINDOW_TOKENS = 2000

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process's peak"),
]


@pytest.mark.gemma
@pytest.mark.llama
def test_model_process_on_gemma(
    gemma_path: Path, tmp_path: Path, verdict: Verdict, quick: bool
) -> None:
    work_and_judge(str(gemma_path), tmp_path, verdict, quick)


@pytest.mark.torch
def test_model_process_on_torch(tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    """A tiny model with a large vocabulary; most of the memory is PyTorch's own."""
    pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    tiny = importlib.import_module("tiny_models")
    changes = {"max_position_embeddings": CONTEXT}
    folder = tiny.save_byte_level(tmp_path / "tiny", n_vocab=VOCABULARY, changes=changes)
    work_and_judge(str(folder), tmp_path, verdict, quick)


def work_and_judge(model: str, home: Path, verdict: Verdict, quick: bool) -> None:
    read, generate, score = (150, 20, 100) if quick else (READ, GENERATE, SCORE)
    with Program("model_program", home=home) as program:
        found = program.ask(
            "work", path=model, text=long_text(read), generate=generate, score=score
        )
    megabytes = {name: found[name] / 1e6 for name in ("peak", "weights", "kv")}
    verdict.say(
        f"vocabulary {found['vocabulary']:,}: read {found['read']:,} tokens, generated {generate},"
        f" scored {score:,}"
    )
    verdict.say(", ".join(f"{name} {value:.0f} MB" for name, value in megabytes.items()))
    extra = megabytes["peak"] - megabytes["weights"] - megabytes["kv"]
    verdict.at_most("model process beyond weights and cache", extra, MODEL_EXTRA_MB, "MB")


def test_window_after_a_long_run(tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    """Every panel in sight; the model is the fake one, since only its vocabulary matters here."""
    tokens = 60 if quick else WINDOW_TOKENS
    with Program("window_program", home=tmp_path) as window:
        model = f"fake:vocab={VOCABULARY},context={CONTEXT}"
        window.ask("load", path=model)
        window.ask("write", text=OPENING)
        before = peak_bytes(window.pid)
        run = window.ask("run", tokens=tokens)
        peak = peak_bytes(window.pid)
        paints = window.ask("paints", tokens=60)["paints"]
    assert len(run["ids"]) == tokens
    frames = ", ".join(f"{panel} {count}" for panel, count in paints.items())
    verdict.say(f"{tokens:,} tokens in {run['seconds']:.0f} s; paints in 60: {frames}")
    cost = 1000 * run["window_cpu"] / tokens
    verdict.say(f"before {before / 1e6:.0f} MB; processor time {cost:.1f} ms a token")
    verdict.at_most(f"window at {VOCABULARY:,} entries", peak / 1e6, WINDOW_MB, "MB")
