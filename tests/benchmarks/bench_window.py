"""How soon the window is there, how soon the model, and whether the window ever stops listening."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from programs import Program
from texts import OPENING, long_text
from verdict import Verdict, spread

from logitscope.backends.llamacpp_plan import physical_cores

PAIRS, CONTEXT = 5, 8192
PAINT_SECONDS = 0.4
LOAD_RATIO = 1.3
BLOCKED_MS = 50.0
PROMPT_TOKENS, RUN_TOKENS = 2000, 256
TYPED = " and then it all came back to us"


@pytest.mark.gemma
@pytest.mark.timeout(900)
def test_first_paint(gemma_path: Path, tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    """From the start of the process to everything in sight painted; the model is loaded behind
    it. The peer is a window with one plot."""
    ours, bare, ready, busy = [], [], [], []
    for kind in (("ours", gemma_path), ("bare",)):
        # The first ones make the bytecode.
        Program("first_paint", *kind, home=tmp_path).close()
    for _ in range(1 if quick else PAIRS):
        with Program("first_paint", "ours", gemma_path, home=tmp_path) as window:
            ours.append(window.first["painted"] - window.started)
            own = window.first["cpu"]
            ready.append(window.ask("ready")["ready"] - window.started)
        with Program("first_paint", "bare", home=tmp_path) as window:
            bare.append(window.first["painted"] - window.started)
            busy.append(own - window.first["cpu"])
    verdict.say(f"logitscope MODEL, first paint         {spread(ours)} s")
    verdict.say(f"bare PySide6 + pyqtgraph, first paint {spread(bare)} s")
    verdict.say(f"logitscope MODEL, first row on show   {spread(ready)} s")
    verdict.say(f"processor time more than the bare one {spread(busy)} s")
    later = statistics.median(own - peer for own, peer in zip(ours, bare, strict=True))
    verdict.at_most("first paint later than a bare window", later, PAINT_SECONDS, "s")


@pytest.mark.gemma
@pytest.mark.llama
@pytest.mark.timeout(900)
def test_ready_to_type(gemma_path: Path, tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    """Ours: from the wish to open the model, in a window that is open, to the row behind BOS on
    show. The peer: from the start of a Python process that imports llama_cpp, loads the same file
    and decodes BOS."""
    ours, bare = [], []
    threads = physical_cores()
    asked = {"path": str(gemma_path), "threads": threads, "context": CONTEXT}
    for is_first in [True, *[False] * (1 if quick else PAIRS)]:
        # No model was open before: ending its process would count.
        with Program("window_program", home=tmp_path) as window:
            own = window.ask("load", **asked)["seconds"]
        plain = Program("bare_llama", gemma_path, threads, CONTEXT, "plain", home=tmp_path)
        with plain:
            peer = plain.first["ready"] - plain.started
        # The first ones make the bytecode and bring the file into memory.
        if not is_first:
            ours.append(own)
            bare.append(peer)
    verdict.say(f"wish to first row in the window {spread(ours)} s")
    verdict.say(f"bare llama.cpp, start to row    {spread(bare)} s")
    ratio = statistics.median(own / peer for own, peer in zip(ours, bare, strict=True))
    verdict.at_most("ready to type / bare llama.cpp load", ratio, LOAD_RATIO)


@pytest.mark.gemma
@pytest.mark.llama
@pytest.mark.timeout(900)
def test_the_window_always_listens(
    gemma_path: Path, tmp_path: Path, verdict: Verdict, quick: bool
) -> None:
    """The longest time that the window's thread did not come back to its event loop. "Busy" is how
    much of it the thread computed; the rest another program had the processor, or it waited."""
    prompt, run, typed = (100, 16, " an") if quick else (PROMPT_TOKENS, RUN_TOKENS, TYPED)
    load = {"path": str(gemma_path), "context": CONTEXT}
    with Program("window_program", home=tmp_path) as window:
        # Whoever comes first compiles the libraries, which an installation has done before.
        window.ask("load", **load)
        window.ask("write", text=OPENING)
    with Program("window_program", home=tmp_path) as window:
        answers = {
            "load": window.ask("load", **load),
            f"prefill of {prompt:,} tokens": window.ask("write", text=long_text(prompt)),
            f"run of {run} tokens behind it": window.ask("run", tokens=run, watch=True),
            "typing behind it": window.ask("type", text=typed, pause_ms=60),
            "pasting another text": window.ask("write", text=OPENING),
        }
    for phase, answer in answers.items():
        found = answer["blocked"]
        verdict.say(f"{phase}: 99th percentile {found['p99']:.1f} ms, busy {found['busy']:.1f} ms")
        verdict.at_most(f"longest block, {phase}", found["blocked"], BLOCKED_MS, "ms")
