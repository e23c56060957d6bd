"""The guessing game: say what comes next, how sure you are, and see what the model said."""

from __future__ import annotations

from functools import cache, partial
from importlib import resources

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QComboBox,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QStackedWidget,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from logitscope import guess_file
from logitscope.display import token_label
from logitscope.guess_file import GuessText
from logitscope.guessing import CANDIDATES, CONFIDENCES
from logitscope.gui import theme
from logitscope.gui.export_menu import ExportMenu, TableMaker
from logitscope.gui.guessing_game import GuessingGame, Phase
from logitscope.gui.panels import game_words
from logitscope.gui.panels.game_parts import Answer, flow_of, row_of
from logitscope.gui.session import Session
from logitscope.gui.widgets.expected_bars import ExpectedBars
from logitscope.gui.widgets.plain import plain, rich
from logitscope.gui.words import mark, translated

WIDTH, HEIGHT = 380, 640
LEAST_WIDTH, LEAST_HEIGHT = 290, 200
"""Two buttons stand side by side."""
TEXT_HEIGHT = 128
OWN_TEXT, SCREEN = -1, -2
"""Entries of the list of texts that are none of those that ship."""
USUAL_CONFIDENCE = 1
"""Index of the confidence at first: one half."""


@cache
def texts() -> tuple[GuessText, ...]:
    """The texts that ship."""
    file = resources.files("logitscope.resources") / "guess.json"
    return guess_file.loads(file.read_text("utf-8"), "guess.json")


class GamePanel(QWidget):
    """Draws the game's state; what is chosen goes to the game."""

    HELP = (
        mark("GamePanel", "Guess the next token"),
        mark(
            "GamePanel",
            "Say how sure you are, then pick or type what comes next: your confidence goes to what "
            "you chose and the rest to everything else, each shared out as the model shares it, "
            "and the score is −log₂ of what the true token got. "
            "Fewer bits are better, and saying what you really believe costs least on the average; "
            "the model's bits are its own −log₂ p, and chance is log₂ of how many tokens there "
            "were to choose from. "
            "Picking is measured among the tokens of the list, typing over the whole vocabulary.",
        ),
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.game = GuessingGame(session, self)
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID)
        self._is_built = False
        self._shown_phase = Phase.IDLE
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, LEAST_HEIGHT)

    def shut_down(self) -> None:
        """The window closes."""
        self.game.close()

    def showEvent(self, event: QShowEvent) -> None:
        """The panel is made when it is first seen: the window starts without it."""
        super().showEvent(event)
        if not self._is_built:
            self._is_built = True
            self._make()
            self._lay_out()
            self._connect()
            self.menu = ExportMenu(self._session, self, "guesses", self._table)
        self._refresh()

    # -- making -----------------------------------------------------------------------------

    def _make(self) -> None:
        self.empty = plain(QLabel(wordWrap=True))
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.source = QComboBox()
        self.source.setAccessibleName(self.tr("Text to guess at"))
        for number, one in enumerate(texts()):
            self.source.addItem(translated("GuessTexts", one.title), number)
        self.source.addItem(self.tr("Text on screen"), SCREEN)
        self.source.addItem(self.tr("My own text"), OWN_TEXT)
        self.begin = QPushButton(self.tr("Start"))
        self.own = QPlainTextEdit(placeholderText=self.tr("Paste a text here, then press Start."))
        self.own.setAccessibleName(self.tr("My own text"))
        self.own.setTabChangesFocus(True)
        self.known = QTextEdit(readOnly=True)
        self.known.setAccessibleName(self.tr("The text so far"))
        self.known.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.picks = QRadioButton(self.tr("Pick"))
        self.picks.setChecked(True)
        self.types = QRadioButton(self.tr("Type"))
        self._ways = self._group(self.picks, self.types)
        self.sure = [QRadioButton(f"{round(100 * c)} %") for c in CONFIDENCES]
        self._confidences = self._group(*self.sure)
        self.sure[USUAL_CONFIDENCE].setChecked(True)
        self.choices = [QPushButton() for _ in range(CANDIDATES)]
        self.typed = Answer(placeholderText=self.tr("what comes next"))
        self.typed.setAccessibleName(self.tr("Your guess"))
        self.guess = QPushButton(self.tr("Guess"))
        self.says = rich(QLabel(wordWrap=True))
        self.bars = ExpectedBars()
        self.bars.setAccessibleName(self.tr("What the model expected"))
        self.score = rich(QLabel(wordWrap=True))
        self.score.setFont(theme.number_font())
        self.skip = QPushButton(self.tr("Skip"))
        self.look = QPushButton(self.tr("Show in Next token"))
        self.reset = QPushButton(self.tr("Reset score"))
        self.next = QPushButton(self.tr("Next"))
        self.next.setProperty("primary", True)
        self._explain()

    def _group(self, *buttons: QRadioButton) -> QButtonGroup:
        group = QButtonGroup(self)
        for button in buttons:
            group.addButton(button)
        return group

    def _explain(self) -> None:
        keys = {
            self.picks: self.tr("Among five tokens; keys 1 to 5"),
            self.types: self.tr("Any text: every token that begins it is your guess"),
            self.skip: self.tr("See the token without a guess; nothing is counted"),
            self.next: self.tr("Go on (Return)"),
            self.look: self.tr("Show this distribution in the panel Next token"),
        }
        for widget, tip in keys.items():
            widget.setToolTip(tip)
        for button in self.sure:
            button.setToolTip(self.tr("Your probability that the guess is right; keys + and −"))

    def _lay_out(self) -> None:
        self.known.setFixedHeight(TEXT_HEIGHT)
        choices = QVBoxLayout()
        choices.setSpacing(theme.GRID // 2)
        for button in self.choices:
            button.setStyleSheet("text-align: left")
            choices.addWidget(button)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID)
        column.addLayout(row_of(self.source, self.begin, stretch=0))
        column.addWidget(self.own)
        column.addWidget(self.known)
        label = plain(QLabel(self.tr("How sure?")))
        column.addWidget(flow_of(label, *self.sure))
        column.addLayout(row_of(self.picks, self.types))
        column.addLayout(choices)
        column.addLayout(row_of(self.typed, self.guess, stretch=0))
        column.addWidget(self.says)
        column.addLayout(row_of(self.next, self.skip))
        column.addWidget(self.score)
        column.addWidget(self.bars)
        column.addLayout(row_of(self.look, self.reset))
        column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(body)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(area)
        self._outer.addWidget(self.stack)

    def _connect(self) -> None:
        self.source.currentIndexChanged.connect(self._refresh)
        self.begin.clicked.connect(self._start)
        for index, button in enumerate(self.choices):
            button.clicked.connect(partial(self._pick, index))
        self.guess.clicked.connect(self._answer)
        self.typed.returnPressed.connect(self._answer)
        self.picks.toggled.connect(self._way_changed)
        self.skip.clicked.connect(self.game.skip)
        self.next.clicked.connect(self.game.go_on)
        self.look.clicked.connect(self._show_row)
        self.reset.clicked.connect(self.game.forget_totals)
        self.game.changed.connect(self._refresh)
        self._session.reading.changed.connect(self._show_why)
        theme.notifier().changed.connect(self._refresh)

    def _table(self) -> TableMaker:
        return game_words.table(self.game.played)

    # -- what the person does ---------------------------------------------------------------

    @property
    def confidence(self) -> float:
        """The probability that the person gives the guess."""
        return CONFIDENCES[next(i for i, one in enumerate(self.sure) if one.isChecked())]

    def _start(self) -> None:
        chosen = self.source.currentData()
        if chosen == SCREEN:
            self.game.start_ids(self._session.ids)
        elif chosen == OWN_TEXT:
            self.game.start(self.own.toPlainText())
        else:
            self.game.start(texts()[chosen].text)

    def _pick(self, index: int) -> None:
        self.game.pick(index, self.confidence)

    def _answer(self) -> None:
        if self.game.phase is not Phase.OPEN:
            self.game.go_on()
        elif not self.game.answer(self.typed.text(), self.confidence):
            self.says.setText(self.tr("No token begins with that: type something else."))
            self.says.show()

    def _way_changed(self) -> None:
        self._refresh()
        if self.types.isChecked():
            self.typed.setFocus()

    def _show_row(self) -> None:
        game = self.game
        self._session.inspect_ids(game.ids[: game.position], game.truth)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """1 to 5 pick, + and − change the confidence, Return goes on."""
        text = event.text()
        if self._is_built and self._take_key(text, event.key()):
            return
        super().keyPressEvent(event)

    def _take_key(self, text: str, key: int) -> bool:
        digits = [str(n) for n in range(1, CANDIDATES + 1)]
        if text in digits and self.picks.isChecked() and self.game.phase is Phase.OPEN:
            self._pick(digits.index(text))
        elif text and text in "+-−":
            place = CONFIDENCES.index(self.confidence) + (1 if text == "+" else -1)
            self.sure[min(len(self.sure) - 1, max(0, place))].setChecked(True)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.next.isEnabled():
            self.game.go_on()
        else:
            return False
        return True

    # -- showing ----------------------------------------------------------------------------

    def _show_why(self) -> None:
        """Why there is no game."""
        no_model = self.tr("Open a model to guess against it.")
        self.empty.setText(self._session.reading.sentence(no_model=no_model))

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        has_model = self._session.vocabulary is not None
        self.stack.setCurrentIndex(int(has_model))
        self._show_why()
        phase = self.game.phase
        is_open, is_revealed = phase is Phase.OPEN, phase is Phase.REVEALED
        self.own.setVisible(self.source.currentData() == OWN_TEXT and phase is Phase.IDLE)
        self._show_text()
        self._show_choices(is_open, is_revealed)
        self._show_outcome(is_revealed)
        self.score.setText(game_words.score(self.game.verdict, self.game.totals))
        self.reset.setVisible(self.game.totals.guesses > 0)
        self.skip.setEnabled(is_open)
        self.look.setVisible(is_revealed)
        self.next.setEnabled(is_revealed or phase is Phase.STOPPED)
        for button in self.sure:
            button.setEnabled(not is_revealed)
        if phase is not self._shown_phase:
            self._shown_phase = phase
            self._place_focus(is_open, is_revealed)

    def _show_text(self) -> None:
        game, vocabulary = self.game, self._session.vocabulary
        revealed, truth = "", game.truth
        if truth is not None and vocabulary is not None:
            revealed = vocabulary.bytes_of(truth).decode("utf-8", "replace")
        if game.phase in {Phase.IDLE, Phase.OVER} or vocabulary is None:
            text = game_words.plain_text(self._invitation())
        else:
            verdict = game.verdict
            is_right = None if verdict is None else verdict.is_right
            text = game_words.text_before(game.before, revealed, is_right)
        self.known.setFont(theme.token_font())
        self.known.setHtml(text)
        self.known.moveCursor(QTextCursor.MoveOperation.End)

    def _invitation(self) -> str:
        if self.game.problem:
            return self.game.problem
        if self.game.phase is Phase.OVER:
            return self.tr("The text is at its end: choose another one, or press Start again.")
        return self.tr("Choose a text and press Start.")

    def _show_choices(self, is_open: bool, is_revealed: bool) -> None:
        game, vocabulary = self.game, self._session.vocabulary
        picks = self.picks.isChecked()
        for index, button in enumerate(self.choices):
            there = index < len(game.candidates) and vocabulary is not None
            button.setVisible(picks and there)
            button.setEnabled(is_open)
            if there and vocabulary is not None:
                token_id = game.candidates[index]
                sign = ""
                if is_revealed:
                    wrong = "✗  " if token_id in game.guessed else ""
                    sign = "✓  " if token_id == game.truth else wrong
                label = token_label(vocabulary, token_id)
                button.setFont(theme.token_font())
                button.setText(f"{index + 1}   {sign}{label}".replace("&", "&&"))
                button.setAccessibleName(label)
        for widget in (self.typed, self.guess):
            widget.setVisible(not picks)
        self.guess.setEnabled(is_open)

    def _show_outcome(self, is_revealed: bool) -> None:
        game, vocabulary = self.game, self._session.vocabulary
        row, truth = game.distribution, game.truth
        self.bars.setVisible(is_revealed)
        if row is not None and truth is not None and vocabulary is not None:
            self.says.setText(game_words.outcome(vocabulary, row, truth, game.verdict))
            self.bars.set_columns(game_words.columns(vocabulary, row, truth))
        elif game.phase is Phase.READING:
            self.says.setText(self.tr("The model reads …"))
        else:
            self.says.setText(game_words.plain_text(game.problem))
        self.says.setVisible(bool(self.says.text()))

    def _place_focus(self, is_open: bool, is_revealed: bool) -> None:
        """The keyboard stays in the game while one plays: a disabled button would lose it."""
        focus = QApplication.focusWidget()
        if focus is None or not (focus is self or self.isAncestorOf(focus)):
            return
        if is_open and self.types.isChecked():
            self.typed.clear()
            self.typed.setFocus()
        elif is_open:
            self.setFocus()
        elif is_revealed and self.picks.isChecked():
            self.next.setFocus()
