"""What could come next, asked of a model in its own process, for callers that can wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import BackendError, ChatMessage
from logitscope.backends.messages import Evaluated, PromptText
from logitscope.backends.question import Report, unreported, wait_for
from logitscope.backends.scoring import ScoringModel


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The row that follows ``ids``, raw logits, shape (V,)."""

    ids: tuple[int, ...]
    rendered: str
    """The text that was tokenized: for chat, the template's output."""
    row: NDArray[np.float32]


class NextProcess(ScoringModel):
    """A loaded model; methods raise BackendError with the sentence of what failed."""

    def answer(
        self, prompt: str, *, add_special: bool, chat: bool, report: Report = unreported
    ) -> Answer:
        """Read the prompt. ``chat`` sends it as one user's message through the model's template."""
        messages = (ChatMessage("user", prompt),)
        text = PromptText(messages, chat=chat, add_special=add_special, parse_special=chat)
        number = self._client.evaluate(text)
        evaluated = wait_for(self._replies, number, Evaluated, report)
        row = self._client.row(evaluated.row)
        if row is None:
            raise BackendError("The answer of the model was lost: ask again")
        return Answer(evaluated.prompt_ids, evaluated.rendered, row)
