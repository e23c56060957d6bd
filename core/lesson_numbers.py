"""The live numbers that lessons speak of: named functions of a moment.

A function returns None where the number is not known at that moment. Its keyword parameters are
what a lesson file may set; ``rank`` 1 is the likeliest token. Those with a second parameter
``start`` compare with the moment at which the step began.
"""

from __future__ import annotations

from collections.abc import Callable

from logitscope import lesson_row_numbers, lesson_text_numbers

Number = Callable[..., lesson_row_numbers.Value]

_ROW = (
    "vocabulary",
    "total",
    "token",
    "probability",
    "logit",
    "lowest_logit",
    "lead",
    "odds",
    "shifted",
    "softmax_total",
    "head",
    "tail",
    "holding",
    "entropy_bits",
    "choices",
    "at_temperature",
    "temperature",
    "shaped_probability",
    "kept",
)
_TEXT = (
    "tokens",
    "generated_tokens",
    "generated",
    "said_probability",
    "selected_token",
    "selected_probability",
    "selected_loss",
    "selected_reason",
    "selected_choices",
    "mean_loss",
    "perplexity",
    "largest_loss",
    "largest_token",
    "largest_share",
    "loss_ratio",
    "step_token",
    "step_rank",
    "step_probability",
    "step_u",
    "step_low",
    "step_high",
    "likeliest_share",
    "long_shots",
    "prefill_tokens",
    "last_evaluated",
    "last_cached",
    "decode_passes",
    "decode_ratio",
    "weight_bytes",
    "kv_bytes",
    "kv_bytes_per_token",
    "weights_ratio",
    "origin_words",
)

NUMBERS: dict[str, Number] = {
    **{name: getattr(lesson_row_numbers, name) for name in _ROW},
    **{name: getattr(lesson_text_numbers, name) for name in _TEXT},
}
"""Every number by the name that lesson files use."""
