"""From a prompt to the ids the model reads."""

from __future__ import annotations

from logitscope.backends.base import Backend, BackendError
from logitscope.backends.deadline import TimeUp, time_limit
from logitscope.backends.messages import PromptText

_TEMPLATE_SECONDS = 2.0
_TEMPLATE_HARD_SECONDS = 6.0
"""A template takes milliseconds; a hostile one loops, in Python or in native code."""


def prompt_ids(backend: Backend, prompt: PromptText | tuple[int, ...]) -> tuple[list[int], str]:
    """Ids and the text that was tokenized ("" where ids were given).

    A chat goes through the model's template, whose written marks are always read as tokens; the
    turn of the assistant is opened unless the last message is the assistant's own. Where the
    template itself writes BOS, no second one is added.
    Raises BackendError for a template that is missing, fails, or does not end.
    """
    if not isinstance(prompt, PromptText):
        return list(prompt), ""
    if not prompt.chat:
        text = "".join(message.content for message in prompt.messages)
        ids = backend.tokenize(
            text, add_special=prompt.add_special, parse_special=prompt.parse_special
        )
        return ids, text
    text = _render(backend, prompt)
    add_special = prompt.add_special and not _starts_with_bos(backend, text)
    return backend.tokenize(text, add_special=add_special, parse_special=True), text


def _render(backend: Backend, prompt: PromptText) -> str:
    open_turn = not prompt.messages or prompt.messages[-1].role != "assistant"
    try:
        with time_limit(_TEMPLATE_SECONDS, _TEMPLATE_HARD_SECONDS):
            return backend.render_chat(prompt.messages, add_generation_prompt=open_turn)
    except TimeUp as error:
        raise BackendError(
            f"The model's chat template did not end within {_TEMPLATE_SECONDS:.0f} seconds; "
            "use a plain prompt with this model."
        ) from error


def _starts_with_bos(backend: Backend, text: str) -> bool:
    vocabulary = backend.vocabulary
    if vocabulary.bos is None:
        return False
    return text.encode("utf-8", "replace").startswith(vocabulary.bytes_of(vocabulary.bos))
