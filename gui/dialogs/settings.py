"""The settings, as the table says; every change is in force at once."""

from __future__ import annotations

from functools import partial
from typing import cast

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.settings import TABLE, AnySetting, Setting, Settings
from logitscope.gui.widgets.card import FRAME
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.shrinking_area import ShrinkingArea
from logitscope.gui.words import translated

CONTEXT = "Settings"
FIELD_WIDTH = 24 * theme.GRID
BESIDE_HELP = FIELD_WIDTH + 12 * theme.GRID
"""The field, the margins and a scroll bar."""


class SettingsDialog(QDialog):
    """One field for each line of the table, under its group's heading."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.fields: dict[str, QWidget] = {}
        self._helps: list[QLabel] = []
        self._sections: list[QWidget] = []
        self.setWindowTitle(self.tr("Settings"))
        self.area = ShrinkingArea(self._groups())
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(theme.GRID)
        layout.addWidget(self.area, 1)
        layout.addWidget(self._buttons())
        settings.changed.connect(self._show_all)
        theme.notifier().changed.connect(self._fit)

    def showEvent(self, event: QShowEvent) -> None:
        self._fit()
        super().showEvent(event)

    def _fit(self) -> None:
        """Show everything, where the screen has room for it; else it scrolls."""
        room = self.screen().availableGeometry().marginsRemoved(FRAME).size()
        for help_ in self._helps:
            line = help_.fontMetrics().horizontalAdvance(help_.text()) + theme.GRID
            # By itself a label that can wrap does so at about the length of this line.
            help_.setMinimumWidth(min(line, room.width() - BESIDE_HELP))
        # Told of the new widths by events, they would answer with the old ones now.
        for widget in (*self._sections, self.area):
            widget.updateGeometry()
        wanted = self.sizeHint()
        if wanted.height() > room.height():
            wanted += QSize(self.area.verticalScrollBar().sizeHint().width(), 0)
        self.resize(wanted.boundedTo(room))

    def _groups(self) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID)
        for group in dict.fromkeys(setting.group for setting in TABLE):
            column.addWidget(self._group(group))
        column.addStretch(1)
        return holder

    def _group(self, group: str) -> QWidget:
        holder = QWidget(self)
        self._sections.append(holder)
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, theme.GRID, 0, theme.GRID)
        grid.setHorizontalSpacing(2 * theme.GRID)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        heading = plain(QLabel(translated(CONTEXT, group)))
        heading.setProperty("heading", True)
        grid.addWidget(heading, 0, 0, 1, 2)
        for setting in TABLE:
            if setting.group == group:
                self._add(setting, grid)
        return holder

    def _add(self, setting: AnySetting, grid: QGridLayout) -> None:
        field = self._field(setting)
        self.fields[setting.key] = field
        title = plain(QLabel(translated(CONTEXT, setting.title)))
        title.setBuddy(field)
        help_ = plain(QLabel(translated(CONTEXT, setting.help), wordWrap=True))
        help_.setProperty("muted", True)
        self._helps.append(help_)
        field.setAccessibleName(title.text())
        field.setToolTip(help_.text())
        field.setMinimumWidth(FIELD_WIDTH)
        row = grid.rowCount()
        grid.setRowMinimumHeight(row, 3 * theme.GRID)
        grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignBottom)
        grid.addWidget(field, row, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(help_, row + 1, 0, Qt.AlignmentFlag.AlignTop)

    def _field(self, setting: AnySetting) -> QWidget:
        if isinstance(setting.default, bool):
            return self._check_box(cast(Setting[bool], setting))
        if isinstance(setting.default, int):
            return self._spin_box(cast(Setting[int], setting))
        return self._combo_box(setting)

    def _check_box(self, setting: Setting[bool]) -> QCheckBox:
        box = QCheckBox(self.tr("On"))
        box.setChecked(self._settings.get(setting))
        box.toggled.connect(partial(self._settings.set, setting))
        return box

    def _spin_box(self, setting: Setting[int]) -> QSpinBox:
        box = QSpinBox()
        box.setRange(setting.low, setting.high)
        box.setSpecialValueText(translated(CONTEXT, setting.special))
        box.setSuffix(setting.suffix)
        box.setGroupSeparatorShown(True)
        box.setKeyboardTracking(False)
        box.setValue(self._settings.get(setting))
        box.valueChanged.connect(partial(self._settings.set, setting))
        return box

    def _combo_box(self, setting: Setting[str]) -> QComboBox:
        box = QComboBox()
        for value, label in setting.choices:
            box.addItem(translated(CONTEXT, label), value)
        box.setCurrentIndex(box.findData(self._settings.get(setting)))
        box.currentIndexChanged.connect(
            lambda index: self._settings.set(setting, box.itemData(index))
        )
        return box

    def _buttons(self) -> QDialogButtonBox:
        kind = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kind.Close | kind.RestoreDefaults)
        restore = buttons.button(kind.RestoreDefaults)
        restore.setAutoDefault(False)
        restore.clicked.connect(self._settings.reset)
        buttons.rejected.connect(self.accept)
        return buttons

    def _show_all(self) -> None:
        """Settings can change elsewhere too: by a shortcut, or by restoring the defaults."""
        for setting in TABLE:
            field, value = self.fields[setting.key], self._settings.value(setting)
            if isinstance(field, QCheckBox):
                field.setChecked(bool(value))
            elif isinstance(field, QSpinBox):
                field.setValue(int(value))
            elif isinstance(field, QComboBox):
                field.setCurrentIndex(field.findData(value))
