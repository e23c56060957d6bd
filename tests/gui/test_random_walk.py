"""A random walk over everything a person can do keeps ids on screen, evaluated and saved equal.

After every action the window settles; then the ids of the document are those of the row on show,
the row is the one a fresh backend computes, the numbers of the last token are those of its row,
and a saved copy holds the same ids.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import FakeBackend
from logitscope.backends.fake import load as load_fake
from logitscope.branches import branches
from logitscope.distribution import Distribution
from logitscope.document import Document
from logitscope.gui.engine import Engine
from logitscope.gui.keeping import Keeper
from logitscope.gui.kept import SUFFIX
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.sampling import SamplerSettings
from logitscope.session_file import ModelReference, SavedSession

MODELS = ("fake:vocab=400,seed=3", "fake:vocab=300,seed=4")
TEXTS = ("abc", "The sky is", "日本 🦊", "tab\tnew\nline ", "a" * 40)
ACTIONS = 500


class Walk:
    """The session under test, and the independent backends it is checked against."""

    def __init__(self, qtbot: QtBot, session: Session, folder: Path) -> None:
        self.qtbot = qtbot
        self.session = session
        self.keeper = Keeper(session, folder=folder / "recovery")
        self.panel = TextPanel(session)
        qtbot.addWidget(self.panel)
        self.path = folder / f"walk{SUFFIX}"
        self.random = random.Random(20261129)
        self.fresh: dict[str, FakeBackend] = {m: load_fake(m, LoadOptions()) for m in MODELS}
        self.actions: tuple[Callable[[], None], ...] = (
            self.edit, self.edit, self.step, self.step, self.run, self.force, self.force,
            self.rewind, self.branch, self.undo, self.undo, self.redo, self.insert, self.temper,
            self.save, self.open, self.change_model, self.select, self.explore, self.delete,
        )  # fmt: skip

    # -- actions ----------------------------------------------------------------------------

    def edit(self) -> None:
        text = self.session.state.text
        cut = self.random.randrange(len(text) + 1)
        piece = self.random.choice((*TEXTS, "x", " "))
        self.session.set_prompt((text[:cut] + piece)[:80])

    def step(self) -> None:
        self.session.step()

    def run(self) -> None:
        self.session.run(self.random.randrange(2, 6))

    def force(self) -> None:
        row = self.session.row
        if row is not None:
            self.session.force(self.random.randrange(len(row.distribution)))

    def rewind(self) -> None:
        low, high = self.session.prompt_length, len(self.session.ids)
        self.session.rewind_to(self.random.randint(low, high))

    def branch(self) -> None:
        segments = branches(self.session.document).segments
        if segments:
            self.session.go_to(self.random.choice(self.random.choice(segments).nodes))

    def undo(self) -> None:
        self.session.undo()

    def redo(self) -> None:
        self.session.redo()

    def insert(self) -> None:
        self.session.insert_text(self.random.choice(TEXTS))

    def temper(self) -> None:
        chosen = self.random.choice((0.0, 0.7, 1.0, 2.0))
        self.session.set_settings(
            SamplerSettings(temperature=chosen, top_k=self.random.choice((0, 5)), seed=7)
        )

    def save(self) -> None:
        self.keeper.save(self.path)

    def open(self) -> None:
        if self.path.exists():
            self.keeper.open(self.path)

    def change_model(self) -> None:
        if self.random.random() < 0.3:
            self.session.open_model(self.random.choice(MODELS))

    def select(self) -> None:
        self.session.select(self.random.randrange(len(self.session.ids) + 2))

    def explore(self) -> None:
        if self.random.random() < 0.3:
            self.session.explore(2, 2)

    def delete(self) -> None:
        path = self.session.document.path
        if path:
            self.session.delete_branch(self.random.choice(path))

    # -- invariants -------------------------------------------------------------------------

    def is_settled(self) -> bool:
        session = self.session
        if session.loading_path is not None or not session.is_ready:
            return False
        if session.is_running or session.is_exploring or session.is_inserting:
            return False
        return session.row_is_current or not session.ids

    def check(self) -> None:
        session = self.session
        assert session.model is not None
        backend = self.fresh[session.model.path]
        state, row = session.state, session.row
        assert self.panel.view.ids == session.ids
        prompt = backend.tokenize(state.text, add_special=state.add_special, parse_special=False)
        assert state.prompt_ids == tuple(prompt)
        saved = session_file.loads(session_file.dumps(SavedSession(state, None))).state
        assert Document(saved).ids == session.ids
        if not session.ids:
            return
        assert row is not None
        assert row.ids == session.ids[: session.position]
        np.testing.assert_array_equal(row.distribution.logits, backend.next_logits(row.ids))
        if session.document.path:
            last = session.document.steps[-1]
            before = Distribution(backend.next_logits(session.ids[:-1]))
            assert last.rank == before.rank(last.token_id)
            assert np.exp(last.log_probability) == pytest.approx(
                before.probability(last.token_id), rel=1e-5
            )


@pytest.fixture
def walk(qtbot: QtBot, tmp_path: Path) -> Iterator[Walk]:
    engine = Engine()
    session = Session(engine)
    session.open_model(MODELS[0])
    made = Walk(qtbot, session, tmp_path)
    qtbot.waitUntil(made.is_settled, timeout=20_000)
    yield made
    made.keeper.close()
    engine.close()


def test_500_actions_keep_every_number_true(walk: Walk) -> None:
    done: list[str] = []
    for _ in range(ACTIONS):
        action = walk.random.choice(walk.actions)
        done.append(action.__name__)
        action()
        walk.qtbot.waitUntil(walk.is_settled, timeout=20_000)
        try:
            walk.check()
        except AssertionError as error:
            raise AssertionError(f"after {done[-8:]} ({len(done)} actions)") from error
    assert set(done) == {action.__name__ for action in walk.actions}


def test_a_reference_names_the_model_of_a_saved_walk(walk: Walk) -> None:
    walk.session.set_prompt("abc")
    walk.qtbot.waitUntil(walk.is_settled)
    walk.save()
    model = session_file.load(walk.path).model
    assert model is not None
    assert walk.session.model is not None
    assert model == ModelReference(
        MODELS[0], "fake", walk.session.model.name, walk.session.model.header_hash
    )
