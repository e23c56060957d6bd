"""The document: what the person has. One object, of which all panels are views.

A ``State`` is one frozen moment. The ``Document`` holds the current one and makes the next; who
wants undo keeps the old states (they share everything that did not change).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from logitscope.sampling import SamplerSettings
from logitscope.steps import StepRecord
from logitscope.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the prompt: a stretch of plain text, or one chat message.

    ``is_source`` marks all of it as material for the origin panel; otherwise ``sources`` are the
    spans that are: disjoint, ascending ranges of characters of ``text``, a sentence each as a rule.
    """

    text: str
    role: str = "user"
    is_source: bool = False
    sources: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """One moment of the document."""

    blocks: tuple[Block, ...] = (Block(""),)
    chat: bool = False
    """Whether the model's own chat template is put around the blocks."""
    add_special: bool = True
    """Whether BOS is put in front."""
    parse_special: bool = False
    """Whether a written ``<bos>`` in a plain prompt is read as the token."""
    settings: SamplerSettings = field(default_factory=SamplerSettings)
    prompt_ids: tuple[int, ...] = ()
    """What the model received for the blocks; empty until it has answered for them."""
    model: str = ""
    """Header hash of the model whose ids and numbers these are; empty before the first."""
    tree: Tree = field(default_factory=Tree)
    count: int = 0
    """Nodes of ``tree`` that exist in this state."""
    leaf: int = ROOT
    names: tuple[tuple[int, str], ...] = ()
    """Names the person gave to branches: (node, name)."""
    deleted: frozenset[int] = frozenset()
    """Nodes hidden together with all that follows them."""

    @property
    def text(self) -> str:
        """The prompt as plain text."""
        return "".join(block.text for block in self.blocks)

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """(role, text) of the blocks: what the model is told."""
        return tuple((block.role, block.text) for block in self.blocks)


class Document:
    """The current state and the ways to change it. Every change makes a new State."""

    def __init__(self, state: State | None = None) -> None:
        self.restore(state or State())

    @property
    def state(self) -> State:
        return self._state

    def restore(self, state: State) -> None:
        """Go to any state of this document, earlier or later."""
        self._state = state
        self._path: tuple[int, ...] = state.tree.path(state.leaf)
        # Kept, because a window asks for them dozens of times a token.
        self._steps = tuple(state.tree[index].step for index in self._path)
        self._ids = state.prompt_ids + tuple(step.token_id for step in self._steps)

    # -- reading ----------------------------------------------------------------------------

    @property
    def path(self) -> tuple[int, ...]:
        """Nodes of the current path, first to last."""
        return self._path

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """Records of the current path, first to last."""
        return self._steps

    @property
    def tail_ids(self) -> tuple[int, ...]:
        """Ids behind the prompt on the current path."""
        return self._ids[len(self._state.prompt_ids) :]

    @property
    def ids(self) -> tuple[int, ...]:
        """All ids, prompt and path: what is on screen, evaluated and saved."""
        return self._ids

    def step_at(self, position: int) -> StepRecord | None:
        """The record of the token at ``position``; None within the prompt or behind the end."""
        index = position - len(self._state.prompt_ids)
        return self._steps[index] if 0 <= index < len(self._steps) else None

    def children_at(self, position: int) -> tuple[int, ...]:
        """Visible nodes that stand at ``position`` behind the current path: the branches."""
        index = position - len(self._state.prompt_ids)
        if not 0 <= index <= len(self._path):
            return ()
        return self.children(ROOT if index == 0 else self._path[index - 1])

    def children(self, parent: int) -> tuple[int, ...]:
        """Visible continuations of a node, oldest first."""
        state = self._state
        every = state.tree.children(parent)
        if not state.deleted and state.count == len(state.tree):
            return every
        return tuple(i for i in every if i < state.count and i not in state.deleted)

    # -- changing ---------------------------------------------------------------------------

    def set_blocks(self, blocks: tuple[Block, ...]) -> None:
        """Change the prompt. A change of its text or roles drops the continuations.

        They were continuations of another text; undo brings them back.
        """
        if blocks == self._state.blocks:
            return
        changed = replace(self._state, blocks=blocks)
        self._set(changed if changed.said == self._state.said else _as_new_prompt(changed))

    def set_wrapping(self, *, chat: bool, add_special: bool, parse_special: bool) -> None:
        """Change how the blocks become ids; drops the continuations as a new text does."""
        new = replace(self._state, chat=chat, add_special=add_special, parse_special=parse_special)
        if new != self._state:
            self._set(_as_new_prompt(new))

    def set_settings(self, settings: SamplerSettings) -> None:
        self._set(replace(self._state, settings=settings))

    def set_prompt_ids(self, ids: tuple[int, ...]) -> None:
        """Take the ids the model received for the blocks as they are now.

        Other ids than before (another model) drop the continuations: they do not follow them.
        """
        if ids == self._state.prompt_ids:
            return
        if self._state.count == 0:
            self._set(replace(self._state, prompt_ids=ids))
        else:
            self._set(replace(_without_continuations(self._state), prompt_ids=ids))

    def adopt_model(self, model: str) -> bool:
        """From now on ids come from the model with this header hash.

        Ids and numbers of another model mean nothing to it and are dropped; True if there were
        continuations among them.
        """
        state = self._state
        if state.model == model:
            return False
        kept = _as_new_prompt(state) if state.model else state
        self._set(replace(kept, model=model))
        return kept.count < state.count

    def append(self, step: StepRecord) -> int:
        """Put a token behind the path; an equal continuation that exists is walked instead."""
        node = self.attach(self._state.leaf, step)
        self._state = replace(self._state, leaf=node)
        known = self._state.tree[node].step
        self._path = (*self._path, node)
        self._steps = (*self._steps, known)
        self._ids = (*self._ids, known.token_id)
        return node

    def attach(self, parent: int, step: StepRecord) -> int:
        """Add a continuation behind any node and return its node; the path stays.

        An equal one that exists is kept instead; where it was deleted, it comes back alone: what
        followed it stays deleted.
        """
        state = self._state
        self._drop_undone()
        existing = state.tree.child_with(parent, step.token_id)
        node = state.tree.add(parent, step) if existing is None else existing
        deleted = state.deleted
        if node in deleted:
            deleted = (deleted - {node}) | set(state.tree.children(node))
        self._state = replace(state, count=max(state.count, node + 1), deleted=deleted)
        return node

    def go_to_position(self, position: int) -> None:
        """Rewind: the path ends before ``position``. The old continuation stays in the tree.

        Raises ValueError for a position within the prompt or behind the end.
        """
        index = position - len(self._state.prompt_ids)
        if not 0 <= index <= len(self._path):
            raise ValueError(f"position {position} is not behind the prompt on this path")
        self.go_to(self._path[index - 1] if index else ROOT)

    def go_to(self, leaf: int) -> None:
        """Let the path end at a node of the tree (ROOT: at the end of the prompt).

        Raises ValueError for a node that is deleted or does not exist in this state.
        """
        if not self._is_visible(leaf):
            raise ValueError(f"node {leaf} is not in the tree")
        self._set(replace(self._state, leaf=leaf))

    def name(self, node: int, name: str) -> None:
        """Name a branch; an empty name removes it."""
        kept = tuple(pair for pair in self._state.names if pair[0] != node)
        added = ((node, name),) if name else ()
        self._set(replace(self._state, names=kept + added))

    def delete(self, node: int) -> None:
        """Hide a node and all that follows it, names included. A path through it ends before it."""
        state = self._state
        leaf = state.leaf
        if node in state.tree.ancestors(leaf):
            leaf = state.tree[node].parent
        names = tuple(pair for pair in state.names if node not in state.tree.ancestors(pair[0]))
        self._set(replace(state, deleted=state.deleted | {node}, leaf=leaf, names=names))

    def clear_continuations(self) -> None:
        """Forget all continuations; the prompt stays."""
        self._set(_without_continuations(self._state))

    def _is_visible(self, node: int) -> bool:
        state = self._state
        if not ROOT <= node < state.count:
            return False
        return not any(index in state.deleted for index in state.tree.ancestors(node))

    def _drop_undone(self) -> None:
        if len(self._state.tree) > self._state.count:
            self._state.tree.truncate(self._state.count)

    def _set(self, state: State) -> None:
        self.restore(state)


def _as_new_prompt(state: State) -> State:
    return replace(_without_continuations(state), prompt_ids=())


def _without_continuations(state: State) -> State:
    return replace(state, tree=Tree(), count=0, leaf=ROOT, names=(), deleted=frozenset())
