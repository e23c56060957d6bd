"""The sampling panel on a stub engine that counts what the model is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.gui import theme
from logitscope.gui.panels.sampling import SamplingPanel
from logitscope.sampling import SamplerSettings

HALVES = np.log(np.array([0.5, 0.25, 0.125, 0.125], dtype=np.float32))
Opened = Callable[..., tuple[Stage, SamplingPanel]]


@pytest.fixture
def opened(qtbot: QtBot, styled_app: QApplication) -> Opened:
    """Opens the panel on a row of logits."""
    theme.set_mode(theme.Mode.LIGHT)

    def open_on(
        logits: np.ndarray | None = None, **settings: object
    ) -> tuple[Stage, SamplingPanel]:
        stage = Stage()
        panel = SamplingPanel(stage.session)
        qtbot.addWidget(panel)
        panel.resize(480, 900)
        panel.show()
        if logits is not None:
            stage.load(len(logits))
            stage.session.set_settings(replace(SamplerSettings(), **settings))
            stage.show(logits)
        panel.flush()
        return stage, panel

    return open_on
