"""Chat templates of model files: programs by strangers that turn messages into one prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, TemplateSyntaxError, UndefinedError

from logitscope.backends.base import BackendError, ChatMessage
from logitscope.backends.chat_sandbox import BoundedSandbox, bounded_join

LONGEST_TEMPLATE = 1 << 20
"""Characters; the longest known ones have 20,000."""


class _Refused(TemplateError):
    """The template's own ``raise_exception``."""


def render(
    template: str,
    messages: Sequence[ChatMessage],
    *,
    add_generation_prompt: bool,
    bos_token: str,
    eos_token: str,
) -> str:
    """The prompt that ``template`` makes of ``messages``, as transformers would render it.

    Raises BackendError with one sentence that names the template's line.
    """
    if len(template) > LONGEST_TEMPLATE:
        raise BackendError("The model's chat template is too long to be one: use a plain prompt.")
    try:
        parts = _compiled(template).generate(
            messages=[{"role": m.role, "content": m.content} for m in messages],
            add_generation_prompt=add_generation_prompt,
            bos_token=bos_token,
            eos_token=eos_token,
            tools=None,
            documents=None,
        )
        return bounded_join(parts)
    except Exception as error:
        raise _failure(error) from error


@lru_cache(maxsize=4)
def _compiled(template: str) -> Template:
    environment = BoundedSandbox(filters={"tojson": _to_json})
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as models saw it in training; Jinja's own filter escapes it for HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _raise(message: object) -> NoReturn:
    raise _Refused(str(message))


def _failure(error: Exception) -> BackendError:
    said = str(error).strip().splitlines()
    what = said[0].removesuffix(".") if said else type(error).__name__
    line = error.lineno if isinstance(error, TemplateSyntaxError) else _line_in_template(error)
    where = f" in line {line}" if line else ""
    detail = f"{type(error).__name__}: {error}"
    verb, advice = "fails", "use a plain prompt"
    if isinstance(error, _Refused):
        verb, advice = "refuses these messages", "change them or use a plain prompt"
    elif isinstance(error, TemplateSyntaxError):
        verb = "is broken"
    elif isinstance(error, UndefinedError):
        advice = "change the messages or use a plain prompt"
    sentence = f"The model's chat template {verb}{where} ({what}): {advice}."
    return BackendError(sentence, detail)


def _line_in_template(error: Exception) -> int | None:
    """The template's line: Jinja rewrites tracebacks so that they show the template's source."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
