"""The settings, as the table says; every change is in force at once."""

from __future__ import annotations

from functools import partial
from typing import cast

from PySide6.QtCore import Qt
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
from logitscope.gui.widgets.plain import plain
from logitscope.gui.words import translated

CONTEXT = "Settings"


class SettingsDialog(QDialog):
    """One field for each line of the table, under its group's heading."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.fields: dict[str, QWidget] = {}
        self.setWindowTitle(self.tr("Settings"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(theme.GRID)
        for group in dict.fromkeys(setting.group for setting in TABLE):
            layout.addWidget(self._group(group))
        layout.addStretch(1)
        layout.addWidget(self._buttons())
        settings.changed.connect(self._show_all)
        theme.notifier().changed.connect(self.adjustSize)

    def _group(self, group: str) -> QWidget:
        holder = QWidget(self)
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
        help_ = plain(QLabel(translated(CONTEXT, setting.help)))
        help_.setProperty("muted", True)
        field.setAccessibleName(title.text())
        field.setToolTip(help_.text())
        field.setMinimumWidth(24 * theme.GRID)
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
