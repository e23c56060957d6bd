"""What the marks of the origins stand for, in as many lines as they need."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from logitscope.gui import colors, theme
from logitscope.gui.origin_style import (
    LOOKS,
    SIGNS,
    ground_of,
    hatch_color,
    label_meaning,
    label_name,
    line_color,
    sign_meaning,
)
from logitscope.gui.widgets.token_painter import PEN_STYLES, Mark
from logitscope.origin_types import Flag, Label

GAP = 12
PADDING = 5
_SHOWN_STRENGTH = 0.7


class OriginLegend(QWidget):
    """Samples of the labels and signs that occur; tooltips say what they mean."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[Label | Flag, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Legend"))
        theme.notifier().changed.connect(self._restyle)

    @property
    def entries(self) -> tuple[Label | Flag, ...]:
        return self._entries

    def set_entries(self, entries: Sequence[Label | Flag]) -> None:
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.setAccessibleDescription("; ".join(map(meaning_of, self._entries)))
            self._restyle()

    def _restyle(self) -> None:
        self._fit()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as its lines. Told to the layout as a height that depends on the width, this
        would make a scroll area around the panel give all of it the room it would like."""
        rects = self._rects(self.width())
        self.setFixedHeight(round(rects[-1].bottom() + 1 if rects else self._line_height))

    @property
    def _line_height(self) -> float:
        return QFontMetricsF(theme.ui_font(-1)).height() + 6

    def sizeHint(self) -> QSize:
        return QSize(240, round(self._line_height))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, round(self._line_height))

    def _rects(self, width: int) -> list[QRectF]:
        metrics = QFontMetricsF(theme.ui_font(-1))
        found, left, top = [], 0.0, 0.0
        for entry in self._entries:
            own = metrics.horizontalAdvance(text_of(entry)) + 2 * PADDING
            if left and left + own > width:
                left, top = 0.0, top + self._line_height
            found.append(QRectF(left, top, own, self._line_height - 2))
            left += own + GAP
        return found

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(theme.ui_font(-1))
        for entry, rect in zip(self._entries, self._rects(self.width()), strict=True):
            ground = theme.palette().panel
            if isinstance(entry, Label):
                ground = ground_of(entry, _SHOWN_STRENGTH)
                _paint_sample(painter, entry, rect)
            painter.setPen(colors.readable(theme.palette().text, ground))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text_of(entry))
        painter.end()

    def tip_at(self, point: QPoint) -> str:
        """What is said of the entry under a point."""
        for entry, rect in zip(self._entries, self._rects(self.width()), strict=True):
            if rect.contains(QPointF(point)):
                return meaning_of(entry)
        return ""

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos()), self)
            return True
        return super().event(event)


def text_of(entry: Label | Flag) -> str:
    """The words of an entry."""
    if isinstance(entry, Label):
        return label_name(entry)
    return f"{SIGNS[entry][0]} {sign_meaning(entry).split(':')[0]}"


def meaning_of(entry: Label | Flag) -> str:
    """One sentence."""
    if isinstance(entry, Label):
        return f"{label_name(entry)}: {label_meaning(entry)}"
    return sign_meaning(entry)


def _paint_sample(painter: QPainter, label: Label, rect: QRectF) -> None:
    painter.fillRect(rect, ground_of(label, _SHOWN_STRENGTH))
    look, color = LOOKS[label], line_color(label)
    if look.is_hatched:
        painter.fillRect(rect, QBrush(hatch_color(label), Qt.BrushStyle.BDiagPattern))
    if look.mark is Mark.NONE:
        return
    painter.setPen(QPen(color, 2.0, PEN_STYLES[look.mark], Qt.PenCapStyle.FlatCap))
    for lift in (0.0, 3.0) if look.mark is Mark.DOUBLE else (0.0,):
        y = rect.bottom() - 1.5 - lift
        painter.drawLine(QPointF(rect.left() + 1, y), QPointF(rect.right() - 1, y))
