"""A long prompt edited at its end costs only the tokens that change.

The peer is bare llama.cpp with the prompt in its cache, which drops the tokens that changed and
decodes the new ones: that has to be done anyway. Ours does so in the model process and first splits
the whole text into tokens, to know which ones changed.
"""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from programs import Program
from texts import common_prefix, long_text
from verdict import Verdict, spread

from logitscope.backends.llamacpp_plan import physical_cores

PROMPT_TOKENS, CONTEXT = 2000, 8192
TYPED = " and then it all came back to us, one by one"
RATIO = 1.5


@pytest.mark.gemma
@pytest.mark.llama
@pytest.mark.timeout(900)
def test_edits_at_the_end(gemma_path: Path, tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    threads = physical_cores()
    prompt, typed = (100, " an") if quick else (PROMPT_TOKENS, TYPED)
    with Program("window_program", home=tmp_path) as window:
        window.ask("load", path=str(gemma_path), threads=threads, context=CONTEXT)
        first = window.ask("write", text=long_text(prompt))
        edits = window.ask("type", text=typed, pause_ms=100)["edits"]
    texts = [first["ids"], *(edit["ids"] for edit in edits)]
    with Program("bare_llama", gemma_path, threads, CONTEXT, "same", home=tmp_path) as bare:
        alone = bare.ask("edits", texts=texts)["seconds"]
    for edit, (before, after) in zip(edits, pairwise(texts), strict=True):
        assert edit["evaluated"] == len(after) - common_prefix(before, after)
    counts = [edit["evaluated"] for edit in edits]
    in_model = [1000 * edit["model_seconds"] for edit in edits]
    verdict.say(f"{len(edits)} keys behind {len(texts[0]):,} tokens, {threads} threads")
    verdict.say(f"tokens evaluated a key     {spread(counts)}")
    verdict.say(f"key to row on show         {spread([1000 * e['seconds'] for e in edits])} ms")
    verdict.say(f"in the model process       {spread(in_model)} ms")
    verdict.say(f"bare, changed tokens alone {spread([1000 * value for value in alone])} ms")
    ratio = statistics.median(in_model) / (1000 * statistics.median(alone))
    verdict.at_most("edit in the model process / changed tokens alone", ratio, RATIO)
