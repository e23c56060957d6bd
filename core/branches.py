"""The tree of continuations in the form people read: stretches without a fork as one segment."""

from __future__ import annotations

from dataclasses import dataclass

from logitscope.document import Document
from logitscope.tree import ROOT

MAX_SEGMENTS = 5000
"""More cannot be read; what is left out is counted."""


@dataclass(slots=True)
class Segment:
    """Consecutive nodes, each the only continuation of the one before."""

    nodes: tuple[int, ...]
    token_ids: tuple[int, ...]
    parent: int
    """Index of the segment before it, -1 for those directly behind the prompt."""
    log_probability: float
    """Sum over its own nodes, nats."""
    path_log_probability: float
    """Sum from the end of the prompt to its last node, nats."""
    path_length: int
    """Tokens from the end of the prompt to its last node."""
    is_on_path: bool
    """Its first node is on the current path."""
    name: str


@dataclass(frozen=True, slots=True)
class Branches:
    """All segments, parents before children; ``left_out`` counts the nodes beyond the bound."""

    segments: tuple[Segment, ...]
    left_out: int


def branches(document: Document) -> Branches:
    """The visible tree of a document as segments."""
    tree, names = document.state.tree, dict(document.state.names)
    on_path = set(document.path)
    made: list[Segment] = []
    left_out = 0
    waiting = [(child, -1) for child in reversed(document.children(ROOT))]
    while waiting:
        first, parent = waiting.pop()
        if len(made) >= MAX_SEGMENTS:
            left_out += 1
            continue
        nodes = _stretch(document, first, names)
        steps = [tree[node].step for node in nodes]
        own = sum([step.log_probability for step in steps])
        before = made[parent] if parent >= 0 else None
        made.append(
            Segment(
                nodes=nodes,
                token_ids=tuple([step.token_id for step in steps]),
                parent=parent,
                log_probability=own,
                path_log_probability=own + (before.path_log_probability if before else 0.0),
                path_length=len(nodes) + (before.path_length if before else 0),
                is_on_path=first in on_path,
                name=next((names[node] for node in reversed(nodes) if node in names), ""),
            )
        )
        index = len(made) - 1
        waiting += [(child, index) for child in reversed(document.children(nodes[-1]))]
    return Branches(tuple(made), left_out)


def common_length(document: Document, one: int, other: int) -> int:
    """Tokens that the paths to two nodes share."""
    tree = document.state.tree
    shared = 0
    for a, b in zip(tree.path(one), tree.path(other), strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _stretch(document: Document, first: int, names: dict[int, str]) -> tuple[int, ...]:
    """From ``first`` to the next fork, end, named node or the end of the current path."""
    nodes = [first]
    leaf = document.state.leaf
    while nodes[-1] != leaf and nodes[-1] not in names:
        children = document.children(nodes[-1])
        if len(children) != 1:
            break
        nodes.append(children[0])
    return tuple(nodes)
