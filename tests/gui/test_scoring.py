"""Live scoring of the text on screen, against a fresh backend's rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.backends.messages import Phase
from logitscope.distribution import log_softmax
from logitscope.gui.engine import Activity, Engine
from logitscope.gui.scoring import Scorer
from logitscope.gui.session import Session
from logitscope.gui.subjects import OpenedText

MODEL = "fake:vocab=400,seed=5,context=64"


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    made.open_model(MODEL)
    qtbot.waitUntil(lambda: made.model is not None, timeout=20_000)
    yield made
    engine.close()


@pytest.fixture
def scorer(session: Session) -> Scorer:
    made = Scorer(session)
    made.set_active(True)
    return made


def complete(session: Session, scorer: Scorer) -> bool:
    table = scorer.table
    return (
        session.is_ready
        and not session.is_running
        and tuple(table.ids.tolist()) == session.ids
        and table.first_unknown == len(table)
        and len(table) > 1
    )


def fresh_losses(ids: tuple[int, ...], begin: int = 0) -> np.ndarray:
    backend = load_fake(MODEL, LoadOptions())
    losses = [
        -log_softmax(backend.next_logits(ids[begin:p]))[ids[p]] for p in range(begin + 1, len(ids))
    ]
    backend.close()
    return np.array([np.nan, *losses])


def test_typed_text_is_scored_and_an_edit_rescans_from_there(
    qtbot: QtBot, session: Session, scorer: Scorer
) -> None:
    session.set_prompt("The sky is blue.")
    qtbot.waitUntil(lambda: complete(session, scorer))
    np.testing.assert_allclose(scorer.table.loss, fresh_losses(session.ids), atol=1e-6)
    changed: list[tuple[int, int]] = []
    scorer.changed.connect(lambda start, stop: changed.append((start, stop)))
    session.set_prompt("The sky is grey.")
    qtbot.waitUntil(lambda: complete(session, scorer))
    np.testing.assert_allclose(scorer.table.loss, fresh_losses(session.ids), atol=1e-6)
    assert min(start for start, _ in changed) > 1


def test_generated_tokens_need_no_pass(qtbot: QtBot, session: Session, scorer: Scorer) -> None:
    session.set_prompt("abc")
    qtbot.waitUntil(lambda: complete(session, scorer))
    asked: list[int] = []
    score = session.engine.score
    session.engine.score = lambda *a, **n: asked.append(1) or score(*a, **n)  # type: ignore[method-assign]
    session.run(6)
    qtbot.waitUntil(lambda: bool(session.document.path) and complete(session, scorer))
    assert asked == []
    np.testing.assert_allclose(scorer.table.loss, fresh_losses(session.ids), atol=1e-6)


def test_a_text_within_the_context_is_one_request(
    qtbot: QtBot, session: Session, scorer: Scorer
) -> None:
    engine = session.engine
    asked: list[tuple[int, int, int]] = []
    score = engine.score

    def spy(ids: tuple[int, ...], start: int, stop: int, **progress: int) -> int:
        asked.append((len(ids), start, stop))
        return score(ids, start, stop, **progress)

    engine.score = spy  # type: ignore[method-assign]
    session.set_prompt("word " * 12)
    qtbot.waitUntil(lambda: complete(session, scorer))
    assert len(session.ids) < 64
    scorer.table.forget()
    asked.clear()
    scorer.resume()
    qtbot.waitUntil(lambda: complete(session, scorer))
    assert asked == [(len(session.ids), 1, len(session.ids))]


def test_stop_keeps_what_is_known_and_a_change_goes_on(
    qtbot: QtBot, session: Session, scorer: Scorer
) -> None:
    session.set_prompt("abc def")
    qtbot.waitUntil(lambda: complete(session, scorer))
    known = scorer.table.known
    scorer.stop()
    assert scorer.table.known == known
    session.set_prompt("abc deg")
    qtbot.waitUntil(lambda: complete(session, scorer))


def test_another_model_forgets_the_numbers(qtbot: QtBot, session: Session, scorer: Scorer) -> None:
    session.set_prompt("abc def")
    qtbot.waitUntil(lambda: complete(session, scorer))
    before = scorer.table.loss.copy()
    session.open_model("fake:vocab=400,seed=6,context=64")
    qtbot.waitUntil(
        lambda: complete(session, scorer) and not np.array_equal(scorer.table.loss[1:], before[1:]),
        timeout=20_000,
    )


def test_another_model_is_not_asked_about_the_ids_of_the_one_before(
    qtbot: QtBot, session: Session, scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.set_prompt("abc def")
    qtbot.waitUntil(lambda: complete(session, scorer))
    session.run(4)
    qtbot.waitUntil(lambda: complete(session, scorer))
    asked: list[tuple[int, ...]] = []
    score = session.engine.score

    def noted(ids: tuple[int, ...], start: int, stop: int, **progress: int) -> int:
        asked.append(ids)
        return score(ids, start, stop, **progress)

    monkeypatch.setattr(session.engine, "score", noted)
    session.open_model("fake:vocab=300,seed=6,context=64")
    qtbot.waitUntil(lambda: session.model is not None and complete(session, scorer))
    assert set(asked) == {session.ids}
    assert max(session.ids) < 300


def test_a_long_text_is_scored_in_windows(qtbot: QtBot, session: Session) -> None:
    """Every token once, with at least half a window before it, and BOS in front of each window."""
    subject = OpenedText(session)
    scorer = Scorer(session, subject)
    scored = np.zeros(400, dtype=int)
    put = scorer.table.put
    scorer.table.put = (
        lambda at, n: (  # type: ignore[method-assign]
            scored.__setitem__(slice(at, at + len(n.rank)), scored[at : at + len(n.rank)] + 1),
            put(at, n),
        )[1]
    )
    subject.set_text("The sky is blue and the sea is grey. " * 9, "sample")
    scorer.set_active(True)
    ids = done(qtbot, scorer, subject)
    assert len(ids) > 128
    assert (scorer.window_size, scorer.stride) == (64, 32)
    assert (scored[1 : len(ids)] == 1).all()
    backend = load_fake(MODEL, LoadOptions())
    for p in (1, 63, 64, 65, 95, 96, len(ids) - 1):
        # The window that ends last before 32 * k + 64 > p begins at 32 * k.
        begin = 0 if p < 64 else (p - 64) // 32 * 32 + 32
        read = ids[begin:p] if begin == 0 else (ids[0], *ids[begin + 1 : p])
        assert begin == 0 or len(read) >= 32
        assert scorer.context_of(p) == read
        loss = -log_softmax(backend.next_logits(read))[ids[p]]
        assert scorer.table.loss[p] == pytest.approx(loss, abs=1e-6)
    backend.close()


def test_progress_is_that_of_the_whole_text_not_of_a_window(qtbot: QtBot, session: Session) -> None:
    subject = OpenedText(session)
    scorer = Scorer(session, subject)
    told: list[Activity] = []
    session.engine.activity_changed.connect(told.append)
    subject.set_text("The sky is blue and the sea is grey. " * 9, "sample")
    scorer.set_active(True)
    ids = done(qtbot, scorer, subject)
    scoring = [activity for activity in told if activity.phase is Phase.SCORE]
    assert {activity.total for activity in scoring} == {len(ids) - 1}
    counts = [activity.done for activity in scoring]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] >= len(ids) - 1 - scorer.window_size


def test_other_windows_score_again(qtbot: QtBot, session: Session) -> None:
    subject = OpenedText(session)
    scorer = Scorer(session, subject)
    subject.set_text("The sky is blue and the sea is grey. " * 3, "sample")
    scorer.set_active(True)
    ids = done(qtbot, scorer, subject)
    scorer.set_windows(16, 4)
    assert scorer.table.known == 0
    done(qtbot, scorer, subject)
    backend = load_fake(MODEL, LoadOptions())
    p = 40
    begin = (p - 16) // 4 * 4 + 4
    row = backend.next_logits((ids[0], *ids[begin + 1 : p]))
    assert scorer.table.loss[p] == pytest.approx(-log_softmax(row)[ids[p]], abs=1e-6)
    backend.close()


def test_a_score_of_another_is_let_through(qtbot: QtBot, session: Session, scorer: Scorer) -> None:
    """Inserting a text asks for a score of its own, which ours must not replace."""
    session.set_prompt("The sky is blue.")
    qtbot.waitUntil(lambda: complete(session, scorer))
    scorer.table.forget()
    scorer.resume()
    session.insert_text(" It is")
    qtbot.waitUntil(lambda: bool(session.document.path) and complete(session, scorer))
    np.testing.assert_allclose(scorer.table.loss, fresh_losses(session.ids), atol=1e-6)


def done(qtbot: QtBot, scorer: Scorer, subject: OpenedText) -> tuple[int, ...]:
    table = scorer.table
    qtbot.waitUntil(
        lambda: (
            len(table) == len(subject.ids) > 1
            and table.first_unknown == len(table)
            and not scorer.is_scoring
        ),
        timeout=20_000,
    )
    return tuple(subject.ids)
