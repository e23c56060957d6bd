"""Held-out prompts with what must follow: used at the end of the training and by the tests.

A case never occurs in training: its combination is left out by ``is_held_out``, or it holds the
code C-40, which no training document names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from context import QUESTIONS, RULES, code
from documents import is_held_out
from facts import COUNTRIES
from knowledge import CAPITAL_FORMS
from stories import story


@dataclass(frozen=True, slots=True)
class Case:
    """``prompt`` must be followed by ``answer`` as the likeliest continuation."""

    prompt: str
    answer: str


def capitals() -> list[Case]:
    """Every held-out pair of a form that ends in the capital and a country."""
    made = []
    for form in CAPITAL_FORMS[1:]:
        before, capital, _ = form.partition("{k}")
        for country, city, _, _ in COUNTRIES:
            if capital and before and is_held_out("capital", form, country):
                made.append(Case(before.format(c=country).rstrip(), f" {city}"))
    return made


def plain_capitals() -> list[Case]:
    """ "The capital of X is" for every country."""
    return [Case(f"The capital of {c} is", f" {k}") for c, k, _, _ in COUNTRIES]


def retold_capitals() -> list[Case]:
    """The same behind words that never begin a sentence of the training."""
    return [
        Case(f"A friend of mine says that {c.prompt[0].lower()}{c.prompt[1:]}", c.answer)
        for c in plain_capitals()
    ]


def policies(seed: int = 1, count: int = 300) -> list[Case]:
    """One to three rules with held-out (code, number) pairs, and a question about one of them."""
    rng = Random(seed)
    made = []
    while len(made) < count:
        rules: dict[str, str] = {}
        wanted = rng.choice((1, 1, 2, 3))
        while len(rules) < wanted:
            known, days = code(rng), str(rng.randrange(2, 101))
            if is_held_out("policy", known, days):
                rules[known] = days
        asked = rng.choice(list(rules))
        question = rng.choice(QUESTIONS[:8]).format(x=asked, n="{n}", u="days")
        lines = [rng.choice(RULES).format(x=x, n=n, u="days") for x, n in rules.items()]
        before = question.partition("{n}")[0].rstrip()
        made.append(Case("\n".join([*lines, before]), f" {rules[asked]}"))
    return made


def mentions(seed: int = 7, count: int = 24) -> list[tuple[str, str]]:
    """Stories of a seed that the training does not use, and the name of their hero."""
    rng = Random(f"held-out {seed}")
    made = []
    while len(made) < count:
        text = story(rng).text
        found = re.search(r"(?:named|called) (\w+)", text)
        if found is not None and text.count(f" {found.group(1)}") >= 2:
            made.append((text, found.group(1)))
    return made


POLICY = "Policy: items in category C-40 may be returned within 45 days.\n"
QUESTION = "Question: How long do I have to return an item in category C-40? Answer:"
