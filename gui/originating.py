"""Working out where an answer came from, while somebody looks at it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from logitscope.attribution_units import GradientMethod
from logitscope.backends.messages import Ending, Failed, Finished, Reply
from logitscope.backends.origin_messages import Attributed, Calibrated, FreeRun, SecondOpinion, Task
from logitscope.gui.origin_agenda import ALL_WORDS, Agenda, Item
from logitscope.gui.origin_case import MANY_SPANS, CaseFollower, Obstacle, Subject, is_grown
from logitscope.gui.session import Session
from logitscope.origin_types import Label, OriginCase, OriginReport, WordOrigin
from logitscope.placed_spans import Placement


class Originator(QObject):
    """Keeps an OriginReport of the answer on screen, as long as it is active.

    Labels come first, then the sources of the selected word, then the answer without the sources;
    swaps and leanings on demand. What is known stays until the text or the sources change; a newer
    wish replaces what is being worked out.
    """

    changed = Signal()
    """Something else is known, or another word is selected."""
    state_changed = Signal()
    """It is working, stopped, or has an obstacle, and was not or had none before."""
    progressed = Signal(int, int)
    """Passes done of about how many; both 0 at the end."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._follower = CaseFollower(session, self)
        self._report: OriginReport | None = None
        self._free: tuple[int, ...] = ()
        self._opinion: SecondOpinion | None = None
        self._method = GradientMethod.GRADIENT_X_INPUT
        self._agenda = Agenda()
        self._number = 0
        self._task: Item = (Task.LABELS, 0)
        self._is_active = self._is_stopped = False
        self._allowed: tuple[object, ...] = ()
        """Sources that may be searched although they are many."""
        self._model = ""
        self._thresholds: dict[str, float] = {}
        self._follower.followed.connect(self._take_subject)
        session.model_changed.connect(self._follow_model)
        session.selection_changed.connect(self._follow_selection)
        session.engine.replied.connect(self._take)
        session.engine.activity_changed.connect(self._tell_progress)

    # -- reading ----------------------------------------------------------------------------

    @property
    def report(self) -> OriginReport | None:
        """What is known; while the answer grows, that of its beginning."""
        return self._report

    @property
    def case(self) -> OriginCase | None:
        return self._follower.subject.case

    @property
    def placement(self) -> Placement | None:
        """Where the blocks lie in the prompt; None while its ids are not known."""
        return self._follower.subject.placement

    @property
    def obstacle(self) -> Obstacle | None:
        return self._follower.subject.obstacle

    @property
    def free_answer(self) -> tuple[int, ...]:
        """Ids of the answer without the sources, as far as it is known."""
        return self._free

    @property
    def free_is_whole(self) -> bool:
        return self._agenda.is_done(Task.FREE, 0)

    @property
    def opinion(self) -> SecondOpinion | None:
        """The last second opinion that was asked for."""
        return self._opinion

    @property
    def is_working(self) -> bool:
        return self._number != 0

    @property
    def task(self) -> Task | None:
        """What is being worked out."""
        return self._task[0] if self._number else None

    @property
    def is_stopped(self) -> bool:
        """Stopped or failed; waits for ``resume`` or another text."""
        return self._is_stopped

    @property
    def is_against_bos(self) -> bool:
        """No source is marked, and the whole prompt counts as one."""
        return self._follower.is_against_bos

    @property
    def needs_permission(self) -> bool:
        """The sources are so many that ``allow`` has to be called before they are searched."""
        case = self.case
        many = case is not None and len(case.sources) > MANY_SPANS
        return many and case is not None and self._allowed != case.sources

    @property
    def is_calibrated(self) -> bool:
        return self._model in self._thresholds

    @property
    def word(self) -> int | None:
        """Number of the selected word: the one at the selected position, else the one that gains
        most by the sources."""
        report = self._report
        if report is None or not report.words:
            return None
        at = self._session.position - len(report.case.prompt_ids)
        if not self._session.follows_end:
            for number, word in enumerate(report.words):
                if word.tokens[0] <= at < word.tokens[1]:
                    return number
        return max(range(len(report.words)), key=lambda i: _gain(report.words[i]))

    def has_worked_out(self, task: Task, word: int) -> bool:
        return self._agenda.is_done(task, word)

    # -- asking for -------------------------------------------------------------------------

    def set_active(self, active: bool) -> None:
        """Work from now on, or pause; what is known stays."""
        self._is_active = self._follower.is_active = active
        if active:
            self._follow_model()
        else:
            self._cancel()

    def select(self, number: int) -> None:
        """Look at a word of the answer."""
        report = self._report
        if report is not None:
            start = report.words[number].tokens[0]
            self._session.select(len(report.case.prompt_ids) + start)

    def wish(self, task: Task, word: int) -> None:
        """Work out SWAP or LEANS of a word, or its SOURCES, before anything else."""
        self._agenda.wish(task, word)
        self._is_stopped = False
        self._go_on(anew=True)

    def ask_second_opinion(self, word: int, method: GradientMethod) -> None:
        """What gradients say of a word, where the model gives them."""
        self._method = method
        self.wish(Task.GRADIENTS, word)

    def wish_all_sources(self) -> None:
        """Work out the sources of every word, for the matrix."""
        if self._report is not None:
            self.allow()
            self.wish(Task.SOURCES, ALL_WORDS)

    def calibrate(self) -> None:
        """Measure this model's own threshold, and label again."""
        self.wish(Task.THRESHOLD, 0)

    def allow(self) -> None:
        """Search the sources although they are many."""
        if self.case is not None:
            self._allowed = self.case.sources
            self._go_on()
            self.state_changed.emit()

    def compare_with_bos(self) -> None:
        """Take the whole prompt as the source, against BOS alone, until something is marked."""
        self._follower.compare_with_bos()

    def stop(self) -> None:
        """Stop until the text changes or ``resume``; what is known stays."""
        self._is_stopped = True
        self._agenda.drop_wishes()
        self._cancel()
        self.state_changed.emit()

    def resume(self) -> None:
        self._is_stopped = False
        self._go_on()
        self.state_changed.emit()

    # -- following --------------------------------------------------------------------------

    def _follow_model(self) -> None:
        model = self._session.model
        if model is None:
            self._number = 0
            self._forget()
        elif model.header_hash != self._model:
            self._model = model.header_hash
            self._forget()
        self._follower.follow()

    def _take_subject(self, before: Subject) -> None:
        if self.case != before.case:
            if not is_grown(before.case, self.case):
                self._forget()
            self._begin_again()
        if self.obstacle is not before.obstacle:
            self.state_changed.emit()
        self._go_on()

    def _follow_selection(self) -> None:
        if self._is_active:
            self.changed.emit()
            self._go_on(anew=self._task[0] in (Task.FREE, Task.SOURCES))

    def _forget(self) -> None:
        self._report = None
        self.changed.emit()

    def _begin_again(self) -> None:
        self._cancel()
        self._free, self._opinion = (), None
        self._agenda.clear()
        self._is_stopped = False
        self.changed.emit()

    def _cancel(self) -> None:
        if self._number:
            self._session.engine.cancel(self._number)
            self._number = 0
            self.progressed.emit(0, 0)
            self.state_changed.emit()

    # -- asking -----------------------------------------------------------------------------

    def _go_on(self, *, anew: bool = False) -> None:
        """Ask for the next thing; ``anew``: also while something else is being worked out."""
        if (self._number and not anew) or not self._may_ask():
            return
        wanted = self._next()
        case = self.case
        if wanted is None or case is None or (self._number and wanted == self._task):
            return
        task, word = self._task = wanted
        self._number = self._session.engine.attribute(
            case,
            task,
            None if task in (Task.LABELS, Task.FREE, Task.THRESHOLD) else self._report,
            words=self._words(word),
            settings=self._session.settings,
            threshold=self._thresholds.get(self._model),
            method=self._method,
        )
        self.state_changed.emit()

    def _words(self, number: int) -> tuple[int, ...]:
        count = 0 if self._report is None else len(self._report.words)
        return tuple(range(count)) if number == ALL_WORDS else (number,)

    def _may_ask(self) -> bool:
        session = self._session
        return (
            self._is_active
            and not self._is_stopped
            and self.obstacle is None
            and session.is_ready
            and not session.is_running
            and not session.is_exploring
        )

    def _next(self) -> Item | None:
        return self._agenda.next(
            self._report, self.case, self.word, may_search=not self.needs_permission
        )

    # -- answers ----------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        if not self._number or reply.number != self._number:
            return
        match reply:
            case Attributed(_, report):
                self._report = report
                self.changed.emit()
            case SecondOpinion():
                self._opinion = reply
                self.changed.emit()
            case FreeRun(_, ids):
                self._free = ids
                self.changed.emit()
            case Calibrated(_, threshold):
                self._thresholds[self._model] = threshold
                self._report = None
                self._agenda.clear()
            case Finished():
                self._finish(reply.ending)
            case Failed():
                # The session has told the person; asking again would fail again.
                self._finish(Ending.CANCELLED)

    def _finish(self, ending: Ending) -> None:
        self._number = 0
        self.progressed.emit(0, 0)
        if ending is Ending.DONE:
            self._agenda.finish(self._task, self._words(self._task[1]))
        else:
            self._is_stopped = True
        self._go_on()
        self.changed.emit()
        self.state_changed.emit()

    def _tell_progress(self) -> None:
        activity = self._session.engine.activity
        if self._number and activity.number == self._number:
            self.progressed.emit(activity.done, activity.total)


def _gain(word: WordOrigin) -> float:
    known = len(word.log_probability) > 1 and word.label is not Label.UNKNOWN
    return word.deltas[0] if known and word.text.strip() else float("-inf")
