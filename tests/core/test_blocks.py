"""Edits of a joined text against plain string surgery."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.blocks import changed_range, edited
from logitscope.document import Block

TEXTS = st.text("ab", max_size=6)
BLOCKS = st.lists(
    st.builds(Block, TEXTS, st.sampled_from(["system", "user"]), st.booleans()), max_size=4
).map(tuple)


@given(TEXTS, TEXTS)
def test_the_changed_stretch_put_in_place_gives_the_new_text(old: str, new: str) -> None:
    start, old_stop, new_stop = changed_range(old, new)
    assert 0 <= start <= min(old_stop, new_stop)
    assert old[:start] + new[start:new_stop] + old[old_stop:] == new


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_the_changed_stretch_is_no_longer_than_the_edit(
    head: str, old: str, new: str, tail: str
) -> None:
    start, old_stop, new_stop = changed_range(head + old + tail, head + new + tail)
    assert old_stop - start <= len(old)
    assert new_stop - start <= len(new)


@given(BLOCKS, st.text("abc", max_size=20))
def test_edited_blocks_spell_the_new_text(blocks: tuple[Block, ...], text: str) -> None:
    assert "".join(block.text for block in edited(blocks, text)) == text


@given(BLOCKS)
def test_the_same_text_changes_nothing(blocks: tuple[Block, ...]) -> None:
    if blocks:
        assert edited(blocks, "".join(block.text for block in blocks)) == blocks


SYSTEM, USER = Block("Be kind.", "system", is_source=True), Block("Hello", "user")


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("Be kind.Hello you", ["Be kind.", "Hello you"]),
        ("Be very kind.Hello", ["Be very kind.", "Hello"]),
        ("Be kind. Hello", ["Be kind. ", "Hello"]),
        ("Be kiXlo", ["Be kiX", "lo"]),
        ("Be kind.", ["Be kind."]),
        ("", [""]),
    ],
)
def test_each_block_keeps_its_role(text: str, texts: list[str]) -> None:
    found = edited((SYSTEM, USER), text)
    assert [block.text for block in found] == texts
    assert found[0].role == "system"
    assert found[0].is_source
    assert all(block.role == "user" for block in found[1:])
