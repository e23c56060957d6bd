"""Live scoring of the text on screen, against a fresh backend's rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.distribution import log_softmax
from logitscope.gui.engine import Engine
from logitscope.gui.scoring import Scorer
from logitscope.gui.session import Session

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
    session.engine.score = lambda *a: asked.append(1) or score(*a)  # type: ignore[method-assign]
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

    def spy(ids: tuple[int, ...], start: int, stop: int) -> int:
        asked.append((len(ids), start, stop))
        return score(ids, start, stop)

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
