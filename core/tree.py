"""The tree of continuations: every token that was ever put behind the prompt.

Nodes are never changed and only appended, so a state of the document is a tree, the number of
its nodes that exist in this state, and the node at which the current path ends. Undo is then a
matter of going back to smaller numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from logitscope.steps import StepRecord

ROOT = -1
"""The end of the prompt, the parent of all first tokens."""


@dataclass(frozen=True, slots=True)
class Node:
    """One token behind the prompt, or behind another node."""

    parent: int
    depth: int
    """0 for the first token behind the prompt."""
    step: StepRecord


class Tree:
    """Append-only nodes; indices are stable."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._children: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, index: int) -> Node:
        if index < 0:
            raise IndexError("the end of the prompt is not a node")
        return self._nodes[index]

    def add(self, parent: int, step: StepRecord) -> int:
        """Append a node and return its index."""
        depth = 0 if parent == ROOT else self[parent].depth + 1
        self._nodes.append(Node(parent, depth, step))
        index = len(self._nodes) - 1
        self._children.setdefault(parent, []).append(index)
        return index

    def truncate(self, count: int) -> None:
        """Forget the nodes from index ``count`` on: no state of the document names them."""
        while len(self._nodes) > count:
            node = self._nodes.pop()
            self._children[node.parent].pop()

    def children(self, parent: int) -> tuple[int, ...]:
        """Direct continuations of a node, oldest first."""
        return tuple(self._children.get(parent, ()))

    def child_with(self, parent: int, token_id: int) -> int | None:
        """The continuation of ``parent`` by this id, where there is one."""
        for index in self._children.get(parent, ()):
            if self._nodes[index].step.token_id == token_id:
                return index
        return None

    def ancestors(self, index: int) -> Iterator[int]:
        """The node and all nodes before it, last first; nothing for ROOT."""
        while index != ROOT:
            yield index
            index = self._nodes[index].parent

    def path(self, leaf: int) -> tuple[int, ...]:
        """Indices from the first token behind the prompt to ``leaf``."""
        return tuple(self.ancestors(leaf))[::-1]
