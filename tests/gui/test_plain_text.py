"""Tokens, texts and names that look like HTML are shown as they are."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Message
from logitscope.gui.notices import Notice
from logitscope.gui.widgets.plain import plain_tip
from logitscope.vocabulary import Vocabulary

Read = Callable[[MainWindow, str], None]
TAG = "<h1>"


def speak_html(window: MainWindow) -> None:
    """Every token is a tag from now on."""
    session = window.session
    known = session.vocabulary
    assert known is not None
    session.vocabulary = Vocabulary.from_pieces(
        [TAG.encode()] * len(known), known.kinds, bos=known.bos, eos=known.eos
    )
    session.model_changed.emit()


def labels() -> list[QLabel]:
    return [widget for widget in QApplication.allWidgets() if isinstance(widget, QLabel)]


def texts() -> list[str]:
    return [label.text().lower() for label in labels() if TAG in label.text()]


def check_labels() -> None:
    """Whoever may hold a token knows that it is no HTML, and HTML holds none as it is."""
    for label in labels():
        if label.textFormat() is not Qt.TextFormat.PlainText:
            assert TAG not in label.text(), (label.parent(), label.text())


def test_no_label_of_the_window_takes_a_token_for_html(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    speak_html(loaded)
    session = loaded.session
    session.step()
    qtbot.waitUntil(lambda: len(session.document.path) == 1 and not session.is_running)
    qtbot.waitUntil(lambda: session.row_is_current)
    session.select(session.prompt_length)
    qtbot.waitUntil(lambda: session.row_is_current)
    for panel in ("passes", "compare", "branches", "loss"):
        loaded.focus_panel(panel)
        qtbot.waitUntil(lambda panel=panel: not loaded.docks[panel].visibleRegion().isEmpty())
    for word in ("after", "draw"):
        qtbot.waitUntil(lambda word=word: any(word in text for text in texts()))
    check_labels()


def test_no_message_or_dialog_takes_its_text_for_html(loaded: MainWindow) -> None:
    loaded.messages.put(Message(f"{TAG} cannot be read."))
    loaded.session.noticed.emit(Notice(f"{TAG} broke.", is_bug=True))
    for command in ("messages", "settings", "about", "exact_prompt", "library", "open_options"):
        loaded.command_actions[command].trigger()
    assert sum(TAG in label.text() for label in labels()) >= 2
    check_labels()


def test_the_help_of_a_panel_and_a_model_bar_of_any_name(loaded: MainWindow) -> None:
    loaded.model_bar.quantization.set_value(TAG)
    assert "&lt;h1&gt;" in loaded.model_bar.quantization.text()
    check_labels()


def test_a_tooltip_that_looks_like_html_is_escaped() -> None:
    assert plain_tip("/models/a & b.gguf") == "/models/a & b.gguf"
    assert "/models/&lt;h1&gt;/a.gguf" in plain_tip("/models/<h1>/a.gguf")
