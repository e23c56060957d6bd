"""A start that is told nothing, with the demo model: how soon its first distribution is on show."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from programs import Program
from verdict import Verdict, spread

from logitscope.backends.base import BackendError
from logitscope.backends.packaged import demo_path

STARTS = 5
FIRST_ROW_SECONDS = 2.0


@pytest.mark.timeout(900)
def test_first_distribution(tmp_path: Path, verdict: Verdict, quick: bool) -> None:
    """From everything in sight painted to the first distribution on show."""
    try:
        demo_path()
    except BackendError as error:
        pytest.skip(str(error))
    later, whole = [], []
    # The first one makes the bytecode and brings the files into memory.
    Program("first_paint", "ours", home=tmp_path / "first").close()
    for number in range(1 if quick else STARTS):
        # A home of its own: the second start of one person would know a model.
        with Program("first_paint", "ours", home=tmp_path / str(number)) as window:
            painted = window.first["painted"]
            ready = window.ask("ready")["ready"]
            later.append(max(0.0, ready - painted))
            whole.append(ready - window.started)
    verdict.say(f"first distribution behind first paint {spread(later)} s")
    verdict.say(f"start of the process to it            {spread(whole)} s")
    verdict.at_most(
        "first distribution behind first paint",
        statistics.median(later),
        FIRST_ROW_SECONDS,
        "s",
    )
