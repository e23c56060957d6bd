"""The answer as it is, and the one that the model gives without the sources."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_view import TokenView
from logitscope.vocabulary import Vocabulary


class OriginFree(QWidget):
    """Two texts, one above the other; the first token in which they differ is marked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._difference: int | None = None
        self.given, self.free = TokenView(self), TokenView(self)
        self.given.setAccessibleName(self.tr("Answer with the sources"))
        self.free.setAccessibleName(self.tr("Answer without the sources"))
        self.free.set_placeholder(self.tr("… is generated when the labels are known"))
        self.said = ElidingLabel(self)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, theme.GRID // 2, 0, 0)
        grid.setVerticalSpacing(theme.GRID // 2)
        for row, (title, view) in enumerate(
            ((self.tr("with"), self.given), (self.tr("without"), self.free))
        ):
            name = plain(QLabel(title, self))
            name.setProperty("muted", True)
            grid.addWidget(name, row, 0)
            grid.addWidget(view, row, 1)
            grid.setRowStretch(row, 1)
            view.set_style(self._style)
            view.setMinimumSize(96, 40)
            # What it would like is more than a page has.
            view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        grid.addWidget(self.said, 2, 0, 1, 2)
        self.setToolTip(
            self.tr(
                "Generated with the sampler settings in force, and with the same random number at "
                "each place of the answer: only the distributions differ."
            )
        )

    @property
    def difference(self) -> int | None:
        """The first token that differs, None where there is none so far."""
        return self._difference

    def show_answers(
        self,
        given: tuple[int, ...],
        free: tuple[int, ...],
        vocabulary: Vocabulary | None,
        *,
        is_whole: bool,
    ) -> None:
        """``is_whole``: the free answer will not grow any more."""
        pairs = zip(given, free, strict=False)
        self._difference = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if self._difference is None and is_whole and len(free) != len(given):
            self._difference = min(len(given), len(free))
        self.given.set_tokens(given, vocabulary)
        self.free.set_tokens(free, vocabulary)
        self.said.setText(self._sentence(len(free), is_whole=is_whole))

    def _sentence(self, count: int, *, is_whole: bool) -> str:
        if self._difference is not None:
            words = self.tr("The first difference is at token {n} of the answer.")
            return words.format(n=self._difference + 1)
        if is_whole and count:
            return self.tr("Without the sources the model gives the same answer.")
        return ""

    def _style(self, token: int) -> CellStyle:
        palette = theme.palette()
        if token != self._difference:
            return CellStyle(palette.generated_tint)
        return CellStyle(
            palette.forced_tint, mark=Mark.DOUBLE, mark_color=palette.warning, keeps_background=True
        )
