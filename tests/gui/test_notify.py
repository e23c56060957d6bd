"""Messages: one sentence that goes by itself, a banner that stays, a dialog for bugs, a list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui.app import Hook
from logitscope.gui.dialogs.messages import BugDialog, MessagesDialog, report
from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Action, Message, Severity, Topic
from logitscope.gui.notices import Notice
from logitscope.gui.notify import KEPT_MESSAGES
from logitscope.gui.reading import Stage
from logitscope.gui.widgets.toast import WITH_BUTTONS_MS, Toast

LONG = "The context is full, and " + "this sentence goes on and on, " * 8 + "until it ends."


def shown(window: MainWindow) -> Toast:
    toast = window.toasts.newest
    assert toast is not None
    return toast


def sentences(window: MainWindow) -> list[str]:
    """On show, from top to bottom."""
    toasts = sorted(window.toasts.toasts, key=lambda toast: toast.y())
    assert all(toast.isVisible() for toast in toasts)
    return [toast.message.sentence for toast in toasts if toast.message is not None]


def buttons(window: MainWindow) -> dict[str, QPushButton]:
    found = shown(window).findChildren(QPushButton)
    return {button.text(): button for button in found if button.isVisible()}


def test_a_notice_is_shown_over_the_bottom_and_goes_by_itself(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.session.noticed.emit(Notice("Nothing to continue: type a prompt first."))
    toast = shown(window)
    assert toast.isVisible()
    assert window.rect().contains(toast.geometry())
    assert toast.geometry().center().y() > window.height() * 0.8
    toast.auto_hide.setInterval(10)
    toast.auto_hide.start()
    qtbot.waitUntil(lambda: window.toasts.toasts == [])
    assert [message.sentence for message in window.messages.kept] == [
        "Nothing to continue: type a prompt first."
    ]


@pytest.mark.parametrize("shown_first", ["message", "lessons"])
def test_a_message_does_not_cover_the_buttons_of_a_lesson(
    qtbot: QtBot, window: MainWindow, shown_first: str
) -> None:
    window.resize(1024, 640)
    if shown_first == "message":
        window.messages.put(Message(LONG, severity=Severity.PROBLEM))
    window.focus_panel("lessons")
    lessons = window.docks["lessons"]
    qtbot.waitUntil(lambda: lessons.isVisible() and lessons.width() > 200)
    if shown_first == "lessons":
        window.messages.put(Message(LONG, severity=Severity.PROBLEM))
    toast = shown(window)
    qtbot.waitUntil(lambda: not toast.geometry().intersects(lessons.geometry()))
    assert window.rect().contains(toast.geometry())
    assert toast.text_label.height() >= toast.text_label.heightForWidth(toast.text_label.width())
    lessons.close()
    middle = window.rect().center().x()
    qtbot.waitUntil(lambda: abs(toast.geometry().center().x() - middle) < 8)


def test_the_newest_message_takes_the_place_of_the_last(window: MainWindow) -> None:
    window.messages.say("The first.")
    window.messages.say("The second.")
    assert sentences(window) == ["The second."]
    assert [message.sentence for message in window.messages.kept] == ["The second.", "The first."]


@pytest.mark.parametrize("width", [700, 1440])
def test_a_long_message_is_not_cut(qtbot: QtBot, window: MainWindow, width: int) -> None:
    window.resize(width, 700)
    window.messages.put(Message(LONG, "a detail", actions=(Action("Do something", list),)))
    toast = shown(window)
    label = toast.text_label
    needed = label.heightForWidth(label.width())
    assert label.height() >= needed
    assert window.rect().contains(toast.geometry())


def test_a_message_stays_in_place_when_the_window_changes(qtbot: QtBot, window: MainWindow) -> None:
    window.messages.say("Here.")
    before = window.size()
    window.resize(before + QSize(120, 80))
    qtbot.waitUntil(lambda: window.size() == before + QSize(120, 80))
    place = shown(window).geometry()
    assert abs(place.center().x() - window.width() / 2) <= 2
    assert 0 < window.height() - place.bottom() < 40


def test_a_button_acts_and_details_can_be_copied(qtbot: QtBot, window: MainWindow) -> None:
    pressed: list[str] = []
    action = Action("Do it", lambda: pressed.append("done"))
    window.messages.put(Message("It failed.", "line 1\nline 2", actions=(action,)))
    assert list(buttons(window)) == ["Do it", "Copy details"]
    buttons(window)["Copy details"].click()
    assert QGuiApplication.clipboard().text() == "It failed.\n\nline 1\nline 2"
    buttons(window)["Do it"].click()
    assert pressed == ["done"]
    assert window.toasts.toasts == []


def test_a_message_with_something_to_do_does_not_go_by_itself(window: MainWindow) -> None:
    window.messages.put(Message("It died.", severity=Severity.PROBLEM))
    assert not shown(window).auto_hide.isActive()
    window.messages.say("Only this.")
    assert shown(window).auto_hide.isActive()
    window.messages.say("Only this, or that.", Action("That", list))
    assert shown(window).auto_hide.isActive()
    assert shown(window).auto_hide.interval() == WITH_BUTTONS_MS


def test_the_close_button_puts_it_away(qtbot: QtBot, window: MainWindow) -> None:
    window.messages.say("Only this.")
    toast = shown(window)
    with qtbot.waitSignal(toast.closed):
        qtbot.mouseClick(toast.close_button, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    assert window.toasts.toasts == []


def problem(sentence: str, *actions: Action, topic: Topic = Topic.OTHER) -> Message:
    return Message(sentence, severity=Severity.PROBLEM, actions=actions, topic=topic)


def test_a_problem_stays_when_there_is_more_to_say(qtbot: QtBot, window: MainWindow) -> None:
    window.messages.put(problem("Recover it?", Action("Recover it", list)))
    window.messages.say("A note.")
    window.messages.say("Another note.")
    assert sentences(window) == ["Recover it?", "Another note."]
    window.messages.put(problem("It cannot be loaded."))
    window.messages.put(problem("A third problem."))
    assert sentences(window) == ["Recover it?", "Another note.", "It cannot be loaded."]
    places = [toast.geometry() for toast in window.toasts.toasts]
    assert all(window.rect().contains(place) for place in places)
    assert not any(a.intersects(b) for a in places for b in places if a is not b)
    window.toasts.toasts[0].close_button.click()
    assert sentences(window) == ["Another note.", "It cannot be loaded.", "A third problem."]


def test_a_message_is_acted_on_from_the_list_as_long_as_it_makes_sense(
    window: MainWindow,
) -> None:
    pressed: list[str] = []
    action = Action("Do it", lambda: pressed.append("done"))
    window.messages.put(problem("It failed.", action, topic=Topic.MODEL))
    shown(window).close_button.click()
    dialog = MessagesDialog(window.messages, window)
    (button,) = dialog.action_buttons
    button.click()
    assert pressed == ["done"]
    assert MessagesDialog(window.messages, window).action_buttons == []
    window.messages.put(problem("It died.", action, topic=Topic.MODEL))
    open_dialog = MessagesDialog(window.messages, window)
    assert len(open_dialog.action_buttons) == 1
    window.messages.settle(Topic.MODEL)
    assert open_dialog.action_buttons == []


def test_a_model_that_arrives_settles_only_what_was_said_about_models(
    window: MainWindow, load: Callable[..., MainWindow]
) -> None:
    window.messages.put(problem("Recover it?"))
    window.messages.put(problem("That is no model.", topic=Topic.MODEL))
    load(window)
    assert sentences(window) == ["Recover it?"]


def test_what_was_said_of_a_text_ends_with_it(
    qtbot: QtBot, window: MainWindow, load: Callable[..., MainWindow]
) -> None:
    session = load(window, "fake:vocab=500,context=32").session
    session.set_prompt("long " * 40)
    qtbot.waitUntil(lambda: session.reading.stage is Stage.TOO_LONG, timeout=20_000)
    assert [s for s in sentences(window) if "32" in s]
    session.set_prompt("ab")
    qtbot.waitUntil(lambda: session.reading.stage is Stage.READ, timeout=20_000)
    assert sentences(window) == []


def test_a_full_context_is_told_until_there_is_room_again(qtbot: QtBot, window: MainWindow) -> None:
    session = window.session
    session.open_model("fake:vocab=500,seed=3,context=8")
    session.set_prompt("12345")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=20_000)
    session.run(40)
    qtbot.waitUntil(lambda: not session.is_running and len(session.ids) == 8, timeout=20_000)
    qtbot.waitUntil(lambda: window.toasts.newest is not None)
    assert shown(window).message == window.messages.kept[0]
    assert window.messages.kept[0].topic is Topic.ROOM
    session.undo_stack.undo()
    qtbot.waitUntil(lambda: window.toasts.toasts == [])


def test_a_bug_opens_a_dialog_with_what_is_known(qtbot: QtBot, window: MainWindow) -> None:
    window.session.noticed.emit(Notice("Something broke.", "Traceback: here", is_bug=True))
    dialog = window.findChild(BugDialog)
    assert dialog is not None
    dialog.copy.click()
    copied = QGuiApplication.clipboard().text()
    for part in ("Something broke.", "Traceback: here", "Python 3", "Qt 6", "Logitscope "):
        assert part in copied
    dialog.reject()


def test_an_exception_nobody_caught_becomes_the_dialog(
    window: MainWindow, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ZeroDivisionError("by nothing")
    Hook(window)(type(error), error, None)
    dialog = window.findChild(BugDialog)
    assert dialog is not None
    assert "by nothing" in dialog.details.toPlainText()
    assert "by nothing" in capsys.readouterr().err
    dialog.reject()


def test_ctrl_c_in_the_terminal_closes_the_window(window: MainWindow) -> None:
    Hook(window)(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert not window.isVisible()


def test_the_list_shows_all_messages_and_their_details(qtbot: QtBot, window: MainWindow) -> None:
    window.messages.say("The first.")
    window.messages.put(Message("The second.", "its detail"))
    window.show_messages()
    dialog = window.findChild(MessagesDialog)
    assert dialog is not None
    shown = [dialog.list.item(row).text() for row in range(dialog.list.count())]
    assert [text.partition("   ")[2] for text in shown] == ["The second.", "The first."]
    assert dialog.details.toPlainText() == "its detail"
    dialog.copy.click()
    assert QGuiApplication.clipboard().text().startswith("Logitscope")
    dialog.reject()


def test_only_so_many_messages_are_kept(window: MainWindow) -> None:
    for number in range(KEPT_MESSAGES + 5):
        window.messages.say(f"Message {number}.")
    assert len(window.messages.kept) == KEPT_MESSAGES
    assert window.messages.kept[0].sentence == f"Message {KEPT_MESSAGES + 4}."


def test_a_report_says_what_it_happened_on() -> None:
    text = report(Message("It failed.", "why"))
    assert text.splitlines()[1:] == ["It failed.", "", "why"]


def test_a_message_stays_in_front_of_docks(qtbot: QtBot, window: MainWindow) -> None:
    window.messages.put(Message("The model is gone.", severity=Severity.PROBLEM))
    toast = shown(window)

    def is_in_front() -> bool:
        siblings = window.children()
        return all(siblings.index(toast) > siblings.index(dock) for dock in window.docks.values())

    assert is_in_front()
    for panel_id, dock in window.docks.items():
        window.focus_panel(panel_id)
        dock.raise_()
        qtbot.waitUntil(is_in_front)
        middle = toast.geometry().center()
        assert window.childAt(middle) in {toast, *toast.findChildren(QWidget)}
