"""The document as the window sees it: what can be read, and the signals of its changes.

``position`` is the index of the predicted token: the row shown for it follows ``ids[:position]``.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from logitscope.backends.base import ModelInfo
from logitscope.document import Document, State
from logitscope.gui import notices
from logitscope.gui.engine import Engine
from logitscope.gui.exploration import Exploration
from logitscope.gui.loading import Gone, Loading, Wish
from logitscope.gui.message import Topic
from logitscope.gui.notices import Notice, PassCost
from logitscope.gui.pass_meter import PassMeter
from logitscope.gui.reading import Reading
from logitscope.gui.runner import Runner
from logitscope.gui.shown import ShownRow
from logitscope.gui.throttle import Throttle
from logitscope.gui.viewer import Inspected, Viewer
from logitscope.sampling import SamplerSettings, Shaped
from logitscope.vocabulary import Vocabulary

FRAME_MS = 8
"""Shortest time between two repaints: a screen of 120 Hz."""


class SessionView(QObject):
    """The document, the model and the selected position, to be read."""

    model_changed = Signal()
    """A model was loaded, is gone, or is being loaded."""
    prompt_changed = Signal()
    """The blocks or their wrapping changed; the ids follow with ``path_changed``."""
    sources_changed = Signal()
    """Other stretches of the prompt are sources; the text is the same."""
    path_changed = Signal()
    """The ids on screen changed, at most once a frame."""
    selection_changed = Signal()
    row_changed = Signal()
    """The row of the selected position is another one, or became known or unknown."""
    settings_changed = Signal()
    """The sampler settings changed: ``shaped`` is another one."""
    run_changed = Signal()
    """A run began or ended."""
    trouble_changed = Signal()
    """``trouble`` is another."""
    cost_changed = Signal()
    explored = Signal(int, int)
    """Evaluations of an expansion of the tree that are done, and all; both 0 at its end."""
    noticed = Signal(object)

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine = engine
        self.document = Document()
        self.model: ModelInfo | None = None
        self.vocabulary: Vocabulary | None = None
        self._last_vocabulary: tuple[str, Vocabulary | None] = ("", None)
        self._loading = Loading(engine)
        self.cost: PassCost | None = None
        self.passes = PassMeter(engine, self)
        self._runner = Runner(engine, self.document, self)
        self._runner.running_changed.connect(self.run_changed)
        # The speed is that of one model: the next one begins without.
        self.model_changed.connect(self._runner.forget_speed)
        self._viewer = Viewer(engine, self.document, self)
        self._viewer.row_changed.connect(self.row_changed)
        self._viewer.ids_arrived.connect(self.path_changed)
        self._viewer.trouble_changed.connect(self.trouble_changed)
        self.reading = Reading(self)
        self.frames = self._frames_of_the_row()
        self._exploration = Exploration(engine, self.document, self)
        self._exploration.progressed.connect(self.explored)

    def _frames_of_the_row(self) -> Throttle:
        """What several panels show of one row they draw in one turn, from one and the same row:
        with a clock for each panel, one of them could be a step ahead of the other."""
        frames = Throttle(FRAME_MS, self)
        for signal in (
            self.row_changed,
            self.settings_changed,
            self.path_changed,
            self.selection_changed,
            self.model_changed,
            self.reading.changed,
        ):
            signal.connect(frames.throttle)
        return frames

    @property
    def state(self) -> State:
        return self.document.state

    @property
    def settings(self) -> SamplerSettings:
        return self.document.state.settings

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids on screen: prompt and path."""
        return self.document.ids

    @property
    def prompt_length(self) -> int:
        return len(self.document.state.prompt_ids)

    @property
    def loading_path(self) -> str | None:
        """The model that is being loaded."""
        return self._loading.path

    @property
    def last_load(self) -> Wish | None:
        """The last model that was asked for."""
        return self._loading.last

    @property
    def gone(self) -> Gone | None:
        """Why the model that was asked for is not there; None where it is or comes."""
        return self._loading.gone

    @property
    def is_running(self) -> bool:
        return self._runner.is_running

    @property
    def can_stop(self) -> bool:
        """The model process is busy with something that ``Session.stop_all`` ends."""
        return self.is_running or self.engine.activity.phase is not None

    @property
    def is_ready(self) -> bool:
        """A model is loaded and its ids for the prompt are known."""
        return self.model is not None and not self._viewer.is_waiting_for_ids

    @property
    def is_reading(self) -> bool:
        """The model reads the prompt; False too where that was stopped and waits for a change."""
        return self._viewer.is_reading

    @property
    def trouble(self) -> str:
        """Why the model does not read the text: one sentence; "" where it does, or has."""
        return self._viewer.trouble

    @property
    def is_beyond_context(self) -> bool:
        """More tokens stand before the selected position than the model reads at once."""
        return self._viewer.is_beyond_context

    @property
    def refusal(self) -> Notice | None:
        """Why nothing can be written behind the text; None where something can."""
        if not self.ids:
            return notices.NOTHING_TO_CONTINUE
        if self.model is not None and len(self.ids) > self.model.context_length:
            return Notice(self.reading.too_long_sentence(), topic=Topic.TEXT)
        return None

    @property
    def reading_numbers(self) -> tuple[int, int]:
        """Numbers of the requests that read the text: for its row, and of the run; 0 = none."""
        return self._viewer.live_number, self._runner.number

    @property
    def text_vocabulary(self) -> Vocabulary | None:
        """What the ids on screen can be read with: also that of a model that is gone."""
        made_by, vocabulary = self._last_vocabulary
        return vocabulary if self.state.model == made_by else None

    @property
    def position(self) -> int:
        """The selected position; ``len(ids)`` is the next token."""
        return self._viewer.position

    @property
    def follows_end(self) -> bool:
        """Nothing older is selected: the row shown is that of the next token."""
        return self._viewer.selected is None

    @property
    def row(self) -> ShownRow | None:
        """The row on show: of the selected position, or, while its row is on the way, the last
        one (then ``row_is_current`` is False). During a run whose end is followed, the newest.
        None: there is none.
        """
        return self._viewer.shelf.current

    @property
    def row_is_current(self) -> bool:
        """The row on show follows exactly the ids before the selected position."""
        return self._viewer.row_is_current

    @property
    def inspected(self) -> Inspected | None:
        """What ``Session.inspect_ids`` has put on show; None while the document's rows are."""
        return self._viewer.inspected

    @property
    def shaped(self) -> Shaped | None:
        """What the sampler chain makes of ``row``."""
        return self._viewer.shelf.shaped(self.settings)

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of the last steps; None before the first."""
        return self._runner.tokens_per_second

    @property
    def is_exploring(self) -> bool:
        """The tree is being expanded."""
        return self._exploration.is_running
