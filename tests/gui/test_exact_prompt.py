"""The exact prompt names special tokens and invents no text."""

from __future__ import annotations

from logitscope.gui.dialogs.exact_prompt import exact_text
from logitscope.vocabulary import TokenKind, Vocabulary


def test_specials_by_name_and_split_characters_whole() -> None:
    fox = "🦊".encode()
    pieces = [b"<bos>", b"<turn>", b"user\n", fox[:2], fox[2:], b"\xff"]
    kinds = [TokenKind.CONTROL, TokenKind.CONTROL, *[TokenKind.NORMAL] * 4]
    vocabulary = Vocabulary.from_pieces(pieces, kinds, bos=0, eos=None)
    assert exact_text(vocabulary, (0, 1, 2, 3, 4, 1)) == "<bos><turn>user\n🦊<turn>"
    assert exact_text(vocabulary, (2, 5)) == "user\n\\xff"
    assert exact_text(vocabulary, ()) == ""
