"""Whether the person did what a lesson's step asks for: named predicates over two moments.

Each takes the moment at which the step began and the present one; its keyword parameters are what
a lesson file may set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from logitscope.lesson_moment import Moment
from logitscope.sources import has_sources, joined_spans
from logitscope.steps import Origin, StepRecord


def view(_start: Moment, now: Moment, *, shows: str) -> bool:
    """A panel shows something, such as ``tab:how``."""
    return shows in now.views


def panel(_start: Moment, now: Moment, *, id: str) -> bool:
    """A panel is seen."""
    return id in now.panels


def temperature(_start: Moment, now: Moment, *, least: float, most: float = 1e9) -> bool:
    """The temperature lies between two values, both included."""
    return least <= now.settings.temperature <= most


def top_p(_start: Moment, now: Moment, *, least: float, most: float) -> bool:
    """Top-p lies between two values, both included."""
    return least <= now.settings.top_p <= most


def other_seed(start: Moment, now: Moment) -> bool:
    """The seed is another one."""
    return now.settings.seed != start.settings.seed


def stepped(start: Moment, now: Moment, *, least: int = 1, greedy: bool = False) -> bool:
    """So many tokens were generated since; ``greedy``: each the model's likeliest.

    A token that the tree held already is walked, with the record of its first time: whether
    that one was drawn says nothing of this time.
    """
    new = [step for step in _new_steps(start, now) if step.origin is Origin.SAMPLED]
    return sum(step.rank == 1 or not greedy for step in new) >= least


def rewound(start: Moment, now: Moment) -> bool:
    """Something was generated, and taken back: there was a run, and the path is as it was."""
    return now.runs > start.runs and len(now.path) == len(start.path)


def forced(start: Moment, now: Moment) -> bool:
    """A token was put there by hand since."""
    return any(step.origin is Origin.FORCED for step in _new_steps(start, now))


def drawn_again(start: Moment, now: Moment, *, least: int = 1) -> bool:
    """ "Draw again" was used so often at the present row."""
    return now.attempts - (start.attempts if start.ids == now.ids else 0) >= least


def selected(_start: Moment, now: Moment, *, within: str = "any") -> bool:
    """A token that has a loss is selected: any, of the ``prompt``, or of the ``path``."""
    if now.follows_end or now.position < 1:
        return False
    is_prompt = now.position < len(now.state.prompt_ids)
    return within == "any" or (within == "prompt") is is_prompt


def selected_extreme(_start: Moment, now: Moment, *, of: str = "path") -> bool:
    """The selected token is the least likely one of the ``path``, or of the whole ``text``."""
    if now.follows_end:
        return False
    if of == "path":
        place = now.position - len(now.state.prompt_ids)
        chances = [step.log_probability for step in now.path]
        return 0 <= place < len(chances) and chances[place] == min(chances)
    losses = now.losses
    if losses is None or now.position >= len(losses) or np.isnan(losses).all():
        return False
    return bool(losses[now.position] == np.nanmax(losses))


def scored(_start: Moment, now: Moment) -> bool:
    """Every token of the text on screen, but the first, has its loss."""
    losses = now.losses
    if losses is None or len(losses) != len(now.ids) or len(losses) < 2:
        return False
    return not np.isnan(losses[1:]).any()


def text_has(_start: Moment, now: Moment, *, text: str) -> bool:
    """The prompt holds these words; upper and lower case are the same."""
    return text.casefold() in now.state.text.casefold()


def text_lacks(_start: Moment, now: Moment, *, text: str) -> bool:
    """The prompt does not hold these words."""
    return text.casefold() not in now.state.text.casefold()


def text_changed(start: Moment, now: Moment) -> bool:
    """The prompt reads otherwise."""
    return now.state.text != start.state.text


def source(_start: Moment, now: Moment, *, text: str) -> bool:
    """These words of the prompt are marked as a source, all of them."""
    start = now.state.text.find(text)
    if start < 0:
        return False
    spans = joined_spans(now.state.blocks)
    words = (start + place for place, letter in enumerate(text) if not letter.isspace())
    return all(any(first <= place < stop for first, stop in spans) for place in words)


def no_source(_start: Moment, now: Moment) -> bool:
    """Nothing is marked as a source."""
    return not has_sources(now.state.blocks)


def origin_known(_start: Moment, now: Moment) -> bool:
    """The origin panel has labelled the answer."""
    return now.origin is not None and now.origin.labelled > 0


def backend(_start: Moment, now: Moment, *, is_run_by: str) -> bool:
    """The model is run by this backend."""
    return now.model is not None and now.model.backend == is_run_by


def _new_steps(start: Moment, now: Moment) -> tuple[StepRecord, ...]:
    """Steps of the path behind what it shares with the path at the beginning."""
    shared = 0
    if start.state.prompt_ids == now.state.prompt_ids:
        for before, after in zip(start.path, now.path, strict=False):
            if before is not after:
                break
            shared += 1
    return now.path[shared:]


Check = Callable[..., bool]
"""(moment at the step's beginning, present moment, parameters) -> whether it was done."""

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        view, panel, temperature, top_p, other_seed, stepped, rewound, forced, drawn_again,
        selected, selected_extreme, scored, text_has, text_lacks, text_changed, source, no_source,
        origin_known, backend,
    )
}  # fmt: skip
"""Every predicate by the name that lesson files use."""
