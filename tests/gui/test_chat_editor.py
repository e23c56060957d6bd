"""Chat messages through the text panel, on a fake model with a template."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from logitscope.backends.base import ChatMessage, LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.document import Block
from logitscope.gui.engine import Engine
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session

MODEL = "fake:vocab=500,seed=3"


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    made.open_model(MODEL)
    qtbot.waitUntil(lambda: made.is_ready, timeout=20_000)
    yield made
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> TextPanel:
    made = TextPanel(session)
    qtbot.addWidget(made)
    made.resize(600, 600)
    made.show()
    qtbot.waitExposed(made)
    return made


def rendered(*messages: ChatMessage) -> list[int]:
    backend = load_fake(MODEL, LoadOptions())
    text = backend.render_chat(messages, add_generation_prompt=True)
    return backend.tokenize(text, add_special=False, parse_special=True)


def settle(qtbot: QtBot, session: Session) -> None:
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)


def test_the_switch_shows_messages_and_sends_the_rendered_template(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    session.set_prompt("hello")
    settle(qtbot, session)
    qtbot.mouseClick(panel.strip.chat, Qt.MouseButton.LeftButton)
    assert panel.chat.isVisible()
    assert not panel.editor.isVisible()
    settle(qtbot, session)
    sent = [i for i in session.ids if i != session.vocabulary.bos]  # type: ignore[union-attr]
    bos = session.vocabulary.bos  # type: ignore[union-attr]
    assert sent == [i for i in rendered(ChatMessage("user", "hello")) if i != bos]


def test_adding_typing_and_removing_messages(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    session.set_wrapping(chat=True, add_special=True, parse_special=False)
    qtbot.mouseClick(panel.chat.add, Qt.MouseButton.LeftButton)
    assert [block.role for block in session.state.blocks] == ["user", "assistant"]
    panel.chat.rows[0].role.setCurrentText("system")
    qtbot.keyClicks(panel.chat.rows[1].text, "hi")
    assert session.state.blocks == (Block("", "system", is_source=True), Block("hi", "assistant"))
    qtbot.mouseClick(panel.chat.rows[0].remove, Qt.MouseButton.LeftButton)
    assert session.state.blocks == (Block("hi", "assistant"),)
    assert [row.text.text for row in panel.chat.rows] == ["hi"]
    session.undo()
    assert [row.role.currentText() for row in panel.chat.rows] == ["system", "assistant"]


def test_the_last_message_leaves_an_empty_one(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    session.set_wrapping(chat=True, add_special=True, parse_special=False)
    qtbot.mouseClick(panel.chat.rows[0].remove, Qt.MouseButton.LeftButton)
    assert session.state.blocks == (Block(""),)
    assert len(panel.chat.rows) == 1
