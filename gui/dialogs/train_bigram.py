"""Training a bigram model on a text of one's own, with its loss drawn while it falls."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from logitscope.bigram_run import Facts
from logitscope.gui import icons, theme
from logitscope.gui.background import Background
from logitscope.gui.bigram_training import BigramTraining
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import plain, rich
from logitscope.gui.widgets.training_curve import TrainingCurve
from logitscope.textfile import TextFile, TextFileError, read_text

STEPS = 300
MOST_STEPS = 20_000
HIGHEST_RATE = 1e6
SAID_LINES = 7
LARGEST_FILE = 1 << 20
"""Bytes: an editor takes a longer text in only after a pause that is felt."""
SAMPLE = (
    "the sky is blue and the sea is blue, but the sea is deep and the sky is high; "
    "the grass is green, the night is dark, and the moon is white in the dark sky."
)
"""Enough to see that a bigram learns letters that go together, and nothing else."""


class TrainBigramDialog(QDialog):
    """``wanted`` tells the path of a model that shall be opened."""

    wanted = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Train a bigram model"))
        self._session = session
        self._background = Background(self)
        self.training = BigramTraining(session, self)
        self.text = QPlainTextEdit(SAMPLE)
        self.from_file = QPushButton(icons.icon("open"), self.tr("From a file…"))
        self.from_screen = QPushButton(icons.icon("text"), self.tr("Text on screen"))
        self.characters = QRadioButton(self.tr("characters"))
        self.tokens = QRadioButton(self.tr("tokens of the loaded model"))
        self.steps = QSpinBox()
        self.rate = QDoubleSpinBox()
        self.curve = TrainingCurve()
        self.says = rich(QLabel(wordWrap=True))
        self.train = QPushButton(self.tr("Train"))
        self.use = QPushButton(self.tr("Use in all panels"))
        self.shut = QPushButton(self.tr("Close"))
        self._set_up()
        self._lay_out()
        self._connect()
        self._follow_model()
        self._refresh()

    def _set_up(self) -> None:
        self.text.setAccessibleName(self.tr("Text to train on"))
        self.text.setTabChangesFocus(True)
        self.text.setFont(theme.token_font())
        # What stands there grows while the curve is drawn, which must not change its size.
        self.says.setMinimumHeight(SAID_LINES * self.says.fontMetrics().lineSpacing())
        self.says.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.characters.setChecked(True)
        self.characters.setToolTip(self.tr("One row of logits for each character of the text"))
        self.tokens.setToolTip(self.tr("One row for each token that the loaded model's tokenizer "
                                       "makes of the text"))  # fmt: skip
        self.steps.setRange(1, MOST_STEPS)
        self.steps.setValue(STEPS)
        self.steps.setToolTip(self.tr("Steps of gradient descent over the whole text"))
        self.rate.setLocale(QLocale.c())
        self.rate.setDecimals(3)
        self.rate.setRange(0.0, HIGHEST_RATE)
        self.rate.setSpecialValueText(self.tr("Automatic"))
        self.rate.setToolTip(
            self.tr(
                "How far a step goes; automatic is the largest rate with which every step is sure "
                "to lower the loss"
            )
        )
        self.train.setProperty("primary", True)
        self.train.setDefault(True)
        for button in (self.from_file, self.from_screen, self.use, self.shut):
            button.setAutoDefault(False)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * theme.GRID)
        units = QWidget()
        column = QVBoxLayout(units)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.characters)
        column.addWidget(self.tokens)
        for title, field in (
            (self.tr("One row for each of the"), units),
            (self.tr("Steps"), self.steps),
            (self.tr("Learning rate"), self.rate),
        ):
            field.setAccessibleName(title)
            form.addRow(title, field)
        left, right = QVBoxLayout(), QVBoxLayout()
        for side in (left, right):
            side.setSpacing(theme.GRID)
        left.addWidget(plain(QLabel(self.tr("Text"))))
        left.addWidget(self.text, 1)
        left.addLayout(_row(self.from_file, self.from_screen))
        left.addLayout(form)
        right.addWidget(self.curve, 1)
        right.addWidget(self.says)
        columns = QHBoxLayout()
        columns.setSpacing(3 * theme.GRID)
        columns.addLayout(left, 4)
        columns.addLayout(right, 5)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(2 * theme.GRID, 2 * theme.GRID, 2 * theme.GRID, 2 * theme.GRID)
        outer.setSpacing(2 * theme.GRID)
        outer.addLayout(columns, 1)
        buttons = _row(self.train, self.use)
        buttons.addWidget(self.shut)
        outer.addLayout(buttons)
        self.resize(960, 560)

    def _connect(self) -> None:
        self.from_file.clicked.connect(self._ask_for_file)
        self.from_screen.clicked.connect(self._take_screen)
        self.text.textChanged.connect(self._refresh)
        self.train.clicked.connect(self._train_or_stop)
        self.use.clicked.connect(self._use)
        self.shut.clicked.connect(self.reject)
        self.training.progressed.connect(self._refresh)
        self.training.ended.connect(self._refresh)
        self.training.failed.connect(self._show_problem)
        self.training.saved.connect(self._saved)
        self._session.model_changed.connect(self._follow_model)

    def done(self, result: int) -> None:
        """Closing ends what is going on."""
        self.training.close()
        self._background.close()
        super().done(result)

    # -- the text ---------------------------------------------------------------------------

    def read_file(self, path: str) -> None:
        """Put the text of a file into the editor, or say why that cannot be."""
        work = partial(read_text, Path(path), largest=LARGEST_FILE)
        self._background.start(work, self._show_text, self._reading_failed)

    def _show_text(self, file: TextFile) -> None:
        self.text.setPlainText(file.text)

    def _reading_failed(self, error: Exception) -> None:
        self._show_problem(str(error) if isinstance(error, TextFileError) else repr(error))

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self, self.tr("Choose a text"), str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.read_file)
        dialog.open()

    def _take_screen(self) -> None:
        session = self._session
        vocabulary = session.text_vocabulary
        behind = b"" if vocabulary is None else vocabulary.text_bytes(session.document.tail_ids)
        self.text.setPlainText(session.state.text + behind.decode("utf-8", "replace"))

    def _follow_model(self) -> None:
        has_model = self._session.vocabulary is not None
        self.tokens.setEnabled(has_model)
        if not has_model:
            self.characters.setChecked(True)

    # -- training ---------------------------------------------------------------------------

    def _train_or_stop(self) -> None:
        if self.training.is_running:
            self.training.stop()
            return
        self.curve.clear()
        text, rate = self.text.toPlainText(), self.rate.value() or None
        self.training.start(text, self.steps.value(), rate, by_tokens=self.tokens.isChecked())
        self._refresh()

    def _use(self) -> None:
        self.use.setEnabled(False)
        self.training.save()

    def _saved(self, path: str) -> None:
        self.accept()
        self.wanted.emit(path)

    def _refresh(self) -> None:
        running, run = self.training.is_running, self.training.run
        self.train.setText(self.tr("Stop") if running else self.tr("Train"))
        self.train.setEnabled(running or not self.text.document().isEmpty())
        self.use.setEnabled(self.training.model is not None)
        facts = None if run is None else run.facts
        if run is None or facts is None:
            self.says.setText(self.tr("Counting …") if running else self._invitation())
            return
        losses = tuple(run.losses)
        self.curve.set_bounds(run.steps, facts.best_loss, facts.chance_loss)
        self.curve.set_losses(losses)
        self.says.setText(self._words_of(facts, losses))

    def _invitation(self) -> str:
        return self.tr(
            "A bigram model predicts a symbol from the one before it and nothing else: a table "
            "with one row of logits for each symbol. Training starts at chance; no table can come "
            "below the optimum, which the counts of the text give in closed form."
        )

    def _words_of(self, facts: Facts, losses: tuple[float, ...]) -> str:
        words = self.tr(
            "{symbols} symbols, {distinct} of them distinct, {pairs} different pairs; learning "
            "rate {rate}."
        ).format(
            symbols=numbers.count(facts.symbols),
            distinct=numbers.count(facts.distinct),
            pairs=numbers.count(facts.pairs),
            rate=f"{facts.rate:.4g}",
        )
        rows = [
            (self.tr("optimum from counts"), facts.best_loss),
            (self.tr("chance"), facts.chance_loss),
        ]
        if losses:
            taken = self.tr("after {n} steps").format(n=numbers.count(len(losses) - 1))
            rows.insert(0, (taken, losses[-1]))
        return f"{words}<br>{_table(rows, self.tr('nats'), self.tr('perplexity'))}"

    def _show_problem(self, sentence: str) -> None:
        self._refresh()
        color = theme.palette().error.name()
        plain_text = sentence.replace("&", "&amp;").replace("<", "&lt;")
        self.says.setText(f"<span style='color:{color}'>{plain_text}</span>")


def _row(*widgets: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(theme.GRID)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return row


def _table(rows: list[tuple[str, float]], nats: str, perplexity: str) -> str:
    gap = f"style='padding: 2px {2 * theme.GRID}px 0 0'"
    cells = "".join(
        f"<tr><td {gap}>{title}</td><td {gap} align='right'>{loss:.4f}&nbsp;{nats}</td>"
        f"<td {gap} align='right'>{perplexity}&nbsp;{_perplexity(loss)}</td></tr>"
        for title, loss in rows
    )
    return f"<table>{cells}</table>"


def _perplexity(loss: float) -> str:
    return f"{math.exp(loss):,.3f}" if loss < 20 else f"{math.exp(min(loss, 700)):.3e}"
