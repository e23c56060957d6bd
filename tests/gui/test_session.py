"""The session against a real model process with the fake backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.distribution import Distribution
from logitscope.document import Block
from logitscope.gui.engine import Engine
from logitscope.gui.notices import Notice
from logitscope.gui.session import Session
from logitscope.navigation import Landmark
from logitscope.sampling import SamplerSettings
from logitscope.steps import Origin

MODEL = "fake:vocab=500,seed=3"


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    yield made
    engine.close()


@pytest.fixture
def loaded(qtbot: QtBot, session: Session) -> Session:
    session.open_model(MODEL)
    qtbot.waitUntil(lambda: session.model is not None, timeout=20_000)
    return session


def ready(session: Session) -> Callable[[], bool]:
    return lambda: session.is_ready and not session.is_running and session.row_is_current


def reference_row(ids: tuple[int, ...]) -> np.ndarray:
    backend = load_fake(MODEL, LoadOptions())
    row = backend.next_logits(ids)
    backend.close()
    return row


def assert_row_is_right(session: Session) -> None:
    row = session.row
    assert row is not None
    assert row.ids == session.ids[: session.position]
    np.testing.assert_array_equal(row.distribution.logits, reference_row(row.ids))


def test_typing_shows_the_row_of_what_was_typed_last(qtbot: QtBot, loaded: Session) -> None:
    for text in ("T", "Th", "The", "The sky", "The sky is"):
        loaded.set_prompt(text)
    qtbot.waitUntil(ready(loaded))
    assert loaded.vocabulary is not None
    assert loaded.vocabulary.text_bytes(loaded.ids) == b"The sky is"
    assert_row_is_right(loaded)


def test_a_run_appends_and_ends_with_the_row_behind_it(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("The sky is")
    settings = loaded.settings
    loaded.run(12)
    qtbot.waitUntil(lambda: len(loaded.document.path) > 0 and not loaded.is_running)
    qtbot.waitUntil(ready(loaded))
    assert 1 <= len(loaded.document.path) <= 12
    assert_row_is_right(loaded)
    for position in range(loaded.prompt_length, len(loaded.ids)):
        step = loaded.document.step_at(position)
        assert step is not None
        assert step.settings is settings
        expected = Distribution(reference_row(loaded.ids[:position]))
        assert step.log_probability == pytest.approx(
            np.log(expected.probability(step.token_id)), abs=1e-6
        )


def test_undo_takes_a_whole_run_back_and_redo_brings_it_again(
    qtbot: QtBot, loaded: Session
) -> None:
    loaded.set_prompt("abc")
    qtbot.waitUntil(ready(loaded))
    loaded.run(5)
    qtbot.waitUntil(ready(loaded))
    after = loaded.ids
    loaded.undo()
    assert loaded.ids == after[: loaded.prompt_length]
    loaded.redo()
    assert loaded.ids == after
    qtbot.waitUntil(ready(loaded))
    assert_row_is_right(loaded)


def test_undo_of_typing_brings_the_old_continuation_back(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    loaded.run(4)
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    before = loaded.ids
    loaded.set_prompt("something else")
    qtbot.waitUntil(ready(loaded))
    assert loaded.document.path == ()
    loaded.undo()
    qtbot.waitUntil(ready(loaded))
    assert loaded.state.text == "abc"
    assert loaded.ids == before


def test_forcing_keeps_the_other_branch_and_its_numbers_are_the_rows(
    qtbot: QtBot, loaded: Session
) -> None:
    loaded.set_prompt("abc")
    loaded.run(4)
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    old = loaded.document.tail_ids
    position = loaded.prompt_length + 1
    loaded.select(position)
    qtbot.waitUntil(ready(loaded))
    assert_row_is_right(loaded)
    row = loaded.row
    assert row is not None
    other = int(row.distribution.order[7])
    if other == old[1]:
        other = int(row.distribution.order[8])
    loaded.force(other)
    assert loaded.document.tail_ids == (old[0], other)
    step = loaded.document.step_at(position)
    assert step is not None
    assert step.origin is Origin.FORCED
    assert step.rank in {8, 9}
    assert len(loaded.document.children_at(position)) == 2
    qtbot.waitUntil(ready(loaded))
    assert_row_is_right(loaded)


def test_the_sampler_is_applied_without_asking_the_model(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    qtbot.waitUntil(ready(loaded))
    replies: list[object] = []
    loaded.engine.replied.connect(replies.append)
    row = loaded.row
    loaded.set_settings(SamplerSettings(temperature=0.0))
    assert loaded.row is row
    shaped = loaded.shaped
    assert shaped is not None
    assert row is not None
    assert shaped.probability_of(int(row.distribution.order[0])) == 1.0
    assert replies == []
    loaded.undo()
    assert loaded.settings == SamplerSettings()


def test_a_model_that_dies_leaves_the_document_and_can_be_loaded_again(
    qtbot: QtBot, session: Session
) -> None:
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    session.open_model("fake:vocab=500,seed=3,abort=decode,after=3")
    session.set_prompt("abc")
    qtbot.waitUntil(ready(session), timeout=20_000)
    session.run(50)
    qtbot.waitUntil(lambda: session.model is None, timeout=20_000)
    assert not session.is_running
    assert len(notices) == 1
    assert session.state.text == "abc"
    kept = session.ids
    session.reload_model()
    qtbot.waitUntil(ready(session), timeout=20_000)
    assert session.ids == kept
    assert_row_is_right(session)


def test_another_model_puts_the_continuations_aside_and_undo_finds_them(
    qtbot: QtBot, loaded: Session
) -> None:
    loaded.set_prompt("abc")
    loaded.run(4)
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    kept = loaded.ids
    loaded.open_model("fake:vocab=300,seed=9")
    qtbot.waitUntil(ready(loaded), timeout=20_000)
    assert loaded.document.path == ()
    assert loaded.vocabulary is not None
    assert loaded.vocabulary.text_bytes(loaded.ids) == b"abc"
    loaded.open_model(MODEL)
    qtbot.waitUntil(ready(loaded), timeout=20_000)
    loaded.undo()
    qtbot.waitUntil(ready(loaded))
    assert loaded.ids == kept
    assert_row_is_right(loaded)


def test_an_empty_prompt_without_bos_shows_no_row(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    qtbot.waitUntil(ready(loaded))
    loaded.set_wrapping(chat=False, add_special=False, parse_special=False)
    loaded.set_prompt("")
    qtbot.waitUntil(lambda: loaded.is_ready)
    assert loaded.ids == ()
    assert loaded.row is None


def test_inserted_text_becomes_tokens_with_their_own_numbers(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    qtbot.waitUntil(ready(loaded))
    loaded.insert_text(" 日本 🦊")
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    assert loaded.vocabulary is not None
    assert loaded.vocabulary.text_bytes(loaded.ids).decode() == "abc 日本 🦊"
    for position in range(loaded.prompt_length, len(loaded.ids)):
        step = loaded.document.step_at(position)
        assert step is not None
        assert step.origin is Origin.INSERTED
        expected = Distribution(reference_row(loaded.ids[:position]))
        assert step.rank == expected.rank(step.token_id)
    loaded.undo()
    assert loaded.document.path == ()


def test_jumping_to_a_forced_token_selects_it(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    loaded.run(3)
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    loaded.force(5)
    forced_at = len(loaded.ids) - 1
    loaded.run(3)
    qtbot.waitUntil(ready(loaded))
    loaded.jump(Landmark.PLACED)
    assert loaded.position == forced_at


def test_expanding_the_tree_leaves_the_path_and_is_one_undo(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("abc")
    loaded.run(2)
    qtbot.waitUntil(lambda: bool(loaded.document.path))
    qtbot.waitUntil(ready(loaded))
    before = loaded.ids
    count = loaded.state.count
    with qtbot.waitSignal(loaded.explored, check_params_cb=lambda done, total: total == 0):
        loaded.explore(2, 2)
    assert loaded.ids == before
    assert loaded.state.count == count + 4
    tree = loaded.state.tree
    row = Distribution(reference_row(before))
    first = [tree[node].step.token_id for node in loaded.document.children_at(len(before))]
    assert first == [int(i) for i in row.top(2)]
    loaded.undo()
    assert loaded.state.count == count
    loaded.redo()
    assert loaded.state.count == count + 4


def test_a_position_selected_during_a_run_stays_on_show(qtbot: QtBot, session: Session) -> None:
    session.open_model("fake:vocab=500,seed=3,decode_ms=20")
    session.set_prompt("abc")
    qtbot.waitUntil(ready(session), timeout=20_000)
    session.run(60)
    qtbot.waitUntil(lambda: len(session.document.path) >= 3)
    wanted = session.prompt_length + 1
    session.select(wanted)
    qtbot.waitUntil(lambda: session.row_is_current)
    grown = len(session.ids) + 3
    qtbot.waitUntil(lambda: len(session.ids) >= grown or not session.is_running)
    assert session.position == wanted
    assert session.row is not None
    assert session.row.position == wanted
    session.stop()


Intent = Callable[[Session], None]
INTENTS: dict[str, Intent] = {
    "text": lambda s: s.set_prompt("abcd"),
    "messages": lambda s: s.set_blocks((Block("ab", "system"), Block("c", "user"))),
    "chat": lambda s: s.set_wrapping(chat=True, add_special=True, parse_special=False),
    "BOS": lambda s: s.set_wrapping(chat=False, add_special=False, parse_special=False),
    "settings": lambda s: s.set_settings(SamplerSettings(temperature=0.3, top_k=7, seed=5)),
    "step": lambda s: s.step(),
    "run": lambda s: s.run(3),
    "force": lambda s: s.force(5),
    "insert": lambda s: s.insert_text(" xy"),
    "rewind": lambda s: s.rewind_one(),
    "walk": lambda s: s.go_to(s.document.path[0]),
    "name": lambda s: s.name_branch(s.document.path[0], "first"),
    "delete": lambda s: s.delete_branch(s.document.path[-1]),
    "expand": lambda s: s.explore(2, 2),
    "clear": lambda s: s.clear(),
}


@pytest.mark.parametrize("intent", INTENTS.values(), ids=INTENTS.keys())
def test_every_change_can_be_taken_back_and_made_again(
    qtbot: QtBot, loaded: Session, intent: Intent
) -> None:
    loaded.set_prompt("abc")
    qtbot.waitUntil(ready(loaded))
    loaded.run(3)
    qtbot.waitUntil(lambda: len(loaded.document.path) == 3 and not loaded.is_running)
    qtbot.waitUntil(ready(loaded))
    before = content(loaded)
    intent(loaded)
    qtbot.waitUntil(lambda: content(loaded) != before)
    qtbot.waitUntil(lambda: not loaded.is_running and not loaded.is_exploring and ready(loaded)())
    after = content(loaded)
    for _ in range(2):
        loaded.undo()
        qtbot.waitUntil(ready(loaded))
        assert content(loaded) == before
        assert_row_is_right(loaded)
        loaded.redo()
        qtbot.waitUntil(ready(loaded))
        assert content(loaded) == after
        assert_row_is_right(loaded)


def content(session: Session) -> tuple[object, ...]:
    """All that undo has to bring back, and the ids that follow from it."""
    state = session.state
    kept = (state.blocks, state.chat, state.add_special, state.parse_special, state.settings)
    return (*kept, state.count, state.leaf, state.names, state.deleted, session.document.tail_ids)


def test_another_model_follows_the_end_whatever_was_selected(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("The sky is")
    qtbot.waitUntil(ready(loaded))
    loaded.run(5)
    qtbot.waitUntil(lambda: len(loaded.document.path) > 2 and not loaded.is_running)
    loaded.select(loaded.prompt_length + 1)
    loaded.open_model("fake:vocab=700,seed=4")
    qtbot.waitUntil(lambda: loaded.model is not None, timeout=20_000)
    assert loaded.follows_end
    qtbot.waitUntil(ready(loaded))
    assert loaded.position == len(loaded.ids)


def test_a_model_loaded_again_shows_the_selected_row(qtbot: QtBot, loaded: Session) -> None:
    loaded.set_prompt("The sky is")
    qtbot.waitUntil(ready(loaded))
    loaded.select(2)
    qtbot.waitUntil(ready(loaded))
    loaded.reload_model()
    qtbot.waitUntil(lambda: loaded.model is not None, timeout=20_000)
    qtbot.waitUntil(ready(loaded))
    assert loaded.position == 2
    assert_row_is_right(loaded)
