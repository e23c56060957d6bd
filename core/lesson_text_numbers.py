"""Live numbers of the text, its steps and what they cost, for lessons: see ``lesson_numbers``."""

from __future__ import annotations

import math

import numpy as np

from logitscope.diagnosis import LONG_SHOT, diagnose
from logitscope.display import token_label
from logitscope.lesson_moment import Moment
from logitscope.lesson_row_numbers import Value, choices
from logitscope.steps import Origin, StepRecord

# -- the text -----------------------------------------------------------------------------------


def tokens(now: Moment) -> Value:
    """Tokens of prompt and path."""
    return len(now.ids)


def generated_tokens(now: Moment) -> Value:
    return len(now.path)


def generated(now: Moment) -> Value:
    """The generated text, its first 80 characters."""
    text = " ".join(now.generated.split())
    return text if len(text) <= 80 else text[:79] + "…"


def said_probability(now: Moment) -> Value:
    """Raw probability of the generated text: the product over the tokens that are in the text.

    A special token, such as that of the end, is no part of what is quoted.
    """
    words = now.vocabulary
    said = [s for s in now.path if words is None or not words.is_special(s.token_id)]
    if not said:
        return None
    return math.exp(sum(step.log_probability for step in said))


def selected_token(now: Moment) -> Value:
    """The selected token."""
    if now.follows_end or now.vocabulary is None or now.position >= len(now.ids):
        return None
    return token_label(now.vocabulary, now.ids[now.position])


def selected_probability(now: Moment) -> Value:
    """Raw probability of the selected token."""
    if now.follows_end or now.distribution is None or now.position >= len(now.ids):
        return None
    return now.distribution.probability(now.ids[now.position])


def selected_loss(now: Moment) -> Value:
    """Loss of the selected token, nats."""
    chance = selected_probability(now)
    return None if not isinstance(chance, float) or chance <= 0 else -math.log(chance)


def selected_reason(now: Moment) -> Value:
    """Why the selected token of the path came out: a sentence."""
    place = now.position - len(now.state.prompt_ids)
    if now.follows_end or not 0 <= place < len(now.path):
        return None
    return diagnose(now.path[place], now.settings).sentence


def selected_choices(now: Moment) -> Value:
    """exp(entropy) where the selected token was chosen."""
    return None if now.follows_end else choices(now)


def mean_loss(now: Moment) -> Value:
    """Mean loss of the text on screen, nats a token."""
    known = _known_losses(now)
    return None if known is None else float(known.mean())


def perplexity(now: Moment) -> Value:
    """exp(mean loss) of the text on screen."""
    known = _known_losses(now)
    return None if known is None else math.exp(float(known.mean()))


def largest_loss(now: Moment) -> Value:
    """Nats."""
    known = _known_losses(now)
    return None if known is None else float(known.max())


def largest_token(now: Moment) -> Value:
    """The token of the largest loss."""
    if _known_losses(now) is None or now.losses is None or now.vocabulary is None:
        return None
    return token_label(now.vocabulary, now.ids[int(np.nanargmax(now.losses))])


def largest_share(now: Moment) -> Value:
    """Share of the largest loss in the sum of all."""
    known = _known_losses(now)
    if known is None or known.sum() <= 0:
        return None
    return float(known.max() / known.sum())


def loss_ratio(now: Moment, start: Moment) -> Value:
    """Mean loss now, over that at the beginning of the step."""
    before, after = mean_loss(start), mean_loss(now)
    if not isinstance(before, float) or not isinstance(after, float) or before <= 0:
        return None
    return after / before


# -- steps --------------------------------------------------------------------------------------


def step_token(now: Moment) -> Value:
    """The last token of the path."""
    if not now.path or now.vocabulary is None:
        return None
    return token_label(now.vocabulary, now.path[-1].token_id)


def step_rank(now: Moment) -> Value:
    """Raw rank of the last token of the path."""
    return now.path[-1].rank if now.path else None


def step_probability(now: Moment) -> Value:
    """Raw probability of the last token of the path."""
    return math.exp(now.path[-1].log_probability) if now.path else None


def step_u(now: Moment) -> Value:
    """The random number of the last step."""
    return _draw(now, "u")


def step_low(now: Moment) -> Value:
    """Where the interval of the last step's token begins."""
    return _draw(now, "low")


def step_high(now: Moment) -> Value:
    """Where the interval of the last step's token ends."""
    return _draw(now, "high")


def likeliest_share(now: Moment) -> Value:
    """Share of the path's drawn tokens that were the model's likeliest."""
    drawn = _sampled(now)
    return sum(step.rank == 1 for step in drawn) / len(drawn) if drawn else None


def long_shots(now: Moment) -> Value:
    """Share of the path's drawn tokens below a raw probability of 5 %."""
    drawn = _sampled(now)
    return _below(drawn) / len(drawn) if drawn else None


# -- what it costs ------------------------------------------------------------------------------


def prefill_tokens(now: Moment) -> Value:
    """Tokens a prefill pass read, on the average."""
    of = now.passes.prefill
    return of.evaluated / of.passes if of.passes else None


def last_evaluated(now: Moment) -> Value:
    """Tokens that went through the model in the last pass."""
    return None if now.passes.last is None else now.passes.last.evaluated


def last_cached(now: Moment) -> Value:
    """Tokens whose keys and values the last pass took from the cache."""
    return None if now.passes.last is None else now.passes.last.cached


def decode_passes(now: Moment, start: Moment) -> Value:
    """Decode passes since the step began."""
    return max(now.passes.decode.passes - start.passes.decode.passes, 0)


def decode_ratio(now: Moment) -> Value:
    """Time a token of a decode over that of a prefill."""
    decode, prefill = now.passes.decode.seconds_per_token, now.passes.prefill.seconds_per_token
    return decode / prefill if decode is not None and prefill else None


def weight_bytes(now: Moment) -> Value:
    return None if now.model is None else now.model.weight_bytes


def kv_bytes(now: Moment) -> Value:
    """Keys and values of the text on screen."""
    return None if now.model is None else now.model.kv_bytes_per_token * len(now.ids)


def kv_bytes_per_token(now: Moment) -> Value:
    return None if now.model is None else now.model.kv_bytes_per_token


def weights_ratio(now: Moment) -> Value:
    """Bytes of the weights over those of the text's keys and values."""
    mine = kv_bytes(now)
    if now.model is None or not isinstance(mine, float | int) or mine <= 0:
        return None
    return now.model.weight_bytes / mine


def origin_words(now: Moment, *, labels: str) -> Value:
    """Words of the answer that have one of these labels, separated by spaces."""
    if now.origin is None:
        return None
    return sum(now.origin.words.get(label, 0) for label in labels.split())


# -- parts --------------------------------------------------------------------------------------


def _known_losses(now: Moment) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Those of all tokens but the first; None while one is missing, or they are another text's."""
    if now.losses is None or len(now.losses) < 2 or len(now.losses) != len(now.ids):
        return None
    if np.isnan(now.losses[1:]).any():
        return None
    known: np.ndarray[tuple[int], np.dtype[np.float64]] = now.losses[1:]
    return known


def _draw(now: Moment, name: str) -> Value:
    draw = now.path[-1].draw if now.path else None
    return None if draw is None else float(getattr(draw, name))


def _sampled(now: Moment) -> list[StepRecord]:
    return [step for step in now.path if step.origin is Origin.SAMPLED]


def _below(steps: list[StepRecord]) -> int:
    return sum(math.exp(step.log_probability) < LONG_SHOT for step in steps)
