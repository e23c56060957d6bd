"""The "how" tab takes a logit to pieces: what it asks, and the numbers it shows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.backends.base import Capabilities
from logitscope.backends.messages import Failed, Unembedded
from logitscope.gui.engine import Engine
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.distribution_logit import LogitSource
from logitscope.gui.session import Session
from logitscope.unembedding import Unembedding

LOGITS = np.array([5.0, 2.0, 1.0, -2.0], dtype=np.float32)
RIGHT_ANGLED = Unembedding(
    token_id=0, width=2, hidden_norm=5.0, row_norm=2.0, dot=5.0, bias=None, scale=1.0,
    soft_cap=None, tied=True, model_logit=5.0,
)  # fmt: skip
"""cos = 5 / (5 · 2) = 1/2: the angle is 60°."""


@pytest.fixture
def stage(styled_app: QApplication) -> Stage:
    return Stage()


@pytest.fixture
def open_how(qtbot: QtBot, stage: Stage) -> Iterator[Callable[..., LogitSource]]:
    """Opens the tab on ``LOGITS``."""
    kept = []

    def opened(*, backend: str = "hf", able: bool = True) -> LogitSource:
        panel = DistributionPanel(stage.session)
        kept.append(panel)
        qtbot.addWidget(panel)
        panel.resize(560, 700)
        panel.show()
        panel.tabs.setCurrentWidget(panel.how)
        stage.load(len(LOGITS))
        assert stage.session.model is not None
        stage.session.model = replace(
            stage.session.model, backend=backend, capabilities=Capabilities(hidden_state=able)
        )
        stage.show(LOGITS)
        panel.flush()
        return panel.how.source

    yield opened


def answer(stage: Stage, parts: Unembedding) -> None:
    assert stage.engine.requests[-1] == "unembed"
    number = len(stage.engine.requests)
    stage.engine.replied.emit(Unembedded(number, stage.session.ids, parts))


def plain(source: LogitSource) -> str:
    return re.sub(r"<[^>]+>", " ", source.text())


def test_both_norms_the_angle_and_the_product(stage: Stage, open_how) -> None:
    source = open_how()
    assert "asked" in source.text()
    answer(stage, RIGHT_ANGLED)
    text = plain(source)
    for words in ("|h| = 5", "|w| = 2", "60.00°", "cos = 0.5000", "= 5.0000", "is tied"):
        assert words in text
    assert "bias" not in text
    assert "cap" not in text
    assert "fewer digits" not in text


def test_bias_scale_and_soft_cap_are_shown_in_their_order(stage: Stage, open_how) -> None:
    source = open_how()
    logit = 10 * math.tanh(0.3 * (5.0 + 1.0) / 10)
    answer(
        stage,
        replace(RIGHT_ANGLED, bias=1.0, scale=0.3, soft_cap=10.0, tied=False, model_logit=logit),
    )
    text = plain(source)
    order = ("bias", "1.0000", "× 0.3 = 1.8000", "10 · tanh(1.8000 / 10)", f"{logit:.4f}")
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "not tied" in text


def test_a_coarsely_rounded_row_is_admitted(stage: Stage, open_how) -> None:
    source = open_how()
    answer(stage, replace(RIGHT_ANGLED, model_logit=5.03))
    assert "5.0300: it computes with fewer digits" in plain(source)


def test_it_asks_once_for_a_token(stage: Stage, open_how) -> None:
    source = open_how()
    answer(stage, RIGHT_ANGLED)
    row = stage.session.row
    source.show_token(row, 0)
    assert stage.engine.requests.count("unembed") == 1
    source.show_token(row, 2)
    assert stage.engine.requests.count("unembed") == 2
    assert "5.0000" not in source.text()


def test_after_a_failure_the_next_look_asks_again(stage: Stage, open_how) -> None:
    source = open_how()
    stage.engine.replied.emit(Failed(len(stage.engine.requests), "No."))
    source.show_token(stage.session.row, 0)
    assert stage.engine.requests.count("unembed") == 2


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        ("llamacpp", "llama.cpp gives logits without the hidden state"),
        ("hf", "stub does behind its unembedding table"),
        ("other", "logits alone"),
    ],
)
def test_a_model_that_cannot_says_why(stage: Stage, open_how, backend: str, words: str) -> None:
    source = open_how(backend=backend, able=False)
    assert words in source.text()
    assert "unembed" not in stage.engine.requests


@pytest.mark.torch
def test_a_real_model_gives_the_logit_on_show(
    qtbot: QtBot, styled_app: QApplication, tiny_hf: Path
) -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    engine = Engine()
    session = Session(engine)
    panel = DistributionPanel(session)
    qtbot.addWidget(panel)
    panel.resize(560, 700)
    panel.show()
    panel.tabs.setCurrentWidget(panel.how)
    session.open_model(str(tiny_hf))
    session.set_prompt("The sky is")
    qtbot.waitUntil(lambda: "|h|" in panel.how.source.text(), timeout=120_000)
    assert session.row is not None
    logits = session.row.distribution.logits
    shown = re.findall(r"<b>(−?[\d.]+)</b>", panel.how.source.text())
    assert float(shown[-1].replace("−", "-")) == pytest.approx(float(logits.max()), abs=1e-3)
    assert "not tied" in panel.how.source.text()
    engine.close()
