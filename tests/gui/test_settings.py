"""The table of settings: kept, checked, shown and applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialogButtonBox, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.gui import theme
from logitscope.gui.dialogs.settings import SettingsDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import (
    BARS,
    CACHE_TYPE,
    CONTEXT,
    FLASH,
    GPU_LAYERS,
    OPEN_LAST,
    RECENT_LIMIT,
    RUN_LENGTH,
    TABLE,
    THEME,
    THREADS,
    ZOOM,
    AnySetting,
    Settings,
)

NewSettings = Callable[[], Settings]


@pytest.fixture
def settings(new_settings: NewSettings) -> Settings:
    return new_settings()


def test_keys_are_unique() -> None:
    assert len({setting.key for setting in TABLE}) == len(TABLE)


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.key)
def test_a_default_is_allowed_and_explained(setting: AnySetting, settings: Settings) -> None:
    assert settings.value(setting) == setting.default
    assert setting.help.endswith(".")
    assert type(settings.value(setting)) is type(setting.default)


def test_values_outlive_the_program(new_settings: NewSettings) -> None:
    first = new_settings()
    first.set(THEME, "dark")
    first.set(RUN_LENGTH, 7)
    first.set(OPEN_LAST, False)
    first.sync()
    second = new_settings()
    assert (second.get(THEME), second.get(RUN_LENGTH), second.get(OPEN_LAST)) == ("dark", 7, False)


@pytest.mark.parametrize(
    ("key", "stored"),
    [
        (THEME.key, "pink"),
        (RUN_LENGTH.key, "many"),
        (RUN_LENGTH.key, "0"),
        (RUN_LENGTH.key, "10000000"),
        (OPEN_LAST.key, "perhaps"),
        (ZOOM.key, "99"),
        (CACHE_TYPE.key, ["f16", "f32"]),
    ],
)
def test_nonsense_in_the_file_is_read_as_the_default(
    key: str, stored: object, store_path: Path, new_settings: NewSettings
) -> None:
    store = QSettings(str(store_path), QSettings.Format.IniFormat)
    store.setValue(key, stored)
    store.sync()
    (setting,) = [setting for setting in TABLE if setting.key == key]
    assert new_settings().value(setting) == setting.default


def test_a_value_out_of_bounds_is_refused(settings: Settings) -> None:
    with pytest.raises(ValueError, match="run_length"):
        settings.set(RUN_LENGTH, 0)
    with pytest.raises(ValueError, match="theme"):
        settings.set(THEME, "pink")


def test_only_a_change_is_announced(qtbot: QtBot, settings: Settings) -> None:
    announced: list[str] = []
    settings.changed.connect(announced.append)
    settings.set(ZOOM, 2)
    settings.set(ZOOM, 2)
    assert announced == [ZOOM.key]


def test_load_options_follow_the_settings(settings: Settings) -> None:
    assert settings.load_options() == LoadOptions()
    settings.set(CONTEXT, 1024)
    settings.set(THREADS, 3)
    settings.set(GPU_LAYERS, 0)
    settings.set(CACHE_TYPE, "f32")
    assert settings.load_options() == LoadOptions(
        context_length=1024, threads=3, gpu_layers=0, cache_type="f32"
    )
    for chosen, asked in (("on", True), ("off", False), ("auto", None)):
        settings.set(FLASH, chosen)
        assert settings.load_options().flash_attention is asked


# -- recent models ------------------------------------------------------------------------------


def test_recent_models_are_kept_newest_first_each_once(new_settings: NewSettings) -> None:
    settings = new_settings()
    for number in range(RECENT_LIMIT + 3):
        settings.remember_model(f"/models/{number}.gguf")
    settings.remember_model("/models/9.gguf")
    settings.sync()
    recent = new_settings().recent
    assert len(recent) == RECENT_LIMIT
    assert recent[:3] == ("/models/9.gguf", "/models/14.gguf", "/models/13.gguf")
    assert len(set(recent)) == RECENT_LIMIT


@pytest.mark.parametrize(
    "path", ["/a b/ünï 模型 🧠.gguf", "C:\\models, mine\\x.gguf", "/a;b=c.gguf"]
)
def test_one_recent_model_with_an_odd_name_survives(path: str, new_settings: NewSettings) -> None:
    settings = new_settings()
    settings.remember_model(path)
    settings.sync()
    assert new_settings().recent == (path,)


def test_recent_models_can_be_forgotten(settings: Settings) -> None:
    settings.remember_model("/models/a.gguf")
    settings.forget_models()
    assert settings.recent == ()


# -- the dialog ---------------------------------------------------------------------------------


@pytest.fixture
def dialog(qtbot: QtBot, window: MainWindow) -> SettingsDialog:
    window.show_settings()
    found = window.findChild(SettingsDialog)
    assert found is not None
    qtbot.waitExposed(found)
    return found


def test_the_dialog_has_a_named_field_for_every_setting(dialog: SettingsDialog) -> None:
    assert set(dialog.fields) == {setting.key for setting in TABLE}
    assert all(field.accessibleName() for field in dialog.fields.values())


def test_a_choice_is_in_force_at_once(dialog: SettingsDialog, window: MainWindow) -> None:
    colours = dialog.fields[THEME.key]
    assert isinstance(colours, QComboBox)
    colours.setCurrentIndex(colours.findData("dark"))
    assert theme.is_dark()
    size = dialog.fields[ZOOM.key]
    assert isinstance(size, QSpinBox)
    size.setValue(3)
    assert theme.zoom() == 3
    last = dialog.fields[OPEN_LAST.key]
    assert isinstance(last, QCheckBox)
    last.setChecked(False)
    assert window.settings.get(OPEN_LAST) is False


def test_restoring_defaults_is_shown(dialog: SettingsDialog, window: MainWindow) -> None:
    window.settings.set(RUN_LENGTH, 5)
    length = dialog.fields[RUN_LENGTH.key]
    assert isinstance(length, QSpinBox)
    assert length.value() == 5
    buttons = dialog.findChild(QDialogButtonBox)
    assert buttons is not None
    buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults).click()
    assert length.value() == RUN_LENGTH.default


def test_the_panels_boxes_are_settings(window: MainWindow, new_settings: NewSettings) -> None:
    window.panels["text"].transport.length.setValue(9)  # type: ignore[attr-defined]
    window.panels["distribution"].count_box.setValue(33)  # type: ignore[attr-defined]
    assert window.settings.get(RUN_LENGTH) == 9
    assert window.settings.get(BARS) == 33
    window.settings.reset()
    assert window.panels["text"].transport.length.value() == RUN_LENGTH.default  # type: ignore[attr-defined]


def is_whole(widget: QWidget) -> bool:
    """Whether all of it can be seen."""
    return widget.visibleRegion().boundingRect() == widget.rect()


@pytest.mark.parametrize("zoom", [0, ZOOM.high])
def test_on_a_small_screen_the_settings_scroll_and_can_be_closed(
    qtbot: QtBot, dialog: SettingsDialog, zoom: int
) -> None:
    dialog._settings.set(ZOOM, zoom)
    dialog.show()
    qtbot.waitExposed(dialog)
    room = dialog.screen().availableGeometry()
    assert dialog.height() <= room.height()
    assert dialog.width() <= room.width()
    buttons = dialog.findChild(QDialogButtonBox)
    assert buttons is not None
    qtbot.waitUntil(lambda: is_whole(buttons))
    last = dialog.fields[TABLE[-1].key]
    dialog.area.ensureWidgetVisible(last)
    assert dialog.area.horizontalScrollBar().maximum() == 0
    qtbot.waitUntil(lambda: is_whole(last))
