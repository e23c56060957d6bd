"""Commands that mark stretches of the prompt as sources for the origin panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from logitscope import sources
from logitscope.document import Block
from logitscope.gui.actions import CONTEXT, Command, Menu, Shell
from logitscope.gui.session import Session
from logitscope.gui.words import mark
from logitscope.sources import Place

Blocks = tuple[Block, ...]
Change = Callable[[Blocks, Place], Blocks]


def change_sources(change: Change, shell: Shell) -> None:
    """Do it to what is selected in the prompt, or to where the caret is."""
    blocks = shell.session.state.blocks
    for place in shell.prompt_places():
        blocks = change(blocks, place)
    shell.session.set_sources(blocks)


def mark_selection(blocks: Blocks, place: Place) -> Blocks:
    """Without a selection the paragraph is meant."""
    return (
        mark_paragraph(blocks, place) if place.start == place.stop else sources.mark(blocks, place)
    )


def mark_paragraph(blocks: Blocks, place: Place) -> Blocks:
    text = blocks[place.block].text
    return _mark(blocks, place, sources.paragraph_at(text, place.start, place.stop))


def mark_sentence(blocks: Blocks, place: Place) -> Blocks:
    text = blocks[place.block].text
    return _mark(blocks, place, sources.sentence_at(text, place.start, place.stop))


def mark_block(blocks: Blocks, place: Place) -> Blocks:
    return sources.mark_block(blocks, place.block, is_source=True)


def _mark(blocks: Blocks, place: Place, span: tuple[int, int]) -> Blocks:
    return sources.mark(blocks, Place(place.block, *span)) if span[0] < span[1] else blocks


def has_prompt(session: Session) -> bool:
    return bool(session.state.text)


def has_sources(session: Session) -> bool:
    return sources.has_sources(session.state.blocks)


def unmark_all(shell: Shell) -> None:
    blocks = shell.session.state.blocks
    for index in range(len(blocks)):
        blocks = sources.mark_block(blocks, index, is_source=False)
    shell.session.set_sources(blocks)


def _text(text: str) -> str:
    return mark(CONTEXT, text)


_SUBMENU = _text("Sources")

SOURCE_COMMANDS = (
    Command("mark_source", _text("Mark as source"), Menu.EDIT, ("Ctrl+M",),
            partial(change_sources, mark_selection),
            _text("Mark what is selected in the prompt, or the paragraph at the caret, as a "
                  "source for the origin panel."),
            "", has_prompt, submenu=_SUBMENU, repeats=False),
    Command("mark_paragraph", _text("Mark paragraph"), Menu.EDIT, ("Alt+P",),
            partial(change_sources, mark_paragraph),
            _text("Mark the paragraph at the caret as a source."), "", has_prompt,
            submenu=_SUBMENU, repeats=False),
    Command("mark_sentence", _text("Mark sentence"), Menu.EDIT, ("Alt+S",),
            partial(change_sources, mark_sentence),
            _text("Mark the sentence at the caret as a source."), "", has_prompt,
            submenu=_SUBMENU, repeats=False),
    Command("mark_block", _text("Mark whole prompt or message"), Menu.EDIT, ("Alt+M",),
            partial(change_sources, mark_block),
            _text("Mark all of the prompt, or of the message with the caret, as a source."), "",
            has_prompt, submenu=_SUBMENU, repeats=False),
    Command("unmark_source", _text("Unmark"), Menu.EDIT, ("Alt+U",),
            partial(change_sources, sources.unmark),
            _text("Take the selection, or the span at the caret, out of the sources."), "",
            has_sources, submenu=_SUBMENU, repeats=False),
    Command("unmark_all", _text("Unmark everything"), Menu.EDIT, ("Alt+Shift+U",), unmark_all,
            _text("Take everything out of the sources."), "", has_sources, submenu=_SUBMENU,
            repeats=False),
    Command("split_span", _text("Split span at the caret"), Menu.EDIT, ("Alt+K",),
            partial(change_sources, sources.split),
            _text("Cut the source span at the caret into two."), "", has_sources,
            submenu=_SUBMENU, repeats=False),
    Command("merge_spans", _text("Join spans"), Menu.EDIT, ("Alt+J",),
            partial(change_sources, sources.merge),
            _text("Join the selected source spans, or the one at the caret with the next."), "",
            has_sources, submenu=_SUBMENU, repeats=False),
)  # fmt: skip
