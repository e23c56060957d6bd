"""Saving, opening and recovery, against a live fake model."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.document import Block
from logitscope.gui.engine import Engine
from logitscope.gui.keeping import Keeper
from logitscope.gui.kept import SUFFIX, lost_sessions
from logitscope.gui.session import Session
from logitscope.sampling import SamplerSettings
from logitscope.session_file import SessionFileError

MODEL = "fake:vocab=500,seed=3"


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    yield made
    engine.close()


@pytest.fixture
def keeper(session: Session, tmp_path: Path) -> Iterator[Keeper]:
    made = Keeper(session, folder=tmp_path / "recovery")
    yield made
    made.close()


def write(qtbot: QtBot, session: Session) -> None:
    session.open_model(MODEL)
    session.set_prompt("Grüße 🦊")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=20_000)
    session.run(4)
    qtbot.waitUntil(
        lambda: bool(session.document.path) and not session.is_running and session.row_is_current,
        timeout=20_000,
    )


WRITER = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from logitscope.document import Block
from logitscope.gui.engine import Engine
from logitscope.gui.keeping import Keeper
from logitscope.gui.session import Session
app = QApplication([])
session = Session(Engine())
keeper = Keeper(session, folder=Path(sys.argv[1]))
session.set_blocks((Block("typed before the power went"),))
app.exec()
"""
"""A program that writes, keeps a recovery copy, and never ends by itself."""


def dead_process_id() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_saved_session_opens_with_the_same_ids(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    write(qtbot, session)
    path = tmp_path / f"über{SUFFIX}"
    assert keeper.is_modified
    keeper.save(path)
    assert not keeper.is_modified
    kept, steps = session.ids, session.document.steps
    session.set_prompt("something else")
    session.set_settings(SamplerSettings(temperature=0.3))
    assert keeper.is_modified
    assert keeper.open(path) is None
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)
    assert session.ids == kept
    assert session.document.steps == steps
    assert session.settings == SamplerSettings()
    assert not session.undo_stack.canUndo()
    assert not keeper.is_modified


def test_a_session_brings_its_model_and_its_continuations(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    write(qtbot, session)
    path = tmp_path / f"a{SUFFIX}"
    keeper.save(path)
    kept = session.ids
    session.open_model("fake:vocab=300,seed=1")
    qtbot.waitUntil(lambda: session.is_ready, timeout=20_000)
    assert keeper.open(path) is None
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=20_000)
    assert session.model is not None
    assert session.model.path == MODEL
    assert session.ids == kept


def test_a_session_whose_model_is_gone_says_which(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    write(qtbot, session)
    path = tmp_path / f"a{SUFFIX}"
    keeper.save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(MODEL, "/nowhere/gone.gguf"), encoding="utf-8")
    session.open_model("fake:vocab=300,seed=1")
    qtbot.waitUntil(lambda: session.is_ready, timeout=20_000)
    missing = keeper.open(path)
    assert missing is not None
    assert missing.path == "/nowhere/gone.gguf"
    assert session.state.text == "Grüße 🦊"


def test_a_broken_file_leaves_the_document(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    session.set_blocks((Block("mine"),))
    path = tmp_path / "broken.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(SessionFileError):
        keeper.open(path)
    assert session.state.text == "mine"


def test_autosave_follows_changes(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    folder = tmp_path / "recovery"
    session.set_blocks((Block("do not lose me"),))
    qtbot.waitUntil(lambda: list(folder.glob(f"*{SUFFIX}")) != [], timeout=10_000)
    (copy,) = folder.glob(f"*{SUFFIX}")
    assert session_file.load(copy).state.text == "do not lose me"
    assert list(lost_sessions(folder)) == []


def test_what_was_not_saved_is_kept_when_the_window_closes(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    session.set_blocks((Block("closed in a hurry"),))
    keeper.close()
    (kept,) = lost_sessions(tmp_path / "recovery")
    assert session_file.load(kept).state.text == "closed in a hurry"


def closed_with_changes(session: Session, keeper: Keeper, path: Path) -> Path:
    """The copy of a session with a file, changed and not saved before its window closed."""
    session.set_blocks((Block("in its file"),))
    keeper.save(path)
    session.set_blocks((Block("in its file, and more"),))
    keeper.close()
    return next(lost_sessions(keeper.folder))


def test_what_is_brought_back_is_a_change_to_its_file(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    path = tmp_path / f"a{SUFFIX}"
    copy = closed_with_changes(session, keeper, path)
    again = Keeper(session, folder=keeper.folder)
    again.recover(copy)
    assert again.path == path
    assert again.is_modified
    assert not again.is_outdated
    again.save(path)
    assert session_file.load(path).state.text == "in its file, and more"
    assert session_file.load(path).home is None
    again.close()
    assert list(lost_sessions(keeper.folder)) == []


def test_a_file_that_another_window_has_written_is_not_written_over(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    path = tmp_path / f"a{SUFFIX}"
    copy = closed_with_changes(session, keeper, path)
    session_file.save(path, session_file.load(copy))
    again = Keeper(session, folder=keeper.folder)
    again.recover(copy)
    assert again.is_outdated
    again.close()


def test_what_is_brought_back_has_no_file_where_it_is_gone(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    path = tmp_path / f"a{SUFFIX}"
    copy = closed_with_changes(session, keeper, path)
    path.unlink()
    again = Keeper(session, folder=keeper.folder)
    again.recover(copy)
    assert again.path is None
    assert session.state.text == "in its file, and more"
    again.close()


def test_nothing_is_kept_of_what_is_saved_or_empty(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    folder = tmp_path / "recovery"
    session.set_settings(SamplerSettings(temperature=0.3))
    keeper.autosave()
    keeper.close()
    assert list(folder.iterdir()) == []
    session.set_blocks((Block("in its file"),))
    keeper.autosave()
    keeper.save(tmp_path / f"a{SUFFIX}")
    keeper.close()
    assert list(folder.iterdir()) == []


def test_the_newest_ten_closed_texts_are_kept(session: Session, tmp_path: Path) -> None:
    keepers = [Keeper(session, folder=tmp_path / "recovery") for _ in range(12)]
    for number, keeper in enumerate(keepers):
        session.set_blocks((Block(f"text {number}"),))
        keeper.close()
        kept = next(lost_sessions(tmp_path / "recovery"))
        os.utime(kept, (number, number))
    texts = [session_file.load(file).state.text for file in lost_sessions(tmp_path / "recovery")]
    assert texts == [f"text {number}" for number in range(11, 1, -1)]


def test_a_copy_is_found_though_its_process_number_was_given_away(
    session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    """Numbers begin anew with the computer: the copy is older than the process."""
    session.set_blocks((Block("before the computer was started anew"),))
    keeper.autosave()
    (copy,) = (tmp_path / "recovery").glob(f"{os.getpid()}-*{SUFFIX}")
    assert list(lost_sessions(tmp_path / "recovery")) == []
    os.utime(copy, (1, 1))
    assert list(lost_sessions(tmp_path / "recovery")) == [copy]


def test_a_copy_on_its_way_to_a_slow_disk_is_not_left_behind(
    qtbot: QtBot,
    session: Session,
    keeper: Keeper,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The window goes on while the disk works, and waits for it when it is closed."""
    begun, may_end = threading.Event(), threading.Event()
    write_at_once = session_file.write

    def write_slowly(path: Path, text: str) -> None:
        begun.set()
        assert may_end.wait(10)
        write_at_once(path, text)

    monkeypatch.setattr(session_file, "write", write_slowly)
    session.set_blocks((Block("on its way"),))
    qtbot.waitUntil(begun.is_set, timeout=10_000)
    release = threading.Timer(0.1, may_end.set)
    release.start()
    keeper.close()
    assert may_end.is_set()
    (kept,) = (tmp_path / "recovery").iterdir()
    assert list(lost_sessions(tmp_path / "recovery")) == [kept]


def test_what_a_dead_process_left_is_found_and_recovered(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    folder = tmp_path / "recovery"
    write(qtbot, session)
    keeper.autosave()
    (copy,) = folder.glob(f"*{SUFFIX}")
    lost = copy.rename(folder / f"{dead_process_id()}-1{SUFFIX}")
    (folder / f"{dead_process_id()}-2{SUFFIX}").write_text("{ half", encoding="utf-8")
    assert list(lost_sessions(folder)) == [lost]
    kept = session.ids
    session.set_prompt("")
    keeper.recover(lost)
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)
    assert session.ids == kept
    assert keeper.is_modified
    assert not lost.exists()
    assert len(list(folder.glob(f"*{SUFFIX}"))) == 2


def test_a_killed_program_loses_nothing_that_was_kept(
    qtbot: QtBot, session: Session, keeper: Keeper, tmp_path: Path
) -> None:
    folder = tmp_path / "recovery"
    program = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)])
    try:
        qtbot.waitUntil(lambda: list(folder.glob(f"{program.pid}-*{SUFFIX}")) != [], timeout=60_000)
        # While it lives its copy is nobody else's.
        assert list(lost_sessions(folder)) == []
    finally:
        program.kill()
        program.wait()
    (lost,) = lost_sessions(folder)
    keeper.recover(lost)
    assert session.state.text == "typed before the power went"
