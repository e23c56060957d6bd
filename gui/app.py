"""Starts the window: the application object, what can go wrong before there is one, the end."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import traceback
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QLibraryInfo, QObject, QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from logitscope.backends.base import BackendError, LoadOptions
from logitscope.gui import icons, theme
from logitscope.gui.dropping import Kind, kind_of
from logitscope.gui.engine import Engine
from logitscope.gui.garbage import Collector
from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Message, Severity
from logitscope.gui.session import Session
from logitscope.gui.settings import THEME, ZOOM, Settings
from logitscope.heap import keep_freed_blocks

_PACKAGES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
"""Libraries that Qt's X11 plugin needs and a bare Debian lacks, and their packages."""


def run(model: str | None, backend: str = "", options: LoadOptions | None = None) -> int:
    """Open the window and stay until it is closed; returns the exit code.

    Raises BackendError, one sentence, where no window can be opened on this machine.
    """
    require_display()
    application = make_application()
    settings = Settings()
    theme.install(application, theme.Mode(settings.get(THEME)), settings.get(ZOOM))
    window = make_window(settings)
    previous = sys.excepthook
    sys.excepthook = Hook(window)
    stopper = Stopper(window)
    window.show()
    collector = Collector()
    chosen = with_defaults(options, settings.load_options())
    # The window is painted first; the model process starts behind it.
    QTimer.singleShot(0, window, lambda: open_first(window, model, backend, chosen))
    QTimer.singleShot(0, window, window.unsaved.offer)
    try:
        return application.exec()
    finally:
        collector.close()
        stopper.close()
        sys.excepthook = previous


def open_first(window: MainWindow, path: str | None, backend: str, options: LoadOptions) -> None:
    """What the command line names: a model, or a saved session, which brings its own."""
    if path is not None and kind_of(Path(path)) is Kind.SESSION:
        window.files.open_path(Path(path))
        if window.files.keeper.path is not None:
            return
        path = None
    window.opener.open_at_start(path, backend, options)


def make_application() -> QApplication:
    """The one application object, named and with its icon."""
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    application.setApplicationName("Logitscope")
    application.setApplicationDisplayName("Logitscope")
    application.setOrganizationName("Logitscope")
    application.setDesktopFileName("logitscope")
    application.setWindowIcon(icons.application_icon())
    keep_freed_blocks()
    return application


def make_window(settings: Settings) -> MainWindow:
    """A window on an empty document and no model."""
    engine = Engine()
    session = Session(engine)
    window = MainWindow(session, settings)
    for owned in (settings, session, engine):
        owned.setParent(window)
    return window


def with_defaults(options: LoadOptions | None, defaults: LoadOptions) -> LoadOptions:
    """What was asked for, and the settings for the rest."""
    if options is None:
        return defaults
    asked = {
        field.name: getattr(options, field.name)
        for field in fields(LoadOptions)
        if getattr(options, field.name) != getattr(LoadOptions(), field.name)
    }
    return replace(defaults, **asked)


# -- before there is a window -------------------------------------------------------------------


def require_display() -> None:
    """Qt ends the process where its platform plugin does not load; say why before that.

    Raises BackendError.
    """
    if sys.platform != "linux":
        return
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    has_x11 = bool(os.environ.get("DISPLAY"))
    has_wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
    if not platform and not has_x11 and not has_wayland:
        raise BackendError(
            "There is no screen to open a window on (DISPLAY is not set): "
            "start it from a desktop, or use the commands next, score or info."
        )
    if platform.startswith("xcb") or (not platform and has_x11 and not has_wayland):
        require_plugin("libqxcb.so")


def require_plugin(name: str) -> None:
    """Load a platform plugin as Qt would; BackendError names the library it misses."""
    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath))
    try:
        ctypes.CDLL(str(folder / "platforms" / name))
    except OSError as error:
        missing = str(error).partition(":")[0]
        package = _PACKAGES.get(missing)
        cure = f"run apt install {package}" if package else "install the package that holds it"
        raise BackendError(
            f"The window cannot start, because the system library {missing} is missing: {cure} "
            "(or your distribution's name for it).",
            str(error),
        ) from error


# -- the end ------------------------------------------------------------------------------------


class Stopper(QObject):
    """Closes the window on Ctrl-C and on SIGTERM, the model process with it.

    Python runs a signal's handler only when it gets to run: a byte on a socket, which the
    interpreter writes from the signal itself, wakes Qt's loop up for it.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__()
        self._window = window
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        self._notifier = QSocketNotifier(self._receiver.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._drain)
        self._old_descriptor = signal.set_wakeup_fd(self._sender.fileno())
        self._old = {number: signal.signal(number, self._stop) for number in _STOP_SIGNALS}

    def close(self) -> None:
        """Give the signals back."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_descriptor)
        self._notifier.setEnabled(False)
        self._receiver.close()
        self._sender.close()

    def _drain(self) -> None:
        self._receiver.recv(64)

    def _stop(self, _number: int, _frame: object) -> None:
        # Closed before the loop runs, the window would come up all the same and stay.
        QTimer.singleShot(0, self._window, self._window.close)


_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Hook:
    """An exception that nobody caught becomes a dialog; the window goes on."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        detail = "".join(traceback.format_exception(kind, error, trace))
        print(detail, file=sys.stderr, end="")
        if issubclass(kind, KeyboardInterrupt):
            self._window.close()
            return
        sentence = (
            f"Something in the window failed ({kind.__name__}); what you have is still there."
        )
        self._window.messages.put(Message(sentence, detail, Severity.BUG))
