"""The next-token panel on a stub engine, and torch's softmax to hold it against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.gui import theme
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.sampling import SamplerSettings

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

TEXTBOOK = np.array([5.0, 2.0, 1.0, -2.0], dtype=np.float32)
Opened = Callable[..., tuple[Stage, DistributionPanel]]


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """torch's own, in float64."""
    row = torch.from_numpy(np.asarray(logits, dtype=np.float64)) / temperature
    return np.asarray(torch.softmax(row, dim=-1))


def random_row(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 3.0, size).astype(np.float32)


@pytest.fixture
def stage(styled_app: QApplication) -> Stage:
    theme.set_mode(theme.Mode.LIGHT)
    return Stage()


@pytest.fixture
def opened(qtbot: QtBot, stage: Stage) -> Opened:
    """Opens the panel on a row of logits."""

    def open_on(logits: np.ndarray, **settings: object) -> tuple[Stage, DistributionPanel]:
        panel = DistributionPanel(stage.session)
        qtbot.addWidget(panel)
        panel.resize(560, 700)
        panel.show()
        stage.load(len(logits))
        stage.session.set_settings(replace(SamplerSettings(), **settings))
        stage.show(logits)
        panel.flush()
        return stage, panel

    return open_on


def picture(panel: DistributionPanel) -> QImage:
    return panel.bars.view.viewport().grab().toImage()


def near(one: QColor, other: QColor) -> bool:
    pairs = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)
    return all(abs(a - b) <= 2 for a, b in pairs)


def width_of_color(image: QImage, y: float, color: QColor) -> int:
    return sum(near(image.pixelColor(x, int(y)), color) for x in range(image.width()))


def open_list(panel: DistributionPanel) -> None:
    panel.tabs.setCurrentWidget(panel.list)


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(p || q) by torch."""
    log_q, target = torch.log(torch.from_numpy(q)), torch.from_numpy(p)
    return float(torch.nn.functional.kl_div(log_q, target, reduction="sum"))
