"""The guessing game through its widgets: on rows put in by hand, and on a live model."""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.backends.messages import (
    Channel,
    Ending,
    Evaluated,
    Failed,
    Finished,
    RowRef,
    Tokenized,
)
from logitscope.gui.guessing_game import FIRST_POSITION, Phase
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels.game import OWN_TEXT, SCREEN, GamePanel, texts

SIZE = 16
IDS = (8, 0, 1, 2, 0, 1, 2, 0)
"""BOS, " the", " blue", " a", " the", …"""


def row_of(*probabilities: float) -> np.ndarray:
    """A row in which the first tokens have these, and the others share the rest."""
    rest = (1 - sum(probabilities)) / (SIZE - len(probabilities))
    return np.log(np.array([*probabilities, *[rest] * (SIZE - len(probabilities))]))


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.load(SIZE)
    return made


@pytest.fixture
def panel(qtbot: QtBot, stage: Stage) -> GamePanel:
    made = GamePanel(stage.session)
    made.game._random = random.Random(1)
    qtbot.addWidget(made)
    made.resize(380, 800)
    made.show()
    qtbot.waitExposed(made)
    return made


def answer(stage: Stage, panel: GamePanel, row: np.ndarray) -> None:
    """The model answers the newest request of the game."""
    stamp = len(stage.engine.rows) + 1
    stage.engine.rows[stamp] = row.astype(np.float32)
    ids = panel.game.ids[: panel.game.position]
    number = len(stage.engine.requests)
    stage.engine.replied.emit(
        Evaluated(number, Channel.GAME, ids, (), "", RowRef(0, stamp), 0, 1, 0.0, 0)
    )


def begin(stage: Stage, panel: GamePanel, row: np.ndarray, ids: tuple[int, ...] = IDS) -> None:
    panel.begin.click()
    assert stage.engine.requests[-1] == "tokenize"
    stage.engine.replied.emit(Tokenized(len(stage.engine.requests), ids))
    assert stage.engine.requests[-1] == "evaluate"
    answer(stage, panel, row)
    assert panel.game.phase is Phase.OPEN


def choice_of(panel: GamePanel, token_id: int) -> int:
    return panel.game.candidates.index(token_id)


def test_without_a_model_it_says_what_to_do(qtbot: QtBot) -> None:
    panel = GamePanel(Stage().session)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.stack.currentWidget() is panel.empty
    assert "Open a model" in panel.empty.text()


def test_nothing_is_revealed_before_the_guess(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5, 0.25))
    game = panel.game
    assert game.position == 2
    assert (game.distribution, game.truth, game.verdict) == (None, None, None)
    assert not panel.bars.isVisible()
    assert panel.bars.columns == ()
    assert "blue" not in panel.known.toPlainText()
    assert panel.known.toPlainText().startswith(" the")
    assert all("%" not in button.text() and "✓" not in button.text() for button in panel.choices)
    # The session shows the rows of its own document only.
    assert stage.session.row is None


def test_a_right_pick_in_bits(stage: Stage, panel: GamePanel) -> None:
    """Behind BOS and " the" comes " blue", id 1."""
    begin(stage, panel, row_of(0.5, 0.25))
    panel.sure[2].click()
    pool = panel.game.candidates
    panel.choices[choice_of(panel, 1)].click()
    verdict = panel.game.verdict
    assert verdict is not None
    assert verdict.is_right
    # Confidence 3/4 on the one token.
    assert verdict.person == pytest.approx(math.log2(4 / 3), abs=1e-6)
    assert verdict.chance == pytest.approx(math.log2(5))
    rest = 0.25 / (SIZE - 2)
    listed = sum({0: 0.5, 1: 0.25}.get(i, rest) for i in pool)
    assert verdict.model == pytest.approx(-math.log2(0.25 / listed), abs=1e-5)
    assert "✓" in panel.choices[choice_of(panel, 1)].text()
    assert "Right" in panel.says.text()
    assert "rank 2" in panel.says.text()
    assert "25.0 %" in panel.says.text()
    assert panel.bars.isVisible()
    assert [bar.is_own for bar in panel.bars.columns[0].bars[:3]] == [False, True, False]
    assert "Guesses 1 · right 1 · streak 1" in panel.score.text()
    assert "0.42" in panel.score.text()
    assert panel.known.toPlainText().endswith(" blue")


def test_keys_alone_play_it(qtbot: QtBot, stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5, 0.25))
    panel.setFocus()
    qtbot.keyClicks(panel, "++++")
    assert panel.confidence == 0.9
    qtbot.keyClicks(panel, "-")
    assert panel.confidence == 0.75
    wrong = next(i for i, one in enumerate(panel.game.candidates) if one != 1)
    qtbot.keyClicks(panel, str(wrong + 1))
    assert panel.game.phase is Phase.REVEALED
    assert panel.game.totals.right == 0
    assert "✗" in panel.choices[wrong].text()
    qtbot.keyClick(panel, Qt.Key.Key_Return)
    assert panel.game.position == 3
    assert panel.game.phase is Phase.READING
    answer(stage, panel, row_of(0.5))
    qtbot.keyClicks(panel, str(choice_of(panel, 2) + 1))
    assert (panel.game.totals.guesses, panel.game.totals.right) == (2, 1)


def test_a_typed_answer_counts_over_the_whole_vocabulary(
    qtbot: QtBot, stage: Stage, panel: GamePanel
) -> None:
    begin(stage, panel, row_of(0.5, 0.25))
    panel.types.click()
    assert not any(button.isVisible() for button in panel.choices)
    qtbot.keyClicks(panel.typed, "zzz")
    qtbot.keyClick(panel.typed, Qt.Key.Key_Return)
    assert "No token begins with that" in panel.says.text()
    assert panel.game.totals.guesses == 0
    panel.typed.clear()
    # " a" alone begins it, which the model holds for one of fourteen.
    qtbot.keyClicks(panel.typed, "apple")
    qtbot.keyClick(panel.typed, Qt.Key.Key_Return)
    verdict = panel.game.verdict
    assert verdict is not None
    assert not verdict.is_right
    a = 0.25 / (SIZE - 2)
    assert verdict.person == pytest.approx(-math.log2(0.5 * 0.25 / (1 - a)), abs=1e-5)
    assert verdict.model == pytest.approx(2, abs=1e-5)
    assert verdict.chance == pytest.approx(math.log2(SIZE))
    qtbot.keyClick(panel.typed, Qt.Key.Key_Return)
    answer(stage, panel, row_of(0.5))
    assert panel.typed.text() == ""
    qtbot.keyClicks(panel.typed, "a")
    panel.guess.click()
    assert panel.game.totals.streak == 1


def test_skipping_counts_nothing(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5, 0.25))
    panel.skip.click()
    assert panel.game.truth == 1
    assert panel.game.totals.guesses == 0
    assert "It was" in panel.says.text()
    assert not panel.skip.isEnabled()


def test_the_end_of_the_text(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5), ids=(8, 0, 8))
    panel.skip.click()
    # What is left is a mark, which is no text.
    panel.next.click()
    assert panel.game.phase is Phase.OVER
    assert "at its end" in panel.known.toPlainText()
    begin(stage, panel, row_of(0.5))


def test_a_row_that_is_gone_is_asked_for_again(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5))
    panel.skip.click()
    panel.next.click()
    asked = len(stage.engine.requests)
    stage.engine.replied.emit(
        Evaluated(asked, Channel.GAME, (8, 0, 1), (), "", RowRef(0, 99), 0, 1, 0.0, 0)
    )
    assert len(stage.engine.requests) == asked + 1
    assert stage.engine.requests[-1] == "evaluate"
    answer(stage, panel, row_of(0.5))
    assert panel.game.phase is Phase.OPEN


@pytest.mark.parametrize("how", ["failed", "stopped"])
def test_a_model_that_does_not_answer_can_be_asked_again(
    stage: Stage, panel: GamePanel, how: str
) -> None:
    begin(stage, panel, row_of(0.5))
    panel.skip.click()
    panel.next.click()
    number = len(stage.engine.requests)
    stopped = Finished(number, Ending.CANCELLED)
    reply = Failed(number, "It has <no> room.") if how == "failed" else stopped
    stage.engine.replied.emit(reply)
    assert panel.game.phase is Phase.STOPPED
    assert ("It has &lt;no&gt; room." if how == "failed" else "stopped") in panel.says.text()
    panel.next.click()
    answer(stage, panel, row_of(0.5))
    assert panel.game.phase is Phase.OPEN


def test_a_text_that_cannot_be_read_is_told(stage: Stage, panel: GamePanel) -> None:
    panel.begin.click()
    stage.engine.replied.emit(Failed(len(stage.engine.requests), "No room."))
    assert panel.game.phase is Phase.IDLE
    assert "No room." in panel.known.toPlainText()


def test_another_model_ends_the_game_and_keeps_the_score(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5))
    panel.choices[0].click()
    stage.load(SIZE)
    assert panel.game.phase is Phase.IDLE
    assert panel.game.ids == ()
    assert panel.game.totals.guesses == 1
    panel.reset.click()
    assert panel.game.totals.guesses == 0


def test_the_text_on_screen_and_ones_own(stage: Stage, panel: GamePanel) -> None:
    stage.show(row_of(0.5), IDS)
    panel.source.setCurrentIndex(panel.source.findData(SCREEN))
    panel.begin.click()
    assert panel.game.ids == IDS
    assert stage.engine.requests[-1] == "evaluate"
    stage.load(SIZE)
    panel.source.setCurrentIndex(panel.source.findData(OWN_TEXT))
    assert panel.own.isVisible()
    panel.own.setPlainText("a text")
    panel.begin.click()
    assert stage.engine.requests[-1] == "tokenize"
    assert not panel.own.isVisible()


def test_the_distribution_can_be_looked_at_afterwards(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5))
    panel.skip.click()
    panel.look.click()
    inspected = stage.session.inspected
    assert inspected is not None
    assert (inspected.ids, inspected.next_id) == ((8, 0), 1)


def test_the_guesses_are_copied_with_exact_bits(stage: Stage, panel: GamePanel) -> None:
    begin(stage, panel, row_of(0.5, 0.25))
    panel.choices[choice_of(panel, 1)].click()
    verdict = panel.game.verdict
    assert verdict is not None
    panel.menu.copy_csv()
    lines = QGuiApplication.clipboard().text().splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert rows[0][:6] == ["model", "position", "token", "guessed", "confidence", "right"]
    assert rows[1][:6] == ["Stub", "2", "·blue", "·blue", "0.5", "1"]
    assert [float(cell) for cell in rows[1][6:]] == [
        verdict.person,
        verdict.model,
        verdict.chance,
    ]
    panel.reset.click()
    assert panel.game.played == ()


def test_texts_ship_that_are_long_enough() -> None:
    assert len(texts()) >= 5
    assert len({one.title for one in texts()}) == len(texts())
    assert all(len(one.text.split()) >= 3 * FIRST_POSITION for one in texts())


def test_in_the_window_on_a_live_model(
    qtbot: QtBot, loaded: MainWindow, read: Callable[[MainWindow, str], None]
) -> None:
    """The model's bits are those of its own row, which the Next token panel shows afterwards."""
    read(loaded, "ba be bi")
    loaded.focus_panel("game")
    panel = loaded.panels["game"]
    assert isinstance(panel, GamePanel)
    panel.types.click()
    panel.begin.click()
    qtbot.waitUntil(lambda: panel.game.phase is Phase.OPEN, timeout=60_000)
    before = loaded.session.row
    assert before is not None
    assert before.ids == loaded.session.ids
    panel.typed.setText("b")
    panel.guess.click()
    verdict, truth = panel.game.verdict, panel.game.truth
    assert verdict is not None
    assert truth is not None
    panel.look.click()
    wanted = panel.game.ids[: panel.game.position]
    qtbot.waitUntil(lambda: loaded.session.row is not before, timeout=60_000)
    row = loaded.session.row
    assert row is not None
    assert row.ids == wanted
    logits = row.distribution.logits.astype(np.float64)
    p = np.exp(logits - logits.max())
    assert verdict.model == pytest.approx(-math.log2(p[truth] / p.sum()), abs=1e-9)
    assert verdict.chance == pytest.approx(math.log2(500))
