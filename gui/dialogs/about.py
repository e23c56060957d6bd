"""Name, version and licence."""

from __future__ import annotations

from importlib.metadata import version

from PySide6.QtCore import qVersion
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.widgets.plain import plain

ICON = 96


class AboutDialog(QDialog):
    """Closes with Esc like all dialogs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("About Logitscope"))
        picture = plain(QLabel())
        picture.setPixmap(icons.application_icon().pixmap(ICON, ICON))
        name = plain(QLabel("Logitscope"))
        font = theme.ui_font(8)
        font.setWeight(font.Weight.DemiBold)
        name.setFont(font)
        words = self.tr("See how a language model writes: every next-token distribution, live.")
        text = plain(QLabel(words, wordWrap=True))
        text.setMinimumWidth(320)
        numbers = plain(
            QLabel(
                self.tr("Version {ours}, Qt {qt}. Apache License 2.0.").format(
                    ours=version("logitscope"), qt=qVersion()
                )
            )
        )
        numbers.setProperty("muted", True)
        column = QVBoxLayout()
        for label in (name, text, numbers):
            column.addWidget(label)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(24)
        row.addWidget(picture)
        row.addLayout(column, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 16)
        layout.setSpacing(16)
        layout.addLayout(row)
        layout.addWidget(buttons)
