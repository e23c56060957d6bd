"""A model whose probabilities a test writes down, as the origin analysis sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.origin_types import OriginCase, Range
from logitscope.surprisal import TokenNumbers, token_numbers
from logitscope.vocabulary import TokenKind, Vocabulary

BOS = 0


class WrittenModel:
    """Probabilities by a rule over the text before; what it leaves is spread over all others.

    Pieces are given as text; any other text is spelled by single bytes.
    """

    def __init__(self, pieces: Sequence[str | bytes], rule: Callable[[str], Mapping[str, float]]):
        data = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        kinds = [TokenKind.CONTROL, *[TokenKind.BYTE] * 256, *[TokenKind.NORMAL] * len(data)]
        single = [bytes([value]) for value in range(256)]
        self._vocabulary = Vocabulary.from_pieces(
            [b"<bos>", *single, *data], kinds, bos=0, eos=None
        )
        self._rule = rule
        self.scored: list[tuple[int, ...]] = []
        """Contexts of score_variants, in order."""
        self.calls = 0

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    def tokenize(self, text: str) -> list[int]:
        data, ids, at = text.encode(), [], 0
        longest = max(len(self._vocabulary.bytes_of(i)) for i in range(1, len(self._vocabulary)))
        while at < len(data):
            for size in range(longest, 0, -1):
                found = [i for i in self._vocabulary.ids_of_bytes(data[at : at + size]) if i]
                if found and len(data[at : at + size]) == size:
                    ids.append(found[-1])
                    at += size
                    break
        return ids

    def next_numbers(
        self, ids: Sequence[int], top: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        numbers = token_numbers(self._row(ids)[None], np.zeros(1, dtype=np.int32), top)
        return numbers.top_ids[0], numbers.top_log_probability[0]

    def score_variants(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int]
    ) -> list[TokenNumbers]:
        self.calls += 1
        self.scored.extend(tuple(context) for context in contexts)
        return [self._numbers(context, continuation) for context in contexts]

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
    ) -> list[TokenNumbers]:
        self.calls += 1
        kept = []
        for ranges in cuts:
            gone = {i for start, stop in ranges for i in range(start, stop)}
            kept.append([token for i, token in enumerate(context) if i not in gone])
        return [self._numbers(ids, continuation) for ids in kept]

    def case(self, sources: Sequence[str], frame: str, answer: str) -> OriginCase:
        """BOS, sources, frame, answer; each source is one span."""
        ids, spans = [BOS], []
        for source in sources:
            found = self.tokenize(source)
            spans.append((len(ids), len(ids) + len(found)))
            ids += found
        return OriginCase((*ids, *self.tokenize(frame)), tuple(spans), tuple(self.tokenize(answer)))

    def _numbers(self, context: Sequence[int], continuation: Sequence[int]) -> TokenNumbers:
        ids = [*context, *continuation]
        rows = [self._row(ids[: len(context) + i]) for i in range(len(continuation))]
        shape = (len(rows), len(self._vocabulary))
        return token_numbers(
            np.array(rows, dtype=np.float32).reshape(shape), np.array(continuation, dtype=np.int64)
        )

    def _row(self, ids: Sequence[int]) -> NDArray[np.float32]:
        text = self._vocabulary.text_bytes(ids).decode(errors="replace")
        given = {self.tokenize(piece)[0]: p for piece, p in self._rule(text).items()}
        rest = (1.0 - sum(given.values())) / (len(self._vocabulary) - len(given))
        row = np.full(len(self._vocabulary), np.log(rest), dtype=np.float64)
        for token_id, probability in given.items():
            row[token_id] = np.log(probability)
        return row.astype(np.float32)
