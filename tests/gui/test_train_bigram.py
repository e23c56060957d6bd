"""The dialog that trains a bigram model: through its widgets, into the window."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope import bigram_file
from logitscope.backends.library import own_models
from logitscope.backends.messages import Failed, Tokenized
from logitscope.bigram import Trainer
from logitscope.bigram_file import Unit
from logitscope.gui.dialogs.train_bigram import TrainBigramDialog
from logitscope.gui.main_window import MainWindow

SAMPLE = "my tea, my toast, my tea, my toast, my tea"


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def dialog(qtbot: QtBot, stage: Stage) -> Iterator[TrainBigramDialog]:
    made = TrainBigramDialog(stage.session)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.reject()


def train(qtbot: QtBot, dialog: TrainBigramDialog, text: str = SAMPLE) -> None:
    dialog.text.setPlainText(text)
    qtbot.mouseClick(dialog.train, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.training.is_running, timeout=20_000)


def drawn(dialog: TrainBigramDialog) -> int:
    """Points of the curve."""
    losses = dialog.curve.losses.getData()[1]
    return 0 if losses is None else len(losses)


def test_the_curve_falls_from_chance_towards_the_optimum(
    qtbot: QtBot, dialog: TrainBigramDialog
) -> None:
    train(qtbot, dialog)
    steps, losses = dialog.curve.losses.getData()
    assert list(steps) == list(range(301))
    # Eight letters and signs, and a space.
    assert losses[0] == pytest.approx(math.log(9))
    assert losses[-1] < 0.5
    assert dialog.curve.chance.value() == pytest.approx(math.log(9))
    best = dialog.curve.best.value()
    assert 0 < best < losses[-1]
    assert f"{losses[-1]:.4f}" in dialog.says.text()
    assert f"{best:.4f}" in dialog.says.text()
    assert "42 symbols, 9 of them distinct" in dialog.says.text()


def test_the_model_is_saved_and_told(qtbot: QtBot, dialog: TrainBigramDialog) -> None:
    assert not dialog.use.isEnabled()
    train(qtbot, dialog)
    with qtbot.waitSignal(dialog.wanted, timeout=10_000) as told:
        qtbot.mouseClick(dialog.use, Qt.MouseButton.LeftButton)
    path = Path(told.args[0])
    assert path.parent == own_models()
    assert path.name.startswith("bigram-my-tea-my-toast")
    saved = bigram_file.load(path)
    assert saved.unit is Unit.CHARACTERS
    assert b"".join(saved.symbols).decode() == "".join(sorted(set(SAMPLE)))
    assert saved.training.steps == 300
    assert saved.training.loss < 0.5
    assert not dialog.isVisible()


def test_a_long_training_can_be_stopped_and_what_it_has_is_used(
    qtbot: QtBot, dialog: TrainBigramDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps wait for each other here, so that the stop comes after exactly five of them."""
    allowed = threading.Semaphore(5)
    real = Trainer.step
    stopped = threading.Event()

    def step(self: Trainer) -> float:
        if not allowed.acquire(blocking=False):
            stopped.wait(20)
        return real(self)

    monkeypatch.setattr(Trainer, "step", step)
    dialog.text.setPlainText(SAMPLE)
    dialog.train.click()
    qtbot.waitUntil(lambda: drawn(dialog) == 5, timeout=20_000)
    assert dialog.train.text() == "Stop"
    dialog.text.setPlainText("the window takes keys all the while")
    dialog.train.click()
    stopped.set()
    qtbot.waitUntil(lambda: not dialog.training.is_running, timeout=20_000)
    assert dialog.training.model is not None
    assert dialog.training.model.training.steps == 6
    assert dialog.train.text() == "Train"
    assert dialog.use.isEnabled()


def test_rate_and_steps_are_obeyed(qtbot: QtBot, dialog: TrainBigramDialog) -> None:
    dialog.steps.setValue(1)
    dialog.rate.setValue(0.5)
    train(qtbot, dialog, "abab")
    model = dialog.training.model
    assert model is not None
    assert (model.training.steps, model.training.rate) == (1, 0.5)
    # Row a saw b twice of three pairs: the gradient at 0 is (2 / 3) (1/2 - counts / 2).
    assert model.logits[0] == pytest.approx(np.array([-1, 1]) * 0.5 / 3)


@pytest.mark.parametrize(("text", "words"), [("a", "longer"), ("ab" * 11, "at most 20")])
def test_a_text_that_cannot_be_trained_on_is_one_sentence(
    qtbot: QtBot,
    dialog: TrainBigramDialog,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    words: str,
) -> None:
    monkeypatch.setattr("logitscope.bigram_text.LONGEST_TEXT", 20)
    train(qtbot, dialog, text)
    assert words in dialog.says.text()
    assert not dialog.use.isEnabled()
    assert dialog.train.text() == "Train"


def test_nothing_can_be_trained_without_a_text(dialog: TrainBigramDialog) -> None:
    dialog.text.clear()
    assert not dialog.train.isEnabled()


def test_tokens_need_a_model(qtbot: QtBot, stage: Stage, dialog: TrainBigramDialog) -> None:
    assert not dialog.tokens.isEnabled()
    stage.load(20)
    assert dialog.tokens.isEnabled()
    dialog.tokens.click()
    dialog.text.setPlainText(" the blue the blue")
    dialog.train.click()
    # Tokens of the stub: " the", " blue"; BOS (8) is no text.
    stage.engine.replied.emit(Tokenized(len(stage.engine.requests), (8, 0, 1, 0, 1)))
    qtbot.waitUntil(lambda: dialog.training.model is not None, timeout=20_000)
    model = dialog.training.model
    assert model is not None
    assert (model.unit, model.symbols) == (Unit.TOKENS, (b" blue", b" the"))
    assert model.training.symbols == 4


def test_a_tokenizer_that_fails_or_goes_is_told(
    qtbot: QtBot, stage: Stage, dialog: TrainBigramDialog
) -> None:
    stage.load(20)
    dialog.tokens.click()
    dialog.train.click()
    stage.engine.replied.emit(Failed(len(stage.engine.requests), "It did not work <now>."))
    assert "It did not work &lt;now>." in dialog.says.text()
    assert not dialog.training.is_running
    dialog.train.click()
    assert dialog.training.is_running
    stage.session.open_model("another")
    assert not dialog.training.is_running
    assert "is gone" in dialog.says.text()
    assert dialog.characters.isChecked()


def test_texts_come_from_files_and_from_the_screen(
    qtbot: QtBot, tmp_path: Path, stage: Stage, dialog: TrainBigramDialog
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("from a file", "utf-8")
    dialog.read_file(str(path))
    qtbot.waitUntil(lambda: dialog.text.toPlainText() == "from a file")
    dialog.read_file(str(tmp_path / "none.txt"))
    qtbot.waitUntil(lambda: "none.txt" in dialog.says.text())
    stage.session.set_prompt("from the screen")
    dialog.from_screen.click()
    assert dialog.text.toPlainText() == "from the screen"


def test_a_folder_that_cannot_be_made_is_told(qtbot: QtBot, dialog: TrainBigramDialog) -> None:
    own_models().parent.write_text("a file where a folder should be")
    train(qtbot, dialog)
    dialog.use.click()
    qtbot.waitUntil(lambda: "cannot be saved" in dialog.says.text())
    assert dialog.isVisible()
    assert dialog.use.isEnabled()


def test_from_the_menu_into_all_panels(
    qtbot: QtBot, window: MainWindow, read: Callable[[MainWindow, str], None]
) -> None:
    window.command_actions["train_bigram"].trigger()
    dialog = window.findChild(TrainBigramDialog)
    assert dialog is not None
    train(qtbot, dialog)
    dialog.use.click()
    session = window.session
    qtbot.waitUntil(lambda: session.model is not None, timeout=60_000)
    assert session.model is not None
    assert session.model.backend == "bigram"
    read(window, SAMPLE + ", m")
    row, vocabulary = session.row, session.vocabulary
    assert row is not None
    assert vocabulary is not None
    assert vocabulary.bytes_of(row.distribution.likeliest) == b"y"
    saved = Path(session.model.path)
    assert json.loads(saved.read_bytes())["version"] == 1
