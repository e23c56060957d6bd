"""An engine without a process: rows are put in by hand, requests are only written down."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal

from logitscope.backends.base import LoadOptions, ModelInfo
from logitscope.backends.messages import Channel, Evaluated, Loaded, PromptText, RowRef
from logitscope.backends.origin_messages import Task
from logitscope.gui.engine import IDLE
from logitscope.gui.session import Session
from logitscope.origin_types import OriginCase, OriginReport
from logitscope.sampling import SamplerSettings
from logitscope.vocabulary import TokenKind, Vocabulary

WORDS = (
    b" the", b" blue", b" a", b"\n", b"\t", b" Budapest", b"\xe2\x80", b"\xf0\x9f\x98\x80",
)  # fmt: skip
"""Tokens 0 to 7: ordinary ones, whitespace, half a character, an emoji."""
BOS = 8


class StubEngine(QObject):
    """Answers nothing by itself; ``requests`` holds what was asked."""

    replied = Signal(object)
    stepped = Signal(object)
    activity_changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.activity = IDLE
        self.requests: list[str] = []
        self.attributions: list[tuple[Task, OriginCase, OriginReport | None, tuple[int, ...]]] = []
        self.rows: dict[int, np.ndarray] = {}

    def _note(self, name: str) -> int:
        self.requests.append(name)
        return len(self.requests)

    def load(self, path: str, backend: str, options: LoadOptions) -> int:
        return self._note("load")

    def evaluate(
        self,
        prompt: PromptText | tuple[int, ...],
        tail: tuple[int, ...] = (),
        channel: Channel = Channel.LIVE,
    ) -> int:
        return self._note("evaluate")

    def generate(
        self, ids: tuple[int, ...], settings: SamplerSettings, max_tokens: int, **options: object
    ) -> int:
        return self._note("generate")

    def unembed(self, ids: tuple[int, ...], token_id: int) -> int:
        return self._note("unembed")

    def tokenize(self, text: str, **options: object) -> int:
        return self._note("tokenize")

    def attribute(
        self,
        case: OriginCase,
        task: Task,
        report: OriginReport | None = None,
        *,
        words: tuple[int, ...] = (),
        **options: object,
    ) -> int:
        self.attributions.append((task, case, report, words))
        return self._note("attribute")

    def cancel(self, number: int) -> None:
        self.requests.append("cancel")

    def row(self, ref: RowRef) -> np.ndarray | None:
        return self.rows.get(ref.stamp)


def vocabulary_of(size: int) -> Vocabulary:
    """``WORDS``, then BOS, then `` t9``, `` t10``, …"""
    pieces = [*WORDS, b"<bos>", *(b" t%d" % i for i in range(BOS + 1, size))][:size]
    kinds = np.zeros(size, dtype=np.uint8)
    kinds[BOS : BOS + 1] = TokenKind.CONTROL
    return Vocabulary.from_pieces(pieces, kinds, bos=None, eos=None)


def model_of(size: int) -> ModelInfo:
    return ModelInfo(
        name="Stub", path="stub", backend="stub", architecture="stub", parameters=None,
        quantization="F32", n_vocab=size, context_length=2048, trained_context_length=None,
        weight_bytes=1, kv_bytes_per_token=1.0, device="CPU", has_chat_template=False,
        tied_embeddings=None, header_hash="0123abcd",
    )  # fmt: skip


class Stage:
    """A session on a stub engine, and the way to put rows into it."""

    def __init__(self) -> None:
        self.engine = StubEngine()
        self.session = Session(self.engine)  # type: ignore[arg-type]

    def load(self, size: int) -> None:
        self.session.open_model("stub")
        number = len(self.engine.requests)
        self.engine.replied.emit(Loaded(number, model_of(size), vocabulary_of(size), "", 8, 0.0))

    def show(self, logits: np.ndarray, prompt: tuple[int, ...] = (0, 1)) -> None:
        """Let the model answer the prompt with these ids and this row."""
        self.session.set_prompt(self.session.state.text + "x")
        self._answer(prompt, (), logits, Channel.LIVE)

    def answer_inspection(self, logits: np.ndarray) -> None:
        """Answer the request for the row of the selected position."""
        session = self.session
        self._answer(session.ids[: session.position], (), logits, Channel.INSPECT)

    def answer_end(self, logits: np.ndarray) -> None:
        """Answer the request for the row behind the path."""
        session = self.session
        self._answer(session.state.prompt_ids, session.document.tail_ids, logits, Channel.LIVE)

    def _answer(
        self, prompt: tuple[int, ...], tail: tuple[int, ...], logits: np.ndarray, channel: Channel
    ) -> None:
        stamp = len(self.engine.rows) + 1
        self.engine.rows[stamp] = np.asarray(logits, dtype=np.float32)
        number = len(self.engine.requests)
        self.engine.replied.emit(
            Evaluated(number, channel, prompt, tail, "", RowRef(0, stamp), 0, 1, 0.0, 0)
        )
