"""The loss panel on a live fake model, and the losses as the backend alone gives them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.distribution import log_softmax
from logitscope.gui.engine import Engine
from logitscope.gui.notices import Notice
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.session import Session

MODEL = "fake:vocab=400,seed=5,context=64"
TEXT = "The sky is blue.\n\nIt is the sea."


@pytest.fixture
def session(qtbot: QtBot, styled_app: QApplication) -> Iterator[Session]:
    del styled_app
    engine = Engine()
    made = Session(engine)
    made.open_model(MODEL)
    qtbot.waitUntil(lambda: made.model is not None, timeout=60_000)
    yield made
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> LossPanel:
    made = LossPanel(session)
    qtbot.addWidget(made)
    made.resize(800, 360)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def notices(session: Session) -> list[Notice]:
    heard: list[Notice] = []
    session.noticed.connect(heard.append)
    return heard


def wait(qtbot: QtBot, panel: LossPanel) -> None:
    """Until every token of the text on show is scored and drawn."""
    subject = panel.scorer.subject

    def is_done() -> bool:
        table = panel.table
        return (
            subject.is_ready
            and len(table) == len(subject.ids) > 0
            and table.first_unknown == len(table)
            and not panel.scorer.is_scoring
            and (panel.curve.has_plot or not panel.isVisible())
        )

    qtbot.waitUntil(is_done, timeout=20_000)
    panel.flush()


def write(qtbot: QtBot, panel: LossPanel, session: Session, text: str = TEXT) -> None:
    before = session.ids
    session.set_prompt(text)
    qtbot.waitUntil(lambda: session.is_ready and session.ids != before)
    wait(qtbot, panel)


def losses(ids: tuple[int, ...]) -> np.ndarray:
    backend = load_fake(MODEL, LoadOptions())
    found = [-log_softmax(backend.next_logits(ids[:p]))[ids[p]] for p in range(1, len(ids))]
    backend.close()
    return np.array(found)
