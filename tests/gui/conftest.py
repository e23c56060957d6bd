"""A window on a fake model, and proofs that it leaves nothing behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.gui import theme
from logitscope.gui.app import make_window
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import Settings

MODEL = "fake:vocab=500,seed=3"
LOAD_MS = 60_000


@pytest.fixture(scope="session")
def styled_app(qapp: QApplication) -> QApplication:
    """The application as the program sets it up."""
    theme.install(qapp, theme.Mode.LIGHT)
    # Pictures of the window must not depend on whether a cursor blinks.
    qapp.setCursorFlashTime(0)
    return qapp


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "settings.ini"


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes recovery copies where the person's are."""
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_args, **_named: tmp_path / "data")


@pytest.fixture(autouse=True)
def garbage_dies_between_tests() -> Iterator[None]:
    """As in the program: Qt objects must not die in the thread that reads replies.

    What a test closed goes, too: an event loop that nobody leaves never deletes it, and each later
    theme would be put on every widget there ever was.
    """
    gc.disable()
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect(1)
    gc.enable()


@pytest.fixture
def new_settings(store_path: Path) -> Callable[[], Settings]:
    """Settings as a new start of the program would read them."""

    def make() -> Settings:
        settings = Settings(QSettings(str(store_path), QSettings.Format.IniFormat))
        settings.setObjectName("made by a test")
        return settings

    return make


@pytest.fixture
def new_window(
    qtbot: QtBot, styled_app: QApplication, new_settings: Callable[[], Settings]
) -> Iterator[Callable[[], MainWindow]]:
    """Opens windows on the same remembered settings; closes what the test has left open.

    Afterwards no process, no thread and no running timer of theirs may be left.
    """
    threads = set(threading.enumerate())
    processes = set(psutil.Process().children(recursive=True))
    theme.set_mode(theme.Mode.LIGHT)
    theme.set_zoom(0)
    opened: list[MainWindow] = []

    def make() -> MainWindow:
        window = make_window(new_settings())
        window.show()
        opened.append(window)
        qtbot.waitExposed(window)
        return window

    yield make
    for window in opened:
        window.close()
        assert running_timers(window) == []
        window.deleteLater()
    # What a test has chosen here would hold for panels that the next ones open without a window.
    theme.set_mode(theme.Mode.LIGHT)
    theme.set_zoom(0)
    qtbot.waitUntil(lambda: set(threading.enumerate()) <= threads, timeout=12_000)
    left = set(psutil.Process().children(recursive=True)) - processes
    left = {process for process in left if not is_helper(process)}
    assert left == set()


def is_helper(process: psutil.Process) -> bool:
    """Python's own resource tracker, which lives as long as the interpreter."""
    try:
        return any("resource_tracker" in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return True


def running_timers(window: MainWindow) -> list[QTimer]:
    """Timers of a closed window that still run; a single shot on its way is none."""
    return [
        timer
        for timer in window.findChildren(QTimer)
        if timer.isActive() and not timer.isSingleShot()
    ]


@pytest.fixture
def window(new_window: Callable[[], MainWindow]) -> MainWindow:
    """A window on an empty document and no model."""
    return new_window()


@pytest.fixture
def load(qtbot: QtBot) -> Callable[..., MainWindow]:
    """Loads a model into a window and waits until its first row could be asked for."""

    def wait(window: MainWindow, model: str = MODEL) -> MainWindow:
        window.opener.open(model)
        qtbot.waitUntil(lambda: window.session.model is not None, timeout=LOAD_MS)
        return window

    return wait


@pytest.fixture
def loaded(window: MainWindow, load: Callable[..., MainWindow]) -> MainWindow:
    return load(window)


@pytest.fixture
def read(qtbot: QtBot) -> Callable[[MainWindow, str], None]:
    """Puts a prompt into the window and waits for the row behind it."""

    def write(window: MainWindow, text: str) -> None:
        session = window.session
        session.set_prompt(text)
        qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=LOAD_MS)

    return write
