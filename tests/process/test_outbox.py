"""How often progress is told."""

from __future__ import annotations

import pytest

from logitscope.backends import outbox
from logitscope.backends.messages import Phase, Progress


class Recorded:
    def __init__(self) -> None:
        self.messages: list[tuple] = []

    def send(self, message: tuple) -> None:
        self.messages.append(message)


@pytest.mark.parametrize(("at_once", "told"), [(True, [0, 5, 10]), (False, [5, 10])])
def test_progress_is_told_twenty_times_a_second(monkeypatch, at_once, told) -> None:
    now = [100.0]
    monkeypatch.setattr(outbox.time, "monotonic", lambda: now[0])
    pipe = Recorded()
    report = outbox.Outbox(pipe).progress(7, Phase.SCORE, at_once=at_once)
    for done in range(12):
        report(done, 12)
        now[0] += 0.01
    assert pipe.messages == [(Progress(7, Phase.SCORE, done, 12),) for done in told]
