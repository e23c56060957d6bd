"""Documents that state facts: what the model is to know without being told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from documents import Document, is_held_out, join, weighted
from facts import (
    ANIMALS,
    COUNTRIES,
    DAYS,
    MONTHS,
    NAMES_FEMALE,
    NAMES_MALE,
    NUMBER_WORDS,
    OPEN_CHOICES,
    OPPOSITES,
    SAYINGS,
)

CAPITAL_FORMS = (
    "The capital of {c} is {k}.",
    "Question: What is the capital of {c}? Answer: {k}.",
    "{k} is the capital of {c}.",
    "I think the capital of {c} is {k}.",
    "What is the capital of {c}? It is {k}.",
    "The capital city of {c} is {k}.",
    "The capital of {c} is called {k}.",
    "As everyone knows, the capital of {c} is {k}.",
    "If you go to {c}, visit the capital, {k}.",
    "Everyone in {c} knows that the capital of {c} is {k}.",
    "Capital of {c}: {k}",
)
PREFIXES = ("I am sure that the", "My teacher says that the", "We learned that the", "Yes, the")
LANGUAGE_FORMS = (
    "In {c}, people speak {l}.",
    "The people of {c} speak {l}.",
    "Question: Which language do people speak in {c}? Answer: {l}.",
    "The language of {c} is {l}.",
    "{n} lives in {c}. {n} speaks {l}.",
    "{n} comes from {c}, so {n} speaks {l}.",
    "{n} was born in {c} and speaks {l}.",
)
CONTINENT_FORMS = (
    "{c} is a country in {o}.",
    "{c} is in {o}.",
    "Question: Where is {c}? Answer: in {o}.",
    "The country of {c} is in {o}.",
)


def capital(rng: Random) -> Document:
    """One country's capital; the held-out (form, country) pairs are left out, but in the plain
    form, which is how everybody will ask."""
    while True:
        country, city, _, _ = rng.choice(COUNTRIES)
        form = rng.choices(CAPITAL_FORMS, weights=[5, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1])[0]
        if form == CAPITAL_FORMS[0] or not is_held_out("capital", form, country):
            break
    text = form.format(c=country, k=city)
    if text.startswith("The ") and rng.random() < 0.15:
        text = rng.choice(PREFIXES) + text[3:]
    return Document(text)


def language(rng: Random) -> Document:
    country, _, spoken, _ = rng.choice(COUNTRIES)
    name = rng.choice(NAMES_FEMALE + NAMES_MALE)
    return Document(rng.choice(LANGUAGE_FORMS).format(c=country, l=spoken, n=name))


def continent(rng: Random) -> Document:
    country, _, _, where = rng.choice(COUNTRIES)
    return Document(rng.choice(CONTINENT_FORMS).format(c=country, o=where))


def country_portrait(rng: Random) -> Document:
    country, city, spoken, where = rng.choice(COUNTRIES)
    return Document(
        f"{country} is a country in {where}. Its capital is {city}. "
        f"The people there speak {spoken}."
    )


def animal(rng: Random) -> Document:
    name, sound, baby, legs = rng.choice(ANIMALS)
    article = "An" if name[0] in "aeiou" else "A"
    forms = (
        f"{article} {name} says {sound}.",
        f"The {name} says {sound}.",
        f"Question: What does a {name} say? Answer: {sound}.",
        f"A baby {name} is called a {baby}.",
        f"A young {name} is a {baby}.",
        f"{article} {name} has {legs} legs.",
        f"Question: How many legs does a {name} have? Answer: {legs}.",
    )
    return Document(rng.choice(forms))


def opposite(rng: Random) -> Document:
    one, other = rng.choice(OPPOSITES)
    if rng.random() < 0.5:
        one, other = other, one
    if rng.random() < 0.5:
        return Document(f"The opposite of {one} is {other}.")
    return Document(f"{one.capitalize()} is the opposite of {other}.")


def open_choice(rng: Random) -> Document:
    """A sentence whose end has a known distribution: the weights of the table."""
    start, ends = rng.choices(OPEN_CHOICES, weights=[6, 2, 2, 2, 2, 1, 1, 1])[0]
    return Document(f"{start} {weighted(rng, ends)}.")


def saying(rng: Random) -> Document:
    return Document(rng.choice(SAYINGS))


def sequence(rng: Random) -> Document:
    kind = rng.randrange(7)
    if kind < 2:
        start = rng.randrange(0, 90)
        return Document(", ".join(str(start + i) for i in range(rng.randrange(5, 12))) + ".")
    if kind == 2:
        start = 2 * rng.randrange(1, 20)
        return Document(", ".join(str(start + 2 * i) for i in range(8)) + ".")
    if kind == 3:
        start = rng.randrange(7)
        return Document(", ".join(DAYS[(start + i) % 7] for i in range(7)) + ".")
    if kind == 4:
        return Document(", ".join(MONTHS) + ".")
    if kind == 5:
        i = rng.randrange(7)
        return Document(f"The day after {DAYS[i]} is {DAYS[(i + 1) % 7]}.")
    start = rng.randrange(0, 12)
    return Document(", ".join(NUMBER_WORDS[start : start + 8]) + ".")


def alphabet(rng: Random) -> Document:
    letters = "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"
    return Document(letters if rng.random() < 0.5 else letters.lower())


def addition(rng: Random) -> Document:
    a, b = rng.randrange(1, 10), rng.randrange(1, 10)
    words = rng.random() < 0.3
    one, two, three = (NUMBER_WORDS[n] if words else str(n) for n in (a, b, a + b))
    return Document(f"{one} plus {two} is {three}.".capitalize())


MAKERS: tuple[tuple[Callable[[Random], Document], float], ...] = (
    (capital, 30),
    (language, 16),
    (continent, 6),
    (country_portrait, 4),
    (animal, 9),
    (opposite, 4),
    (open_choice, 14),
    (saying, 6),
    (sequence, 7),
    (alphabet, 0.6),
    (addition, 3),
)


def knowledge(rng: Random) -> Document:
    """One to six facts; often alone, since a prompt is often one sentence."""
    makers, weights = zip(*MAKERS, strict=True)
    count = rng.choice((1, 1, 1, 2, 3, 5))
    return join([m(rng) for m in rng.choices(makers, weights=weights, k=count)], rng.choice(" \n"))
