"""What the model really received: the exact text with its special tokens, and the ids."""

from __future__ import annotations

from itertools import groupby

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from logitscope.display import name_of
from logitscope.gui import theme
from logitscope.gui.session import Session
from logitscope.gui.widgets.plain import plain
from logitscope.vocabulary import Vocabulary


def exact_text(vocabulary: Vocabulary, ids: tuple[int, ...]) -> str:
    """The text of the ids; special tokens by name, bytes that are no text as ``\\xNN``."""
    runs = groupby(ids, vocabulary.is_special)
    return "".join(
        "".join(name_of(vocabulary, i) for i in run)
        if special
        else vocabulary.text_bytes(list(run)).decode("utf-8", "backslashreplace")
        for special, run in runs
    )


class ExactPromptDialog(QDialog):
    """Closes with Esc; does not follow later changes."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("What the model received"))
        self.resize(720, 480)
        ids, vocabulary = session.ids, session.vocabulary
        words = self.tr(
            "{prompt} tokens of the prompt and {rest} behind it; special tokens are written by "
            "name."
        )
        rest = len(ids) - session.prompt_length
        count = plain(QLabel(words.format(prompt=session.prompt_length, rest=rest), wordWrap=True))
        self.text = _reader(exact_text(vocabulary, ids) if vocabulary is not None else "")
        self.text.setAccessibleName(self.tr("Exact text"))
        self.ids = _reader(" ".join(map(str, ids)))
        self.ids.setAccessibleName(self.tr("Ids"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        for title, reader in ((self.tr("Copy text"), self.text), (self.tr("Copy ids"), self.ids)):
            button = buttons.addButton(title, QDialogButtonBox.ButtonRole.ActionRole)
            button.clicked.connect(lambda _checked, source=reader: _copy(source))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(theme.GRID)
        layout.addWidget(count)
        layout.addWidget(self.text, 2)
        layout.addWidget(self.ids, 1)
        layout.addWidget(buttons)


def _reader(text: str) -> QPlainTextEdit:
    reader = QPlainTextEdit(text)
    reader.setReadOnly(True)
    reader.setFont(theme.token_font())
    return reader


def _copy(source: QPlainTextEdit) -> None:
    QGuiApplication.clipboard().setText(source.toPlainText())
