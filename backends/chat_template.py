"""Chat templates of model files: programs by strangers, run in Jinja's immutable sandbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logitscope.backends.base import BackendError, ChatMessage

LONGEST_TEMPLATE = 1 << 20
LONGEST_PROMPT = 4 << 20
"""Characters; no context holds a longer one."""


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
    parts: list[str] = []
    length = 0
    try:
        for part in _compiled(template).generate(
            messages=[{"role": m.role, "content": m.content} for m in messages],
            add_generation_prompt=add_generation_prompt,
            bos_token=bos_token,
            eos_token=eos_token,
        ):
            parts.append(part)
            length += len(part)
            if length > LONGEST_PROMPT:
                raise BackendError(
                    f"The model's chat template writes more than {LONGEST_PROMPT:,} characters:"
                    " use a plain prompt."
                )
    except BackendError:
        raise
    except Exception as error:
        raise _failure(error) from error
    return "".join(parts)


@lru_cache(maxsize=4)
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    """JSON as models saw it in training: not escaped for HTML, as Jinja's own filter does."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _raise(message: object) -> NoReturn:
    raise TemplateError(str(message))


def _failure(error: Exception) -> BackendError:
    line = getattr(error, "lineno", None) or _line_in_template(error)
    where = f" (line {line})" if line else ""
    said = str(error).strip().splitlines()
    what = said[0] if said else type(error).__name__
    return BackendError(
        f"The model's chat template failed{where}: {what}. Change the messages or use a plain"
        " prompt.",
        f"{type(error).__name__}: {error}",
    )


def _line_in_template(error: Exception) -> int | None:
    """Jinja rewrites tracebacks so that frames of ``<template>`` carry the template's lines."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
