"""How the window looks: the palette in force, its fonts, and one signal when either changes.

Widgets read ``palette()`` while they paint and repaint on ``notifier().changed``; nobody keeps a
colour.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from logitscope.gui import colors
from logitscope.gui.colors import Palette

GRID = 8
"""Margins and gaps are multiples of this many device-independent pixels, or half of it."""

ZOOM_LIMITS = (-4, 12)
"""Points that the size of all text may differ from the system's."""

_MONOSPACED = (
    "JetBrains Mono",
    "Cascadia Mono",
    "SF Mono",
    "Menlo",
    "Consolas",
    "Noto Sans Mono",
    "DejaVu Sans Mono",
    "Liberation Mono",
)
"""Preferred over the system's fixed font, which is Courier New on Windows."""

_FALLBACKS = (
    "Noto Sans Mono CJK SC",
    "Noto Sans CJK SC",
    "PingFang SC",
    "Microsoft YaHei UI",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Color Emoji",
    "Apple Color Emoji",
    "Segoe UI Emoji",
)


class Mode(StrEnum):
    """Which appearance the person chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Notifier(QObject):
    """Says that colours or fonts are other ones now."""

    changed = Signal()


class _State:
    """What is in force; one per process, as the application's style is."""

    def __init__(self) -> None:
        self.notifier = Notifier()
        self.mode = Mode.SYSTEM
        self.zoom = 0
        self.is_dark = False
        self.base_points = 0.0


@cache
def _state() -> _State:
    return _State()


# -- reading ----------------------------------------------------------------------------------


def palette() -> Palette:
    """The colours in force."""
    return colors.DARK if _state().is_dark else colors.LIGHT


def is_dark() -> bool:
    return _state().is_dark


def mode() -> Mode:
    return _state().mode


def zoom() -> int:
    """Points that text is larger than the system's."""
    return _state().zoom


def notifier() -> Notifier:
    return _state().notifier


def ui_font(delta: float = 0.0) -> QFont:
    """The system's font for chrome, ``delta`` points larger."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPointSizeF(max(6.0, _base_points() + _state().zoom + delta))
    return font


def token_font(delta: float = 0.0) -> QFont:
    """A monospaced face for tokens, with fall-backs for scripts it lacks."""
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font = QFont()
    font.setFamilies([*_installed_monospaced(), fixed.family(), *_FALLBACKS])
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPointSizeF(max(6.0, _base_points() + _state().zoom + delta))
    return font


def number_font(delta: float = 0.0) -> QFont:
    """The chrome's font with figures of equal width, so that columns of numbers line up."""
    font = ui_font(delta)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def pyqtgraph() -> ModuleType:
    """pyqtgraph, set to the colours in force; take it from here, not by import.

    Imported on first use: it costs a third of the window's start. Plots made before a change of
    appearance set their own colours again on ``notifier().changed``.
    """
    import pyqtgraph as library

    _colour_plots(library)
    return library  # type: ignore[no-any-return]


# -- changing ---------------------------------------------------------------------------------


def install(application: QApplication, mode: Mode = Mode.SYSTEM, zoom: int = 0) -> None:
    """Give the application its style and follow the system's appearance from now on."""
    application.setStyle(QStyleFactory.create("Fusion"))
    application.styleHints().colorSchemeChanged.connect(_follow_system)
    state = _state()
    state.zoom = _within_limits(zoom)
    set_mode(mode)


def set_mode(mode: Mode) -> None:
    """Choose an appearance, or follow the system's."""
    _state().mode = mode
    scheme = {
        Mode.SYSTEM: Qt.ColorScheme.Unknown,
        Mode.LIGHT: Qt.ColorScheme.Light,
        Mode.DARK: Qt.ColorScheme.Dark,
    }[mode]
    # Also gives the window's frame and native dialogs their appearance.
    QGuiApplication.styleHints().setColorScheme(scheme)
    _refresh()


def set_zoom(zoom: int) -> None:
    """Make all text this many points larger than the system's (smaller where negative)."""
    _state().zoom = _within_limits(zoom)
    _refresh()


def _within_limits(zoom: int) -> int:
    return min(ZOOM_LIMITS[1], max(ZOOM_LIMITS[0], zoom))


def _follow_system() -> None:
    if _state().mode is Mode.SYSTEM:
        _refresh()


def _refresh() -> None:
    state = _state()
    system = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    state.is_dark = system if state.mode is Mode.SYSTEM else state.mode is Mode.DARK
    application = QApplication.instance()
    if isinstance(application, QApplication):
        application.setPalette(qt_palette(palette()))
        application.setFont(ui_font())
        application.setStyleSheet(style_sheet(palette()))
    library = sys.modules.get("pyqtgraph")
    if library is not None:
        _colour_plots(library)
    state.notifier.changed.emit()


def _colour_plots(library: ModuleType) -> None:
    library.setConfigOptions(background=palette().page, foreground=palette().muted, antialias=True)


# -- making -----------------------------------------------------------------------------------


def qt_palette(of: Palette) -> QPalette:
    """Qt's own palette, for everything the style sheet leaves alone."""
    role = QPalette.ColorRole
    result = QPalette()
    for name, color in (
        (role.Window, of.panel),
        (role.WindowText, of.text),
        (role.Base, of.page),
        (role.AlternateBase, of.panel),
        (role.Text, of.text),
        (role.PlaceholderText, of.muted),
        (role.Button, of.raised),
        (role.ButtonText, of.text),
        (role.BrightText, of.error),
        (role.Highlight, of.accent),
        (role.HighlightedText, of.accent_text),
        (role.Accent, of.accent),
        (role.Link, of.accent),
        (role.LinkVisited, of.accent),
        (role.ToolTipBase, of.raised),
        (role.ToolTipText, of.text),
        (role.Light, of.raised),
        (role.Midlight, of.line),
        (role.Mid, of.line),
        (role.Dark, of.line),
        (role.Shadow, colors.mix(of.line, of.text, 0.2)),
    ):
        result.setColor(name, color)
    faint = colors.mix(of.panel, of.text, 0.45)
    for name in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, name, faint)
    return result


def style_sheet(of: Palette) -> str:
    """The packaged style sheet with this palette's colours in place of ``@names``."""
    packaged = resources.files("logitscope.resources")
    sheet = (packaged / "themes" / "window.qss").read_text("utf-8")
    sheet = sheet.replace("@appearance", "dark" if of is colors.DARK else "light")
    sheet = sheet.replace("@icons", Path(str(packaged / "icons")).as_posix())
    for name, color in sorted(_named(of).items(), key=lambda item: -len(item[0])):
        sheet = sheet.replace(f"@{name}", color.name(QColor.NameFormat.HexArgb))
    return sheet


def _named(of: Palette) -> dict[str, QColor]:
    names = {name: getattr(of, name) for name in Palette.__dataclass_fields__}
    return names | {
        "hover": colors.mix(of.raised, of.text, 0.06),
        "pressed": colors.mix(of.raised, of.text, 0.12),
        "faint": colors.mix(of.panel, of.text, 0.45),
        "accent_hover": colors.mix(of.accent, of.text, 0.15),
        "accent_soft": colors.mix(of.panel, of.accent, 0.14),
        "edge": colors.mix(of.line, of.text, 0.2),
    }


def _base_points() -> float:
    state = _state()
    if state.base_points == 0.0:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        # A font given in pixels has no point size; what is drawn has one.
        state.base_points = font.pointSizeF() if font.pointSizeF() > 0 else _drawn_points(font)
    return state.base_points


def _drawn_points(font: QFont) -> float:
    return QFontInfo(font).pointSizeF()


@cache
def _installed_monospaced() -> tuple[str, ...]:
    installed = set(QFontDatabase.families())
    return tuple(family for family in _MONOSPACED if family in installed)
