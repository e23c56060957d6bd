"""Lessons and examples in the window: what ships, what a lesson looks at, how it sets things up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from logitscope import example_file, lesson_file
from logitscope.example_file import Example
from logitscope.gui import stage as stages
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.panels.sampling import SamplingPanel
from logitscope.gui.session import Session
from logitscope.gui.settings import Setting
from logitscope.gui.stage import Stage
from logitscope.lesson_file import Lesson
from logitscope.lesson_moment import ModelFacts, Moment, OriginFacts, PassFacts
from logitscope.lesson_parts import Setup
from logitscope.passes import PassKind

PROGRESS = Setting("learn/progress", "", "", "", "")
"""JSON of ``lessons.Progress``."""
MOST_LOSSES = 4096
"""Of a longer text a lesson does not look at the losses: they are copied at every look."""


def lessons() -> tuple[Lesson, ...]:
    """The lessons that ship, in their order."""
    return _lessons()


def examples() -> tuple[Example, ...]:
    """The examples that ship, in the order of the menu."""
    return _examples()


@cache
def _lessons() -> tuple[Lesson, ...]:
    files = sorted(_files(_packaged() / "lessons"), key=lambda file: file.name)
    return tuple(lesson_file.loads(file.read_text("utf-8"), file.name) for file in files)


@cache
def _examples() -> tuple[Example, ...]:
    return example_file.loads((_packaged() / "examples.json").read_text("utf-8"), "examples.json")


def _packaged() -> Traversable:
    return resources.files("logitscope.resources")


def _files(folder: Traversable) -> Iterator[Traversable]:
    return (file for file in folder.iterdir() if file.name.endswith(".json"))


# -- looking ------------------------------------------------------------------------------------


def look(session: Session, stage: Stage, runs: int) -> Moment:
    """The present moment; ``runs``: how many have ended so far."""
    row = session.row
    is_there = row is not None and session.row_is_current and session.is_ready
    passes = session.passes.log
    return Moment(
        state=session.state,
        path=session.document.steps,
        vocabulary=session.vocabulary,
        model=_model(session),
        distribution=row.distribution if row is not None and is_there else None,
        shaped=session.shaped if is_there else None,
        position=session.position,
        follows_end=session.follows_end,
        is_running=session.is_running,
        runs=runs,
        losses=_losses(stage),
        passes=PassFacts(
            passes.totals(PassKind.PREFILL), passes.totals(PassKind.DECODE), passes.last
        ),
        panels=stages.panels_in_sight(stage),
        views=stages.views(stage),
        attempts=cast(SamplingPanel, stage.panels["sampling"]).draw.attempt,
        origin=_origin(session, stage),
    )


def _model(session: Session) -> ModelFacts | None:
    model = session.model
    if model is None:
        return None
    return ModelFacts(
        model.backend, model.weight_bytes, model.kv_bytes_per_token, model.context_length
    )


def _losses(stage: Stage) -> NDArray[np.float64] | None:
    panel = cast(LossPanel, stage.panels["loss"])
    if panel.shows_opened or len(panel.table) > MOST_LOSSES:
        return None
    return panel.table.loss.copy()


def _origin(session: Session, stage: Stage) -> OriginFacts | None:
    """None while the labels are not those of the text on screen."""
    report = cast(OriginPanel, stage.panels["origin"]).originator.report
    if report is None or report.case.answer_ids != session.document.tail_ids:
        return None
    return OriginFacts(Counter(word.label.value for word in report.words))


# -- setting up ---------------------------------------------------------------------------------


def put(setup: Setup, session: Session) -> None:
    """Make this the document, in steps that can be undone; the continuations stay in the tree."""
    session.stop()
    session.end_undo_step()
    session.set_wrapping(chat=setup.chat, add_special=True, parse_special=False)
    session.set_blocks(setup.blocks)
    session.set_settings(setup.settings)
    if session.document.path:
        session.rewind_to(session.prompt_length)
    session.select(None)
    session.end_undo_step()


def arrange(setup: Setup, stage: Stage) -> None:
    """Bring the panels into sight, the first of them in front, and let them show what they
    shall and nothing from before. Panels that this window does not have are left out."""
    for name in reversed(setup.panels):
        stages.bring(stage, name)
    stages.reset_views(stage)
    for view in setup.views:
        stages.show_view(stage, view)
