"""Saved sessions come back as they were, and a damaged file is one sentence."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope import session_file
from logitscope.document import Block, Document, State
from logitscope.sampling import TRANSFORMERS_ORDER, SamplerSettings
from logitscope.session_file import (
    HomeFile,
    ModelReference,
    SavedSession,
    SessionFileError,
    Stamp,
)
from logitscope.steps import Draw, Origin, StepRecord

MODEL = ModelReference("/models/müll 🦊.gguf", "llamacpp", "Müll 🦊", "ab" * 32)


def step(token_id: int, logp: float = -1.0) -> StepRecord:
    return StepRecord(
        token_id,
        Origin.SAMPLED,
        logp,
        3,
        2.5,
        0.25,
        Draw(0.5, 0.25, 0.75),
        (1, 2),
        (-0.1, -3.0),
        0.1,
    )


def with_branches() -> State:
    document = Document(State(blocks=(Block("a\x00b", "system", True), Block("後\ud800"))))
    document.set_settings(SamplerSettings(temperature=0.7, order=TRANSFORMERS_ORDER, seed=2**60))
    document.adopt_model("ab" * 32)
    document.set_prompt_ids((1, 2, 3))
    for token_id in (5, 6, 7):
        document.append(step(token_id))
    document.go_to_position(4)
    node = document.append(
        replace(step(9), origin=Origin.FORCED, shaped_probability=None, draw=None)
    )
    document.name(node, "the other way")
    document.delete(1)
    return document.state


def nodes_of(state: State) -> list[object]:
    return [state.tree[index] for index in range(state.count)]


def test_a_text_that_grows_is_the_same_as_one_made_at_once() -> None:
    """After undo, another branch, another document: what was encoded before is not taken for it."""
    growing = session_file.SessionText()
    document = Document(State(blocks=(Block("a"),)))
    document.set_prompt_ids((1,))

    def same(state: State) -> bool:
        read = session_file.loads(growing.of(SavedSession(state, MODEL))).state
        return nodes_of(read) == nodes_of(state) and read.leaf == state.leaf

    states = []
    for token_id in (5, 6, 7, 8):
        document.append(replace(step(token_id), settings=SamplerSettings(seed=token_id)))
        states.append(document.state)
        assert same(document.state)
    assert same(states[1]), "undone, but not yet forgotten"
    document.restore(states[1])
    document.append(step(9))
    assert same(document.state)
    assert same(with_branches())
    assert same(document.state)


def test_of_a_long_text_only_what_is_new_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = session_file.SessionText()
    document = Document(State(blocks=(Block("a"),)))
    document.set_prompt_ids((1,))
    for token_id in range(50):
        document.append(step(token_id))
    growing.of(SavedSession(document.state, None))
    document.append(step(99))
    encoded = []
    monkeypatch.setattr(session_file, "_step_to_json", lambda step: encoded.append(step) or {})
    growing.of(SavedSession(document.state, None))
    assert [one.token_id for one in encoded] == [99]


def test_steps_of_one_run_share_their_settings_in_the_file_and_behind_it() -> None:
    first, second = SamplerSettings(temperature=0.7, seed=3), SamplerSettings(top_k=40)
    document = Document(State(blocks=(Block("a"),)))
    document.set_prompt_ids((1,))
    for token_id, settings in ((5, first), (6, first), (7, second), (8, None)):
        document.append(replace(step(token_id), settings=settings))
    text = session_file.dumps(SavedSession(document.state, None))
    assert len(json.loads(text)["document"]["run_settings"]) == 2
    loaded = session_file.loads(text).state
    assert_same(loaded, document.state)
    steps = [loaded.tree[index].step for index in range(4)]
    assert steps[0].settings is steps[1].settings


def test_a_file_that_names_no_settings_of_steps_is_read() -> None:
    whole = json.loads(session_file.dumps(SavedSession(with_branches(), MODEL)))
    for name in ("runs", "run_settings"):
        del whole["document"][name]
    loaded = session_file.loads(json.dumps(whole)).state
    assert {loaded.tree[index].step.settings for index in range(loaded.count)} == {None}


def nodes(state: State) -> list[object]:
    return [state.tree[index] for index in range(state.count)]


def assert_same(loaded: State, saved: State) -> None:
    assert nodes(loaded) == nodes(saved)
    assert replace(loaded, tree=saved.tree) == saved


def test_round_trip_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "müll 🦊.json"
    state = with_branches()
    session_file.save(path, SavedSession(state, MODEL))
    loaded = session_file.load(path)
    assert loaded.model == MODEL
    assert_same(loaded.state, state)
    assert Document(loaded.state).ids == (1, 2, 3, 5, 9)


@given(
    text=st.text(),
    logp=st.floats(allow_nan=False, max_value=0),
    ids=st.lists(st.integers(0, 300_000), max_size=5),
)
def test_any_text_and_number_survives(text: str, logp: float, ids: list[int]) -> None:
    document = Document(State(blocks=(Block(text),), prompt_ids=(1,)))
    for token_id in ids:
        document.append(step(token_id, logp))
    loaded = session_file.loads(session_file.dumps(SavedSession(document.state, None)))
    assert_same(loaded.state, document.state)


@pytest.mark.parametrize("stamp", [(1_700_000_000_000_000_001, 5, 2**40), None])
def test_a_copy_remembers_its_file(stamp: Stamp | None) -> None:
    home = HomeFile("müll 🦊.json", stamp)
    text = session_file.dumps(SavedSession(State(), None, home))
    assert session_file.loads(text).home == home


def test_a_file_that_is_no_copy_names_none() -> None:
    text = session_file.dumps(SavedSession(State(), MODEL))
    assert "file" not in json.loads(text)
    assert session_file.loads(text).home is None


def test_undone_nodes_are_not_saved() -> None:
    document = Document(State(prompt_ids=(1,)))
    before = document.state
    document.append(step(5))
    document.restore(before)
    assert session_file.loads(session_file.dumps(SavedSession(before, None))).state.count == 0


def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    session_file.save(path, SavedSession(with_branches(), MODEL))
    before = path.read_bytes()

    def fail(_handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        session_file.save(path, SavedSession(State(), None))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


DAMAGE = [
    ("", "not a saved session"),
    ("[" * 100_000, "not a saved session"),
    ("{}", "not a Logitscope session"),
    ('{"format":"logitscope-session","version":99}', "format 99"),
    ('{"format":"logitscope-session","version":1,"model":null,"document":{}}', "damaged"),
]


@pytest.mark.parametrize(("text", "sentence"), DAMAGE)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SessionFileError, match=sentence) as caught:
        session_file.load(path)
    assert "broken.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.timeout(30)
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "pipe.logitscope.json"
    os.mkfifo(path)
    with pytest.raises(SessionFileError, match="not an ordinary file"):
        session_file.load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("leaf", 99), ("leaf", -2), ("prompt_ids", [-1]), ("deleted", [7]), ("nodes", [[5, {}]])],
)
def test_a_file_that_points_nowhere_is_refused(key: str, value: object) -> None:
    whole = json.loads(session_file.dumps(SavedSession(with_branches(), MODEL)))
    whole["document"][key] = value
    with pytest.raises(SessionFileError, match="damaged"):
        session_file.loads(json.dumps(whole))
