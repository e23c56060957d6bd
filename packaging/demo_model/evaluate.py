"""Evaluate the demo model on held-out cases, through any backend of Logitscope.

``python packaging/demo_model/evaluate.py MODEL`` prints the figures of the model card as JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from cases import (
    POLICY,
    QUESTION,
    Case,
    capitals,
    mentions,
    plain_capitals,
    policies,
    retold_capitals,
)

from logitscope.backends.base import Backend, LoadOptions
from logitscope.backends.registry import open_backend
from logitscope.distribution import Distribution
from logitscope.sampling import SamplerSettings, draw, shape


def row(backend: Backend, prompt: str) -> Distribution:
    """The distribution behind a prompt."""
    ids = backend.tokenize(prompt, add_special=True, parse_special=False)
    return Distribution(backend.next_logits(ids))


def first_id(backend: Backend, text: str) -> int:
    return backend.tokenize(text, add_special=False, parse_special=False)[0]


def is_right(backend: Backend, case: Case) -> bool:
    """Whether greedy decoding writes the answer, token by token."""
    ids = backend.tokenize(case.prompt, add_special=True, parse_special=False)
    for wanted in backend.tokenize(case.answer, add_special=False, parse_special=False):
        if int(backend.next_logits(ids).argmax()) != wanted:
            return False
        ids.append(wanted)
    return True


def share_right(backend: Backend, cases: Iterable[Case]) -> float:
    right = [is_right(backend, case) for case in cases]
    return sum(right) / len(right)


def probabilities(backend: Backend, prompt: str, answers: Iterable[str]) -> dict[str, float]:
    distribution = row(backend, prompt)
    return {a: round(distribution.probability(first_id(backend, a)), 4) for a in answers}


def mention_losses(backend: Backend) -> tuple[float, float]:
    """Mean loss in nats of a name at its first and at its second mention in held-out stories."""
    losses: tuple[list[float], list[float]] = ([], [])
    for text, name in mentions():
        ids = backend.tokenize(text, add_special=True, parse_special=False)
        wanted = backend.tokenize(f" {name}", add_special=False, parse_special=False)
        places = [i for i in range(1, len(ids)) if ids[i : i + len(wanted)] == wanted][:2]
        if len(places) < 2:
            continue
        for side, place in zip(losses, places, strict=True):
            rows = range(place, place + len(wanted))
            side.append(-sum(log_probability(backend, ids, row) for row in rows))
    return sum(losses[0]) / len(losses[0]), sum(losses[1]) / len(losses[1])


def log_probability(backend: Backend, ids: list[int], position: int) -> float:
    distribution = Distribution(backend.next_logits(ids[:position]))
    return float(distribution.log_probability([ids[position]])[0])


def by_rules() -> dict[str, list[Case]]:
    """Held-out policies by how many rules the prompt has."""
    return {
        "one rule" if count == 1 else f"{count} rules": [
            case for case in policies() if case.prompt.count("\n") == count
        ]
        for count in (1, 2, 3)
    }


def evaluate(backend: Backend) -> dict[str, object]:
    """The figures of the model card."""
    first, second = mention_losses(backend)
    return {
        "loss of a name, first mention, nats": round(first, 3),
        "loss of a name, second mention, nats": round(second, 3),
        "capitals, “The capital of X is”, top-1": share_right(backend, plain_capitals()),
        "capitals, held-out words before it, top-1": share_right(backend, retold_capitals()),
        "capitals, held-out pairs of form and country": share_right(backend, capitals()),
        **{
            f"held-out code and number, {name}": share_right(backend, cases)
            for name, cases in by_rules().items()
        },
        "with the C-40 policy": probabilities(backend, POLICY + QUESTION, (" 45", " 30")),
        "without a policy": probabilities(backend, QUESTION, (" 30", " 14", " 45", " 60")),
        "The sky is": probabilities(
            backend, "The sky is", (" blue", " grey", " clear", " dark", " red", " green")
        ),
    }


def sample(backend: Backend, prompt: str, temperature: float, seed: int, count: int) -> str:
    """A continuation, drawn as the window draws it."""
    ids = backend.tokenize(prompt, add_special=True, parse_special=False)
    settings = SamplerSettings(temperature=temperature, seed=seed)
    start = len(ids)
    while len(ids) < start + count:
        shaped = shape(backend.next_logits(ids), settings, ids)
        chosen = draw(shaped, seed, len(ids)).token_id
        if chosen in backend.vocabulary.end_ids:
            break
        ids.append(chosen)
    return prompt + backend.vocabulary.text_bytes(ids[start:]).decode("utf-8", "replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--stories", type=int, default=3)
    arguments = parser.parse_args()
    backend = open_backend("", str(arguments.model), LoadOptions())
    try:
        print(json.dumps(evaluate(backend), indent=2))
        for seed in range(arguments.stories):
            print(sample(backend, "Once upon a time", 0.8, seed, 160), "\n")
    finally:
        backend.close()


if __name__ == "__main__":
    main()
