"""Where in a word of several tokens the likeliest tokens are shown."""

from __future__ import annotations

import math

import pytest
from origin_model import WrittenModel

from logitscope.origin import labels
from logitscope.origin_types import Condition


def test_the_top_stands_at_the_token_that_gains_most() -> None:
    """The space is as likely either way; the figure behind it is what the source decides."""

    def followers(text: str) -> dict[str, float]:
        if not text.endswith(" "):
            return {" ": 0.6}
        return {"4": 0.5 if "secret" in text else 0.01, "3": 0.2}

    model = WrittenModel((" secret", " asked", " ", "4", "3"), followers)
    (word,) = labels(model, model.case([" secret"], " asked", " 4")).words
    assert word.tokens == (0, 2)
    assert {each.token for each in word.expected} == {1}
    (four,) = model.tokenize("4")
    tops = {each.condition: each for each in word.expected}
    assert tops[Condition.WITH].ids[0] == four
    assert tops[Condition.WITH].log_probabilities[0] == pytest.approx(math.log(0.5), abs=1e-6)
    assert tops[Condition.DROP].ids[0] != four
