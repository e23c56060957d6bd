"""The layout without Qt: growing and cutting back must end where a fresh layout begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logitscope.display import PartKind
from logitscope.gui.widgets.token_layout import TokenLayout
from logitscope.vocabulary import TokenKind, Vocabulary

PIECES = [b"<bos>", b"the", b" sky", b"\n", b".\n\n", b"\xe2", b"\x82", b"\xac", b" a\xe2",
          "👍".encode(), "🏽".encode(), b"\xf0\x9f", b"\x8f\xbd", "中".encode(), b"", b"\t",
          b"x" * 60, "\u200d".encode(), "💻".encode(), b" ", b"!", b"\xff"]  # fmt: skip
VOCABULARY = Vocabulary.from_pieces(
    PIECES,
    [TokenKind.CONTROL] + [TokenKind.NORMAL] * (len(PIECES) - 1),
    bos=0,
    eos=None,
)
IDS = st.lists(st.integers(0, len(PIECES) - 1), max_size=40)


class Columns:
    """Every character one pixel wide."""

    column = 1.0
    id_column = 1.0

    def width(self, text: str, kind: PartKind) -> float:
        return float(len(text))


def made(ids: list[int], width: float = 20.0, *, shows_ids: bool = False) -> TokenLayout:
    layout = TokenLayout(Columns())
    layout.set_vocabulary(VOCABULARY)
    layout.set_style(Columns(), marks=True, shows_ids=shows_ids)
    layout.set_width(width)
    layout.extend(ids)
    return layout


def lines(layout: TokenLayout) -> list[list[tuple[int, int, float, float, str]]]:
    """Tokens, place and text of every cell, line by line."""
    return [
        [
            (c.start, c.stop, c.x, c.width, "".join(run.text for run in c.look.runs))
            for c in layout.cells(number)
        ]
        for number in range(layout.line_count)
    ]


@settings(max_examples=300)
@given(IDS, st.integers(0, 40), IDS, st.integers(5, 40), st.booleans())
def test_growing_and_cutting_back_is_as_laying_out_at_once(
    ids: list[int], keep: int, more: list[int], width: int, shows_ids: bool
) -> None:
    layout = made([], width, shows_ids=shows_ids)
    for token_id in ids:
        layout.extend([token_id])
    layout.truncate(keep)
    layout.extend(more)
    assert lines(layout) == lines(made(ids[:keep] + more, width, shows_ids=shows_ids))
    assert layout.ids == ids[:keep] + more


@given(IDS, st.integers(5, 40), st.integers(5, 40))
def test_another_width_is_as_that_width_from_the_start(
    ids: list[int], first: int, second: int
) -> None:
    layout = made(ids, first)
    layout.set_width(second)
    assert lines(layout) == lines(made(ids, second))


@given(IDS, st.integers(5, 40))
def test_every_token_has_its_place_and_no_line_is_too_wide(ids: list[int], width: int) -> None:
    layout = made(ids, width)
    seen: list[int] = []
    for number in range(layout.line_count):
        cells = list(layout.cells(number))
        seen.extend(t for c in cells for t in range(c.start, c.stop))
        if len(cells) > 1:
            assert cells[-1].x + cells[-1].width <= width
    assert set(seen) == set(range(len(ids)))
    for token in range(len(ids)):
        line, x, part = layout.place_of(token)
        assert part > 0
        assert layout.token_at(line, x + part / 2) == token
        assert layout.lines_of(token).start == line


@given(IDS, st.integers(5, 40))
def test_a_line_feed_ends_its_line_and_nothing_else_does_at_any_width(
    ids: list[int], width: int
) -> None:
    layout = made(ids, 1e6)
    text = b"".join(PIECES[i] for i in ids if i)
    assert layout.line_count == text.count(b"\n") + 1
    drawn = ["".join(cell[4] for cell in line) for line in lines(layout)]
    assert all(line.endswith("⏎") for line in drawn[:-1])
    assert all("⏎" not in line[:-1] for line in drawn)


@pytest.mark.parametrize(
    ("ids", "width", "drawn"),
    [
        ([1, 2, 2, 2], 10, ["the·sky", "·sky·sky"]),
        ([1, 2, 1], 8, ["the", "·skythe"]),
        ([2, 1, 1], 9, ["·skythe", "the"]),
        ([1, 20, 2], 3, ["the", "!", "·sky"]),
        ([13, 13, 13], 2, ["中中", "中"]),
    ],
)
def test_words_stay_whole_where_they_fit(ids: list[int], width: int, drawn: list[str]) -> None:
    assert ["".join(cell[4] for cell in line) for line in lines(made(ids, width))] == drawn


def test_a_shared_character_is_one_cell_with_a_part_for_each_token() -> None:
    layout = made([8, 6, 7, 20])
    cells = [(c.start, c.stop, "".join(r.text for r in c.look.runs)) for c in layout.cells(0)]
    assert cells == [(0, 1, "·a"), (0, 3, "€"), (3, 4, "!")]
    shared = list(layout.cells(0))[1]
    parts = [shared.part_of(token) for token in range(3)]
    assert [x for x, _ in parts] == [shared.x + i * shared.width / 3 for i in range(3)]
    assert [layout.token_at(0, x + 0.1) for x, _ in parts] == [0, 1, 2]


@pytest.mark.parametrize(
    ("ids", "drawn"),
    [
        ([9, 10], ["👍🏽"]),
        ([9, 11, 12], ["👍🏽"]),
        ([9, 17, 18], ["👍\u200d💻"]),
        ([5, 6], ["‹E2›", "‹82›"]),
        ([5, 1], ["‹E2›", "the"]),
        ([5, 6, 7], ["€"]),
        ([1, 17, 1], ["the", "‹ZWJ›", "the"]),
        ([0, 21, 14], ["<bos>", "‹FF›", "‹›"]),
        ([15], ["→   "]),
    ],
)
def test_what_is_drawn_in_the_cells(ids: list[int], drawn: list[str]) -> None:
    cells = made(ids, 1e6).cells(0)
    assert ["".join(r.text for r in c.look.runs) for c in cells] == drawn


def test_appending_lays_out_one_token() -> None:
    layout = made([1, 2] * 500)
    before = layout.built_tokens
    layout.extend([2])
    assert layout.built_tokens == before + 1
    layout.extend([5])
    layout.extend([6])
    assert layout.built_tokens == before + 1 + 1 + 2


def test_a_long_token_wraps_within_itself() -> None:
    layout = made([16], width=30)
    assert layout.line_count == 3
    assert layout.lines_of(0) == range(3)
    assert sum(c.width for n in range(3) for c in layout.cells(n)) == 60


def test_the_end_is_behind_the_last_token_or_on_the_line_behind_a_line_feed() -> None:
    assert made([1, 2], 100).end == (0, 7.0)
    assert made([1, 3], 100).end == (1, 0.0)
    assert made([]).end == (0, 0.0)
    assert made([1, 3]).place_of(2) == (1, 0.0, 0.0)


def test_with_ids_shown_no_token_is_narrower_than_its_id() -> None:
    wide = Vocabulary.from_pieces([b"a"] * 123_457, np.zeros(123_457), bos=None, eos=None)
    layout = TokenLayout(Columns())
    layout.set_vocabulary(wide)
    layout.set_style(Columns(), marks=True, shows_ids=True)
    layout.extend([123_456])
    assert layout.place_of(0)[2] >= len("123456")
