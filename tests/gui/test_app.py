"""The start of the program and its end, in a process of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from logitscope.backends.base import BackendError
from logitscope.gui import app
from logitscope.gui.main_window import MainWindow

LAUNCH = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from logitscope.gui import app
from logitscope.gui.main_window import MainWindow

def look():
    windows = [w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow)]
    if windows and windows[0].session.model is not None:
        print("ready", flush=True)
        timer.stop()

make = app.make_application
def with_watch():
    application = make()
    global timer
    timer = QTimer(interval=50)
    timer.timeout.connect(look)
    timer.start()
    return application
app.make_application = with_watch

if __name__ == "__main__":
    sys.exit(app.run("fake:vocab=500,decode_ms=1"))
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program with its window on a fake model, once the model is loaded."""
    script = tmp_path / "launch.py"
    script.write_text(LAUNCH)
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals to send")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_window_and_model(
    started: subprocess.Popen[str], number: signal.Signals
) -> None:
    children = psutil.Process(started.pid).children(recursive=True)
    assert children
    started.send_signal(number)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 0
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(children, timeout=5)
    assert alive == []


def test_the_stopper_gives_the_signals_back(qtbot: QtBot, window: MainWindow) -> None:
    before = signal.getsignal(signal.SIGINT)
    stopper = app.Stopper(window)
    assert signal.getsignal(signal.SIGINT) != before
    signal.raise_signal(signal.SIGINT)
    qtbot.waitUntil(lambda: not window.isVisible())
    stopper.close()
    assert signal.getsignal(signal.SIGINT) == before


def test_a_signal_before_the_window_is_there_closes_it_all_the_same(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.hide()
    stopper = app.Stopper(window)
    signal.raise_signal(signal.SIGINT)
    window.show()
    qtbot.waitUntil(lambda: not window.isVisible())
    stopper.close()


def test_a_missing_library_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> None:
        raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(BackendError, match="apt install libxcb-cursor0") as caught:
        app.require_plugin("libqxcb.so")
    assert "libxcb-cursor.so.0" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only there Qt needs a display server")
def test_without_a_screen_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BackendError, match="no screen"):
        app.require_display()
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    app.require_display()
