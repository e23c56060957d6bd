"""In which order the origin of an answer is worked out."""

from __future__ import annotations

from collections.abc import Iterable

from logitscope.backends.origin_messages import Task
from logitscope.origin_types import OriginCase, OriginReport

Item = tuple[Task, int]
"""A task and the number of a word; 0 where it is about all of them."""
ALL_WORDS = -1


class Agenda:
    """What has been worked out, what is wished for, and what comes next."""

    def __init__(self) -> None:
        self._done: set[Item] = set()
        self._wishes: list[Item] = []

    def clear(self) -> None:
        """Another case: begin again."""
        self._done.clear()
        self._wishes.clear()

    def wish(self, task: Task, word: int) -> None:
        """Do this before anything else."""
        self.drop(task, word)
        self._wishes.insert(0, (task, word))

    def drop(self, task: Task, word: int) -> None:
        self._wishes = [each for each in self._wishes if each != (task, word)]

    def drop_wishes(self) -> None:
        self._wishes.clear()

    def finish(self, item: Item, words: Iterable[int]) -> None:
        """An item is worked out, for these words."""
        self._done.update((item[0], word) for word in words)
        self.drop(*item)

    def is_done(self, task: Task, word: int) -> bool:
        return (task, word) in self._done

    def next(
        self,
        report: OriginReport | None,
        case: OriginCase | None,
        word: int | None,
        *,
        may_search: bool,
    ) -> Item | None:
        """The threshold, the labels, what is wished for, the sources of the selected word, the
        answer without the sources. Unless ``may_search``, sources only where wished for."""
        if self._wishes and self._wishes[0][0] is Task.THRESHOLD:
            return self._wishes[0]
        if report is None or report.case != case:
            return Task.LABELS, 0
        if self._wishes:
            return self._for_wish(self._wishes[0], may_search=may_search)
        if word is not None and may_search and not self.is_done(Task.SOURCES, word):
            return Task.SOURCES, word
        return None if self.is_done(Task.FREE, 0) else (Task.FREE, 0)

    def _for_wish(self, wish: Item, *, may_search: bool) -> Item:
        """What a swap replaces comes out of the sources: they are first."""
        before = (Task.SOURCES, wish[1])
        is_ready = before in self._done or not may_search or wish[0] is Task.GRADIENTS
        return wish if is_ready else before
