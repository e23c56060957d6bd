"""The text panel on a live model process with the fake backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.gui.engine import Engine
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session

MODEL = "fake:vocab=500,seed=3"
WAIT_MS = 30_000
BOS = 1


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    yield Session(engine)
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, styled_app: QApplication, session: Session) -> TextPanel:
    panel = TextPanel(session)
    qtbot.addWidget(panel)
    panel.resize(700, 480)
    panel.show()
    panel.activateWindow()
    qtbot.waitActive(panel)
    return panel


@pytest.fixture
def loaded(qtbot: QtBot, session: Session, panel: TextPanel) -> TextPanel:
    load(qtbot, session, MODEL)
    return panel


@pytest.fixture
def sky(qtbot: QtBot, session: Session, loaded: TextPanel) -> TextPanel:
    """A prompt that the model has read."""
    qtbot.keyClicks(loaded.editor, "The sky is")
    settle(qtbot, session)
    return loaded


def load(qtbot: QtBot, session: Session, model: str) -> None:
    session.open_model(model)
    qtbot.waitUntil(lambda: session.model is not None, timeout=WAIT_MS)


def settle(qtbot: QtBot, session: Session) -> None:
    """Wait until nothing is on its way."""
    qtbot.waitUntil(
        lambda: session.is_ready and not session.is_running and session.row_is_current,
        timeout=WAIT_MS,
    )


def run(qtbot: QtBot, panel: TextPanel, session: Session, count: int) -> None:
    panel.transport.length.setValue(count)
    with qtbot.waitSignal(session.run_changed):
        panel.transport.run.click()
    settle(qtbot, session)


def reference_ids(text: str, *, add_special: bool = True, parse_special: bool = False) -> list[int]:
    backend = load_fake(MODEL, LoadOptions())
    ids = backend.tokenize(text, add_special=add_special, parse_special=parse_special)
    backend.close()
    return ids


def press_undo(qtbot: QtBot, panel: TextPanel) -> None:
    qtbot.keyClick(panel.editor, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions() if action.text()}
