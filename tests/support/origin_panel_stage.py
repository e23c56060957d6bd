"""The origin panel on a stub engine, with everything worked out."""

from __future__ import annotations

import pytest
from origin_stage import OriginStage
from pytestqt.qtbot import QtBot

from logitscope.gui.panels.origin import OriginPanel
from logitscope.origin_types import OriginReport


@pytest.fixture
def stage(qtbot: QtBot) -> OriginStage:
    return OriginStage()


@pytest.fixture
def panel(qtbot: QtBot, stage: OriginStage) -> OriginPanel:
    made = OriginPanel(stage.session)
    qtbot.addWidget(made)
    made.resize(1100, 520)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def full(qtbot: QtBot, stage: OriginStage, panel: OriginPanel) -> OriginPanel:
    """Everything is worked out."""
    stage.write()
    stage.mark()
    stage.answer()
    qtbot.waitUntil(lambda: panel.originator.is_working)
    stage.work_out(panel.originator)
    panel.flush()
    return panel


def report_of(panel: OriginPanel) -> OriginReport:
    report = panel.originator.report
    assert report is not None
    return report


def show(panel: OriginPanel, report: OriginReport) -> None:
    panel.originator._report = report
    panel.flush()
