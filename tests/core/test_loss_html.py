"""The exported heatmap: parsed as HTML, it holds the text, the numbers and nothing that runs."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import numpy as np
import pytest

from logitscope.heat import Measure
from logitscope.loss_html import loss_html
from logitscope.losses import LossTable
from logitscope.surprisal import token_numbers
from logitscope.vocabulary import TokenKind, Vocabulary

PIECES = [bytes([b]) for b in range(256)] + [b"<bos>", b"</pre><script>alert(1)</script>"]
BOS, EVIL = 256, 257


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    kinds = [TokenKind.BYTE] * 256 + [TokenKind.CONTROL, TokenKind.NORMAL]
    return Vocabulary.from_pieces(PIECES, kinds, bos=BOS, eos=None)


def scored(ids: list[int]) -> LossTable:
    """A uniform model over the vocabulary: every loss is ln 258."""
    table = LossTable()
    table.follow(ids)
    rows = np.zeros((len(ids) - 1, len(PIECES)), dtype=np.float32)
    table.put(1, token_numbers(rows, np.array(ids[1:])))
    return table


class Page(HTMLParser):
    """Tags, the text of <pre>, and the cells in it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.cells: list[tuple[str, dict[str, str | None]]] = []
        self.styles = ""
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self._open.append(tag)
        if tag == "span" and "pre" in self._open:
            self.cells.append(("", dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "pre" in self._open and self._open[-1] == "span":
            text, attributes = self.cells[-1]
            self.cells[-1] = text + data, attributes
        if "style" in self._open:
            self.styles += data

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.cells)


def test_text_and_numbers(vocabulary: Vocabulary) -> None:
    ids = [BOS, *b"a <b> & c\n", *"é".encode()]
    page = Page(loss_html(vocabulary, scored(ids), "A <title>", facts=["mean 5 & more"]))
    assert page.text == "<bos>a <b> & c⏎\né"
    # One cell a token, but one for the two that share a character.
    assert len(page.cells) == len(ids) - 1
    said = page.cells[1][1]["title"]
    assert said is not None
    assert f"loss {math.log(len(PIECES)):.3f} nats" in said
    assert f"entropy {math.log(len(PIECES)):.3f} nats" in said
    assert "rank 98" in said


def test_the_first_token_is_unknown_and_not_zero(vocabulary: Vocabulary) -> None:
    first = Page(loss_html(vocabulary, scored([97, 98]), "t")).cells[0][1]
    assert first["class"] == "u"
    assert first["title"] is not None and "unknown" in first["title"]


def test_nothing_of_the_text_is_markup(vocabulary: Vocabulary) -> None:
    html = loss_html(vocabulary, scored([BOS, EVIL, 0, 255]), "</title><script>", facts=["<i>"])
    page = Page(html)
    assert "script" not in page.tags and "i" not in page.tags
    assert page.text.startswith("<bos></pre><script>alert(1)</script>")
    assert "\0" not in html
    html.encode()


def test_self_contained_on_light_and_dark_pages(vocabulary: Vocabulary) -> None:
    html = loss_html(vocabulary, scored([BOS, 97]), "t")
    page = Page(html)
    assert not {"link", "script", "img", "iframe"} & set(page.tags)
    assert "url(" not in page.styles and "@import" not in page.styles
    assert "prefers-color-scheme: dark" in page.styles


@pytest.mark.parametrize("measure", list(Measure))
def test_every_measure_has_a_class_for_each_cell(vocabulary: Vocabulary, measure: Measure) -> None:
    page = Page(loss_html(vocabulary, scored([BOS, 97, 98]), "t", measure=measure))
    for _, attributes in page.cells[1:]:
        name = (attributes["class"] or "").split()[0]
        assert f".{name} {{" in page.styles


def test_no_text_at_all(vocabulary: Vocabulary) -> None:
    assert Page(loss_html(vocabulary, LossTable(), "empty")).cells == []
