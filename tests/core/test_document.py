"""The document against a plain model of it: sets of id sequences, copied at every change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from logitscope.document import Block, Document, State
from logitscope.sampler_settings import SamplerSettings
from logitscope.steps import Origin, StepRecord
from logitscope.tree import ROOT

Path = tuple[int, ...]
TOKENS = st.integers(0, 2)
"""So few that equal continuations meet again and again."""
PICKS = st.integers(0, 999)


def step(token_id: int, origin: Origin = Origin.SAMPLED) -> StepRecord:
    return StepRecord(token_id, origin, -1.0, 1, 0.5, 0.4, None, (), (), 0.0)


@dataclass(frozen=True)
class Plain:
    """What a person would expect to have."""

    text: str = ""
    prompt: Path = ()
    path: Path = ()
    branches: frozenset[Path] = frozenset()
    names: dict[Path, str] = field(default_factory=dict)


class DocumentWalk(RuleBasedStateMachine):
    """Random changes; every state that undo or redo can reach must come back whole."""

    def __init__(self) -> None:
        super().__init__()
        self.document = Document()
        self.plain = Plain()
        self.past: list[tuple[State, Plain]] = []
        self.future: list[tuple[State, Plain]] = []

    # -- helpers ----------------------------------------------------------------------------

    def nodes(self) -> dict[Path, int]:
        """All visible nodes by the ids that lead to them, walked from the root."""
        found: dict[Path, int] = {}
        waiting: list[tuple[int, Path]] = [(ROOT, ())]
        while waiting:
            parent, path = waiting.pop()
            for node in self.document.children(parent):
                own = (*path, self.document.state.tree[node].step.token_id)
                assert own not in found, "equal continuations must be one node"
                found[own] = node
                waiting.append((node, own))
        return found

    def pick(self, number: int) -> tuple[Path, int]:
        nodes = sorted(self.nodes().items())
        return nodes[number % len(nodes)]

    def remember(self) -> None:
        self.past.append((self.document.state, self.plain))
        self.future.clear()

    # -- changes ----------------------------------------------------------------------------

    @rule(token_id=TOKENS)
    def append(self, token_id: int) -> None:
        self.remember()
        self.document.append(step(token_id))
        path = (*self.plain.path, token_id)
        self.plain = replace(self.plain, path=path, branches=self.plain.branches | {path})

    @rule(tokens=st.lists(TOKENS, min_size=2, max_size=5))
    def run(self, tokens: list[int]) -> None:
        self.remember()
        for token_id in tokens:
            self.document.append(step(token_id))
            path = (*self.plain.path, token_id)
            self.plain = replace(self.plain, path=path, branches=self.plain.branches | {path})

    @rule(number=PICKS)
    def rewind(self, number: int) -> None:
        keep = number % (len(self.plain.path) + 1)
        self.remember()
        self.document.go_to_position(len(self.plain.prompt) + keep)
        self.plain = replace(self.plain, path=self.plain.path[:keep])

    @precondition(lambda self: self.plain.branches)
    @rule(number=PICKS)
    def branch(self, number: int) -> None:
        path, node = self.pick(number)
        self.remember()
        self.document.go_to(node)
        self.plain = replace(self.plain, path=path)

    @precondition(lambda self: self.plain.branches)
    @rule(number=PICKS)
    def delete(self, number: int) -> None:
        path, node = self.pick(number)
        self.remember()
        self.document.delete(node)
        own = len(path)
        on_path = self.plain.path[:own] == path
        self.plain = replace(
            self.plain,
            path=path[:-1] if on_path else self.plain.path,
            branches=frozenset(p for p in self.plain.branches if p[:own] != path),
            names={p: name for p, name in self.plain.names.items() if p[:own] != path},
        )

    @precondition(lambda self: self.plain.branches)
    @rule(number=PICKS, name=st.sampled_from(["", "good", "odd"]))
    def name(self, number: int, name: str) -> None:
        path, node = self.pick(number)
        self.remember()
        self.document.name(node, name)
        names = {**self.plain.names, path: name}
        self.plain = replace(self.plain, names={p: n for p, n in names.items() if n})

    @rule(text=st.text("ab", max_size=2))
    def write(self, text: str) -> None:
        if text != self.plain.text:
            self.remember()
            self.document.set_blocks((Block(text),))
            self.plain = Plain(text=text)

    @rule(ids=st.lists(TOKENS, max_size=3).map(tuple))
    def hear_from_the_model(self, ids: Path) -> None:
        self.remember()
        self.document.set_prompt_ids(ids)
        if ids != self.plain.prompt:
            self.plain = Plain(text=self.plain.text, prompt=ids)

    @rule()
    def clear(self) -> None:
        self.remember()
        self.document.clear_continuations()
        self.plain = Plain(text=self.plain.text, prompt=self.plain.prompt)

    # -- undo -------------------------------------------------------------------------------

    @precondition(lambda self: self.past)
    @rule()
    def undo(self) -> None:
        self.future.append((self.document.state, self.plain))
        state, self.plain = self.past.pop()
        self.document.restore(state)

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        self.past.append((self.document.state, self.plain))
        state, self.plain = self.future.pop()
        self.document.restore(state)

    # -- what must hold ---------------------------------------------------------------------

    @invariant()
    def shows_what_a_person_expects(self) -> None:
        document, plain = self.document, self.plain
        assert document.ids == plain.prompt + plain.path
        assert document.tail_ids == plain.path
        assert tuple(s.token_id for s in document.steps) == plain.path
        assert document.state.text == plain.text

    @invariant()
    def tree_holds_the_branches_and_their_names(self) -> None:
        nodes = self.nodes()
        assert set(nodes) == self.plain.branches
        by_node = {node: path for path, node in nodes.items()}
        assert {by_node[n]: name for n, name in self.document.state.names} == self.plain.names

    @invariant()
    def positions_name_the_same_tokens(self) -> None:
        prompt, path = self.plain.prompt, self.plain.path
        for position in range(len(prompt)):
            assert self.document.step_at(position) is None
        for index, token_id in enumerate(path):
            found = self.document.step_at(len(prompt) + index)
            assert found is not None
            assert found.token_id == token_id
        assert self.document.step_at(len(prompt) + len(path)) is None
        nodes = self.nodes()
        for index in range(len(path) + 1):
            there = self.document.children_at(len(prompt) + index)
            assert set(there) == {
                node for p, node in nodes.items() if len(p) == index + 1 and p[:-1] == path[:index]
            }

    @invariant()
    def deleted_nodes_are_never_on_the_path(self) -> None:
        assert not self.document.state.deleted & set(self.document.path)

    @invariant()
    def every_state_within_reach_gives_its_ids(self) -> None:
        for state, plain in self.past + self.future:
            assert Document(state).ids == plain.prompt + plain.path


DocumentWalk.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_random_walks_keep_what_a_person_expects = DocumentWalk.TestCase


def test_a_deleted_token_that_is_chosen_again_comes_back_without_its_continuation() -> None:
    document = Document()
    first = document.append(step(1))
    document.append(step(2))
    document.delete(first)
    assert document.append(step(1)) == first
    assert document.children(first) == ()


def test_a_deleted_or_unknown_node_cannot_be_walked_to() -> None:
    document = Document()
    first = document.append(step(1))
    second = document.append(step(2))
    document.delete(first)
    for node in (first, second, 7, -2):
        with pytest.raises(ValueError, match="not in the tree"):
            document.go_to(node)
    assert document.ids == ()


def test_positions_in_the_prompt_and_behind_the_end_cannot_be_rewound_to() -> None:
    document = Document()
    document.set_prompt_ids((5, 6))
    document.append(step(1))
    for position in (1, 4):
        with pytest.raises(ValueError, match=f"position {position}"):
            document.go_to_position(position)


def test_marking_a_block_as_source_keeps_ids_and_continuations() -> None:
    document = Document()
    document.set_blocks((Block("a"), Block("b")))
    document.set_prompt_ids((5, 6))
    document.append(step(1))
    document.set_blocks((Block("a", is_source=True), Block("b")))
    assert document.ids == (5, 6, 1)
    document.set_blocks((Block("a", role="system", is_source=True), Block("b")))
    assert document.ids == ()


def test_settings_leave_the_text_alone_and_wrapping_asks_for_new_ids() -> None:
    document = Document()
    document.set_prompt_ids((5,))
    document.append(step(1))
    document.set_settings(SamplerSettings(temperature=0.5))
    assert document.ids == (5, 1)
    document.set_wrapping(chat=False, add_special=False, parse_special=False)
    assert document.ids == ()
    assert not document.state.add_special
