"""A Jinja sandbox that bounds what a stranger's template can take in memory.

Jinja's own sandbox keeps a template away from the program and from ``range(10**9)``, but not from
``"a" * 10**10`` or from doubling a text forty times. Here every operation that can make a text much
longer than its parts is held against a limit. Time is limited by whoever runs the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from string import Formatter
from typing import Any

from jinja2 import TemplateRuntimeError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 4 << 20
"""Characters (or list entries) that a template may hold in one value; no context holds more."""
LARGEST_POWER = 64


class TooLong(TemplateRuntimeError):
    """A template makes a value that no prompt needs."""

    def __init__(self) -> None:
        super().__init__(f"it makes a text of more than {LONGEST:,} characters")


def bounded_join(parts: Iterable[str]) -> str:
    """Join, or raise TooLong before the memory is taken."""
    texts, length = [], 0
    for part in parts:
        texts.append(part)
        length += len(part)
        if length > LONGEST:
            raise TooLong
    return "".join(texts)


def _multiply(left: Any, right: Any) -> Any:
    for value, count in ((left, right), (right, left)):
        if isinstance(value, str | list | tuple) and isinstance(count, int):
            _require(len(value) * count)
    _require_number(left, right)
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(right, int | float) and abs(right) > LARGEST_POWER:
        raise TooLong
    _require_number(left)
    return left**right


def _percent(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        if _PERCENT_WIDTH.search(left):
            raise _no_widths()
        _require(size_of(left) + size_of(right))
    return left % right


_PERCENT_WIDTH = re.compile(r"%[^%a-zA-Z]*[\d*]")
"""A length from the digits in a format, as in ``%9999999999d``."""


def _no_widths() -> TemplateRuntimeError:
    return TemplateRuntimeError("it formats to a width, which templates here may not")


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        _require(len(left) + len(right))
    return left + right


def size_of(value: Any) -> int:
    """About how many characters ``str(value)`` has, without making them; raises TooLong."""
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        else:
            total += len(item) if isinstance(item, str) else 8
        if total + len(waiting) > LONGEST:
            raise TooLong
    return total


def _bounded_text(value: Any) -> Any:
    """Check what is about to be written out as text."""
    if not isinstance(value, str):
        size_of(value)
    return value


def _require(length: int) -> None:
    if length > LONGEST:
        raise TooLong


def _require_number(*values: Any) -> None:
    """An integer of a million digits takes longer than anybody waits."""
    if any(isinstance(value, int) and value.bit_length() > 4096 for value in values):
        raise TooLong


class _Generator(CodeGenerator):
    """Writes ``a ~ b`` as a bounded join."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat(str(environment.finalize(part)) for part in (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _GenerationBlocks(Extension):
    """``{% generation %}`` marks what the model wrote, for training; here it is only a block."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class BoundedSandbox(ImmutableSandboxedEnvironment):
    """The environment that transformers renders chat templates in, bounded."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    code_generator_class = _Generator
    concat = staticmethod(bounded_join)

    def __init__(self, filters: Mapping[str, Callable[..., Any]]) -> None:
        """``filters`` replace or add to Jinja's own."""
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_GenerationBlocks, "jinja2.ext.loopcontrols"],
            finalize=_bounded_text,
        )
        self.binop_table.update({"*": _multiply, "**": _power, "%": _percent, "+": _add})
        for name in _WITHOUT:
            del self.filters[name]
        del self.globals["lipsum"]
        self.filters.update(filters)
        for name, guard in _FILTER_GUARDS.items():
            self.filters[name] = _guarded(self.filters[name], guard)

    def call(self, context: Context, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function or method of the template, unless its result would be too long."""
        owner = getattr(target, "__self__", None)
        if isinstance(owner, str):
            guard = _METHOD_GUARDS.get(getattr(target, "__name__", ""))
            if guard is not None:
                guard(owner, *args, **kwargs)
        return super().call(context, target, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """``str.format`` in Jinja's wrapping, without widths: they allocate what they name."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        template = str(value.__self__)

        def checked(*args: Any, **kwargs: Any) -> str:
            if any(spec for _, _, spec, _ in Formatter().parse(template)):
                raise _no_widths()
            _require(len(template) + size_of([args, kwargs]) * (1 + template.count("{")))
            return wrapped(*args, **kwargs)

        return checked


def _check_replace(text: Any, old: Any = "", new: Any = "", *_: Any, **__: Any) -> None:
    _require(size_of(text) + str(text).count(str(old)) * size_of(new))


def _check_width(_text: Any, width: Any = 0, *_: Any, **more: Any) -> None:
    for value in (width, *more.values()):
        _require(value if isinstance(value, int) else size_of(value))


def _check_indent(text: Any, width: Any = 4, *_: Any, **__: Any) -> None:
    size = width if isinstance(width, int) else size_of(width)
    _require(size_of(text) + (str(text).count("\n") + 1) * size)


def _check_join(values: Any, separator: Any = "", *_: Any, **__: Any) -> None:
    if isinstance(values, list | tuple | str | dict):
        _require(size_of(values) + len(values) * size_of(separator))


def _check_size(value: Any, *_: Any, **__: Any) -> None:
    size_of(value)


def _check_method_join(separator: str, values: Any = (), *_: Any, **__: Any) -> None:
    _check_join(values, separator)


def _check_tabs(text: str, width: Any = 8, **more: Any) -> None:
    for value in (width, *more.values()):
        _require(len(text) * value if isinstance(value, int) else 0)


def _guarded(function: Callable[..., Any], guard: Callable[..., object]) -> Callable[..., Any]:
    """A filter behind its check; marks such as ``pass_environment`` stay with the filter."""
    skips = 1 if hasattr(function, "jinja_pass_arg") else 0

    def checked(*args: Any, **kwargs: Any) -> Any:
        guard(*args[skips:], **kwargs)
        return function(*args, **kwargs)

    checked.__dict__.update(function.__dict__)
    return checked


_WITHOUT = ("batch", "center", "format", "pprint", "slice", "urlize", "wordwrap", "xmlattr")
"""Filters that fill up or pad to a length, or write HTML; no chat template uses them."""
_FILTER_GUARDS: Mapping[str, Callable[..., object]] = {
    "replace": _check_replace,
    "indent": _check_indent,
    "join": _check_join,
    "string": _check_size,
    "tojson": _check_size,
}
_METHOD_GUARDS: Mapping[str, Callable[..., object]] = {
    "replace": _check_replace,
    "center": _check_width,
    "ljust": _check_width,
    "rjust": _check_width,
    "zfill": _check_width,
    "expandtabs": _check_tabs,
    "join": _check_method_join,
}
