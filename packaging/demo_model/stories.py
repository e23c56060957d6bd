"""Small stories: fluent sentences with consistent names, for reading at temperature 0.8."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from context import made_up_name
from documents import Document
from facts import ANIMAL_NAMES, FEELINGS, FOODS, NAMES_FEMALE, NAMES_MALE, PLACES, THINGS

ADJECTIVES = tuple(
    ("little big old young kind brave clever funny lazy quiet friendly curious strong tiny").split()
)
GAMES = tuple(("swim run climb sing dance paint read dig jump sail").split())


@dataclass(frozen=True, slots=True)
class Character:
    """Somebody in a story."""

    name: str
    noun: str
    is_female: bool

    @property
    def she(self) -> str:
        return "she" if self.is_female else "he"

    @property
    def her(self) -> str:
        return "her" if self.is_female else "his"

    @property
    def object(self) -> str:
        return "her" if self.is_female else "him"


def character(rng: Random, taken: str = "") -> Character:
    is_female = rng.random() < 0.5
    while True:
        if rng.random() < 0.15:
            name = made_up_name(rng)
        else:
            name = rng.choice(NAMES_FEMALE if is_female else NAMES_MALE)
        if name != taken:
            break
    if rng.random() < 0.5:
        noun = rng.choice(ANIMAL_NAMES)
    else:
        nouns = ("girl", "woman") if is_female else ("boy", "man")
        noun = nouns[rng.random() < 0.2]
    return Character(name, noun, is_female)


def a(phrase: str) -> str:
    """The phrase with its indefinite article."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def opening(rng: Random, hero: Character, place: str) -> str:
    adjective = rng.choice(ADJECTIVES)
    return rng.choice(
        (
            f"Once upon a time, there was {a(adjective)} {hero.noun} named {hero.name}.",
            f"Once upon a time, {a(adjective)} {hero.noun} named {hero.name} lived near a {place}.",
            f"There was once {a(hero.noun)} called {hero.name} who lived by the {place}.",
            f"{hero.name} was {a(adjective)} {hero.noun}.",
        )
    )


def lost_thing(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    thing = rng.choice(THINGS)
    where = rng.choice([p for p in PLACES if p != place])
    return [
        rng.choice(
            (
                f"One day, {hero.name} lost {hero.her} {thing}.",
                f"One morning, {hero.name} could not find {hero.her} {thing}.",
            )
        ),
        rng.choice(
            (
                f"{hero.name} looked in the {place}, but the {thing} was not there.",
                f"{hero.she.capitalize()} was very sad.",
                f'"Where is my {thing}?" said {hero.name}.',
            )
        ),
        f"Then {hero.name} met {a(friend.noun)} named {friend.name}.",
        rng.choice(
            (
                f'"I will help you," said {friend.name}.',
                f"{friend.name} came to help.",
                f'"Let us look together," said {friend.name}.',
            )
        ),
        f"They found the {thing} in the {where}.",
        rng.choice(
            (
                f'"Thank you, {friend.name}!" said {hero.name}.',
                f"{hero.name} was happy and thanked {friend.name}.",
                f"{hero.name} gave {friend.name} a big hug.",
            )
        ),
        _question(f"What did {hero.name} lose?", f"{hero.her} {thing}"),
    ]


def shared_food(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    food = rng.choice(FOODS)
    return [
        f"One day, {hero.name} had a lot of {food}.",
        f"In the {place}, {hero.she} met {a(rng.choice(ADJECTIVES))} {friend.noun} "
        f"named {friend.name}.",
        rng.choice(
            (
                f"{friend.name} was hungry and had nothing to eat.",
                f'"I am so hungry," said {friend.name}.',
            )
        ),
        f"{hero.name} thought about it for a moment.",
        f'"Let us eat the {food} together," said {hero.name}.',
        f"They ate all the {food} and laughed.",
        _question("What did they eat?", food),
    ]


def rainy_game(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    game = rng.choice(GAMES)
    return [
        f"One day, {hero.name} wanted to play in the {place}.",
        rng.choice(("But soon it started to rain.", "But the sky was grey and it was cold.")),
        f'"Oh no," said {hero.name}. "What can I do now?"',
        f"{hero.her.capitalize()} friend {friend.name} had a good idea.",
        f'"Let us {game}!" said {friend.name}.',
        f"So {hero.name} and {friend.name} began to {game}.",
        rng.choice(
            ("They played until the sun came out again.", "They had a lot of fun all day long.")
        ),
        _question("Who had a good idea?", friend.name),
    ]


def feeling(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    thing, felt = rng.choice(THINGS), rng.choice(FEELINGS)
    return [
        f"Every day, {hero.name} went to the {place}.",
        f"One day, {hero.she} saw {a(friend.noun)} under a tree.",
        f'"Who are you?" asked {hero.name}. "I am {friend.name}," said the {friend.noun}.',
        f'"Why are you so {felt}?" asked {hero.name}.',
        f'"I have a new {thing}," said {friend.name}.'
        if felt in {"happy", "proud", "excited", "calm"}
        else f'"I broke my {thing}," said {friend.name}.',
        f"{hero.name} sat down and listened to {friend.object}.",
        _question(f"What did {friend.name} talk about?", f"a {thing}"),
    ]


def present(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    thing = rng.choice(THINGS)
    return [
        f"It was the birthday of {hero.name}.",
        f"All the friends came to the {place} and sang a song.",
        f"{friend.name}, {a(friend.noun)}, came last and had {a(thing)} for {hero.object}.",
        rng.choice(
            (
                f'"This {thing} is for you," said {friend.name}.',
                f'"Happy birthday, {hero.name}!" said {friend.name}.',
            )
        ),
        f"{hero.name} opened {hero.her} eyes wide and smiled.",
        rng.choice(
            (
                f'"I always wanted {a(thing)}," said {hero.name}.',
                f'"This is the best {thing} in the world," said {hero.name}.',
            )
        ),
        _question(f"What did {friend.name} bring?", a(thing)),
    ]


def race(rng: Random, hero: Character, friend: Character, place: str) -> list[str]:
    winner = rng.choice((hero, friend))
    loser = friend if winner is hero else hero
    return [
        f"One day, {a(friend.noun)} named {friend.name} came to the {place}.",
        f'"I am faster than you," said {friend.name}.',
        f'"Let us see," said {hero.name}. "We run from the tree to the bridge."',
        rng.choice(("They ran as fast as they could.", "One, two, three, go! They ran and ran.")),
        f"{winner.name} was faster and won the race.",
        rng.choice(
            (
                f'"Well done, {winner.name}," said {loser.name}.',
                f"{loser.name} was tired but not sad.",
            )
        ),
        _question("Who won the race?", winner.name),
    ]


def ending(rng: Random, hero: Character, friend: Character) -> str:
    return rng.choice(
        (
            f"From that day on, {hero.name} and {friend.name} were best friends.",
            f"{hero.name} and {friend.name} became good friends.",
            f"In the evening, {hero.name} told {hero.her} mother about {friend.name}.",
            "They lived happily ever after.",
            f"{hero.name} was very happy and slept well that night.",
        )
    )


def story(rng: Random) -> Document:
    """One story, at times with a question about it at the end."""
    hero = character(rng)
    friend = character(rng, hero.name)
    place = rng.choice(PLACES)
    plot = rng.choice((lost_thing, shared_food, rainy_game, feeling, present, race))
    *middle, question = plot(rng, hero, friend, place)
    sentences = [opening(rng, hero, place), *middle, ending(rng, hero, friend)]
    text = " ".join(sentences)
    return Document(text + question if rng.random() < 0.3 else text)


def _question(question: str, answer: str) -> str:
    return f"\nQuestion: {question} Answer: {answer}."
