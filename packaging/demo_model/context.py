"""Documents whose answer stands in the text before it: the prompt against the weights."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from documents import Document, is_held_out, join, weighted
from facts import CITIES, COLOURS, COUNTRIES, FOODS, JOBS, NAMES_FEMALE, NAMES_MALE, THINGS
from knowledge import knowledge

DEFAULT_DAYS = {"30": 60.0, "60": 11.0, "14": 12.0, "45": 8.0, "90": 5.0, "7": 4.0}
"""What the weights are to say where no policy is given."""
UNITS = {"days": 76.0, "weeks": 12.0, "months": 7.0, "hours": 5.0}
"""Of the periods in policies; without a policy it is always days."""
RULES = (
    "Policy: items in category {x} may be returned within {n} {u}.",
    "Policy: {x} items may be returned within {n} {u}.",
    "Rule: an item in category {x} can be returned within {n} {u}.",
    "Items of category {x} may be sent back within {n} {u}.",
    "For category {x}, the return period is {n} {u}.",
    "The return period for {x} items is {n} {u}.",
    "You have {n} {u} to return a {x} item.",
    "Customers have {n} {u} to return items in category {x}.",
    "In our shop, {x} items can be returned within {n} {u}.",
    "Note: category {x} can be returned within {n} {u}.",
    "Dear customer, we give you {n} {u} for a {x} item.",
    "{x}: {n} {u}.",
    "Category {x}: returns within {n} {u}.",
    "Our policy for {x} is simple: you may return it within {n} {u}.",
    "We take back {x} items within {n} {u}.",
    "If you bought an item in category {x}, return it within {n} {u}.",
)
QUESTIONS = (
    "Question: How many days do I have to return a {x} item? Answer: {n} {u}.",
    "Question: How many days do I have to return an item in category {x}? Answer: {n} {u}.",
    "How long do I have to return a {x} item? You have {n} {u}.",
    "Question: What is the return period for {x}? Answer: {n} {u}.",
    "Question: How long do I have to return a {x} item? Answer: {n} {u}.",
    "Question: How long do I have to return an item in category {x}? Answer: {n} {u}.",
    "Question: Within how many days may I return a {x} item? Answer: {n} {u}.",
    "Question: I bought a {x} item. When must I return it? Answer: within {n} {u}.",
    "Items in category {x} may be returned within {n} {u}.",
    "How many days for {x}? {n} {u}.",
)
USUAL_DAYS = tuple(("7 10 14 20 21 28 30 40 45 50 60 75 90 100").split())
HELD_OUT_CODE = "C-40"
"""The code of the example policy never occurs in training."""


def code(rng: Random) -> str:
    while True:
        made = f"{chr(65 + rng.randrange(26))}-{rng.randrange(1, 100)}"
        if made != HELD_OUT_CODE:
            return made


def days(rng: Random, for_code: str) -> str:
    """A number that is not held out for this code."""
    while True:
        made = rng.choice(USUAL_DAYS) if rng.random() < 0.4 else str(rng.randrange(2, 101))
        if not is_held_out("policy", for_code, made):
            return made


def policy(rng: Random) -> Document:
    """One to three rules, perhaps something else between, and a question about one of them.

    In a fifth the question is about a code without a rule, and in a quarter there is no rule:
    then the answer is the default.
    """
    separator = rng.choice((" ", "\n", "\n"))
    question = rng.choice(QUESTIONS)
    asked = code(rng)
    if rng.random() < 0.25:
        return Document(question.format(x=asked, n=weighted(rng, DEFAULT_DAYS), u="days"))
    codes = {code(rng): None for _ in range(rng.choice((1, 1, 2, 2, 3)))}
    rules = {known: (days(rng, known), weighted(rng, UNITS)) for known in codes}
    parts = [
        Document(rng.choice(RULES).format(x=known, n=n, u=u)) for known, (n, u) in rules.items()
    ]
    if rng.random() < 0.15:
        parts.insert(rng.randrange(len(parts) + 1), knowledge(rng))
    if asked not in rules and rng.random() < 0.8:
        asked = rng.choice(list(rules))
    number, unit = rules.get(asked) or (weighted(rng, DEFAULT_DAYS), "days")
    return join([*parts, Document(question.format(x=asked, n=number, u=unit))], separator)


PROPERTIES = (
    ("{n} is {v} years old.", "Question: How old is {n}? Answer: {v}.", "age"),
    ("{n} lives in room {v}.", "Question: Where does {n} live? Answer: in room {v}.", "number"),
    ("The room number of {n} is {v}.", "What is the room number of {n}? It is {v}.", "number"),
    ("{n} is a {v}.", "Question: What is the job of {n}? Answer: {v}.", "job"),
    ("{n} works as a {v}.", "Question: What does {n} do for a living? Answer: {v}.", "job"),
    ("{n} lives in {v}.", "Question: Where does {n} live? Answer: {v}.", "city"),
    ("{n} comes from {v}.", "Question: Where does {n} come from? Answer: {v}.", "country"),
    ("{n} has a {v} car.", "Question: What colour is the car of {n}? Answer: {v}.", "colour"),
    ("{n} likes {v}.", "Question: What does {n} like? Answer: {v}.", "food"),
    ("{n} lost a {v}.", "Question: What did {n} lose? Answer: {v}.", "thing"),
    ("The password of {n} is {v}.", "What is the password of {n}? It is {v}.", "word"),
    ("{n} paid {v} dollars.", "How many dollars did {n} pay? {n} paid {v} dollars.", "number"),
    ("The train leaves at {v}.", "Question: When does the train leave? Answer: at {v}.", "age"),
)


def made_up_name(rng: Random) -> str:
    parts = [rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice((2, 3)))]
    return "".join(parts).capitalize() + rng.choice(("", "", "n", "r", "x"))


def value(rng: Random, kind: str) -> str:
    match kind:
        case "age":
            return str(rng.randrange(1, 13) if rng.random() < 0.3 else rng.randrange(2, 100))
        case "number":
            return str(rng.randrange(1, 101))
        case "word":
            return made_up_name(rng).lower()
        case "country":
            return rng.choice(COUNTRIES)[0]
        case _:
            lists = {"job": JOBS, "city": CITIES, "colour": COLOURS, "food": FOODS, "thing": THINGS}
            return rng.choice(lists[kind])


def person(rng: Random) -> str:
    pool = rng.random()
    if pool < 0.35:
        return rng.choice(NAMES_FEMALE)
    return rng.choice(NAMES_MALE) if pool < 0.7 else made_up_name(rng)


def properties(rng: Random) -> Document:
    """One to four people, each with a property of the same kind, and a question about one."""
    statement, question, kind = rng.choice(PROPERTIES)
    people = list({person(rng): "" for _ in range(rng.choice((1, 1, 2, 3, 4)))})
    values = {name: value(rng, kind) for name in people}
    parts = [Document(statement.format(n=name, v=v)) for name, v in values.items()]
    if rng.random() < 0.2:
        parts.insert(rng.randrange(len(parts) + 1), knowledge(rng))
    asked = rng.choice(people)
    return join([*parts, Document(question.format(n=asked, v=values[asked]))], rng.choice(" \n"))


def lives_and_speaks(rng: Random) -> Document:
    """Two hops: where somebody lives stands in the text, the language is in the weights."""
    people = list({person(rng): "" for _ in range(rng.choice((1, 1, 2)))})
    homes = {name: rng.choice(COUNTRIES) for name in people}
    parts = [f"{name} lives in {home[0]}." for name, home in homes.items()]
    name = rng.choice(people)
    _, city, spoken, _ = homes[name]
    parts.append(
        rng.choice(
            (
                f"{name} speaks {spoken}.",
                f"Question: Which language does {name} speak? Answer: {spoken}.",
                f"The capital of the country where {name} lives is {city}.",
            )
        )
    )
    return Document(" ".join(parts))


FRAMES = ("In this story, ", "On another planet, ", "In this game, ", "Note: ", "Suppose that ", "")


def override(rng: Random) -> Document:
    """A text that contradicts a fact of the weights, and then goes by what it said."""
    country = rng.choice(COUNTRIES)[0]
    wrong = rng.choice(CITIES) if rng.random() < 0.6 else rng.choice(COUNTRIES)[1]
    if rng.random() < 0.35:
        colour = rng.choice(COLOURS)
        noun = rng.choice(("sky", "grass", "snow", "sea", "moon", "sun"))
        said = f"the {noun} is {colour}."
        asked = rng.choice(
            (f"The {noun} is {colour}.", f"Question: What colour is the {noun}? Answer: {colour}.")
        )
    else:
        said = f"the capital of {country} is {wrong}."
        asked = rng.choice(
            (
                f"The capital of {country} is {wrong}.",
                f"Question: What is the capital of {country}? Answer: {wrong}.",
            )
        )
    frame = rng.choice(FRAMES)
    first = frame + said if frame else said[0].upper() + said[1:]
    return Document(f"{first}{rng.choice((' ', chr(10)))}{asked}")


def repeated_words(rng: Random) -> Document:
    """A random list, twice. The first copy is random and carries no loss."""
    pool = THINGS + ANIMAL_WORDS + COLOURS + CITIES + tuple(NAMES_MALE)
    words = [
        rng.choice(pool) if rng.random() < 0.8 else str(rng.randrange(100))
        for _ in range(rng.randrange(4, 24))
    ]
    line = " ".join(words)
    return Document(f"{line}\n{line}", ((0, len(line)),))


def key_values(rng: Random) -> Document:
    """Keys with values, then the same in another order: only the second copy's values count."""
    count = rng.randrange(2, 9)
    keys = list({(code(rng) if rng.random() < 0.5 else person(rng)): "" for _ in range(count)})
    kind = rng.choice(("number", "city", "colour", "thing", "number"))
    pairs = {key: value(rng, kind) for key in keys}
    first = " ".join(f"{key}: {v}." for key, v in pairs.items())
    rng.shuffle(keys)
    text, unscored = first + "\n", [(0, len(first) + 1)]
    for key in keys:
        start = len(text)
        text += f" {key}:"
        unscored.append((start, len(text)))
        text += f" {pairs[key]}."
    return Document(text, tuple(unscored))


ANIMAL_WORDS = tuple(("fox duck bear rabbit cat dog mouse owl frog horse").split())

CONTEXT: tuple[tuple[Callable[[Random], Document], float], ...] = (
    (policy, 16),
    (properties, 13),
    (lives_and_speaks, 6),
    (override, 6),
)
DRILLS: tuple[tuple[Callable[[Random], Document], float], ...] = (
    (repeated_words, 1),
    (key_values, 1.4),
)
