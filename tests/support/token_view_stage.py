"""A token view with a small vocabulary of many scripts, and what is seen of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from logitscope.gui import theme
from logitscope.gui.widgets.token_view import TokenView
from logitscope.vocabulary import TokenKind, Vocabulary

TEXTS = ["<bos>", "The", " sky", " is", " blue", ".\n", "中文", " مرحبا", "\u0000", "\u00a0",
         "👩", "\u200d", "💻", " a", "\t"]  # fmt: skip
PIECES = [text.encode() for text in TEXTS] + [b"\xe2", b"\x82\xac"]
BOS, THE, SKY, IS, BLUE, STOP, CJK, ARABIC, NUL, NBSP, WOMAN, ZWJ, LAPTOP, A, TAB = range(15)
E2, REST = 15, 16
VOCABULARY = Vocabulary.from_pieces(
    PIECES, [TokenKind.CONTROL] + [TokenKind.NORMAL] * (len(PIECES) - 1), bos=BOS, eos=None
)


@pytest.fixture
def view(qtbot: QtBot, styled_app: QApplication) -> Iterator[TokenView]:
    theme.set_mode(theme.Mode.LIGHT)
    view = TokenView()
    qtbot.addWidget(view)
    view.resize(420, 240)
    view.show()
    qtbot.waitExposed(view)
    yield view
    QToolTip.hideText()


@pytest.fixture
def sky(view: TokenView) -> TokenView:
    """<bos>The sky is blue.⏎"""
    view.set_tokens((BOS, THE, SKY, IS, BLUE, STOP), VOCABULARY)
    return view


def middle(view: TokenView, token: int) -> QPoint:
    return view.rect_of(token).center()


def click(
    qtbot: QtBot,
    view: TokenView,
    token: int,
    modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    button = Qt.MouseButton.LeftButton
    qtbot.mouseClick(view.viewport(), button, modifier, middle(view, token))


def picture(view: TokenView, ratio: int) -> QImage:
    size: QSize = view.viewport().size() * ratio
    image = QImage(size, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    view.viewport().render(painter, QPoint())
    painter.end()
    return image
