"""The icons: SVG files in ``currentColor``, tinted with the palette while they are painted."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from logitscope.gui import colors, theme

_APPLICATION_SIZES = (16, 32, 48, 128, 256)


class _Tinted(QIconEngine):
    """Paints one SVG in a colour of the palette in force: after a change of appearance a repaint
    is all it needs. Nothing is rendered before it is shown."""

    def __init__(self, name: str, role: str) -> None:
        super().__init__()
        self._name = name
        self._role = role

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, _state: QIcon.State, scale: float
    ) -> QPixmap:
        color = getattr(theme.palette(), self._role)
        if mode is QIcon.Mode.Disabled:
            color = colors.mix(theme.palette().panel, color, 0.4)
        return pixmap(self._name, min(size.width(), size.height()), color, scale)

    def clone(self) -> QIconEngine:
        copy = _Tinted(self._name, self._role)
        # Qt owns what this returns, but PySide does not know it and would free it at once.
        _clones.append(copy)
        return copy


_clones: list[QIconEngine] = []
"""A few at most: Qt clones an engine only where an icon that is shared gets another picture."""


def icon(name: str, role: str = "text") -> QIcon:
    """An icon in the palette's colour ``role``. KeyError for a name without a file."""
    _source(name)
    return QIcon(_Tinted(name, role))


def blank() -> QIcon:
    """Nothing, where other icons stand: what follows them begins at the same place."""
    nothing = QPixmap(_APPLICATION_SIZES[1], _APPLICATION_SIZES[1])
    nothing.fill(Qt.GlobalColor.transparent)
    return QIcon(nothing)


def pixmap(name: str, size: int, color: QColor, ratio: float) -> QPixmap:
    """One picture for a screen of this pixel ratio; ``size`` is in device-independent pixels."""
    return _pixmap(name, size, color.name(), ratio)


def application_icon() -> QIcon:
    """The program's own icon, in its own colours."""
    result = QIcon()
    for size in _APPLICATION_SIZES:
        result.addPixmap(_pixmap("logitscope", size, "", 1.0))
    return result


@lru_cache(maxsize=512)
def _pixmap(name: str, size: int, color: str, ratio: float) -> QPixmap:
    pixels = max(1, round(size * ratio))
    image = QImage(QSize(pixels, pixels), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    source = _source(name).replace("currentColor", color) if color else _source(name)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return QPixmap.fromImage(image)


@cache
def _source(name: str) -> str:
    file = resources.files("logitscope.resources") / "icons" / f"{name}.svg"
    if not file.is_file():
        raise KeyError(f"there is no icon {name!r}")
    return file.read_text("utf-8")
