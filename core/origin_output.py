"""An origin report for terminals and scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from logitscope.columns import aligned
from logitscope.display import hex_of, label_of_bytes
from logitscope.origin_sources import listed_spans
from logitscope.origin_totals import totals
from logitscope.origin_types import (
    Condition,
    Expected,
    OriginReport,
    Range,
    SourceEvidence,
    WordOrigin,
)
from logitscope.token_text import run_record, token_record
from logitscope.units import bits
from logitscope.vocabulary import Vocabulary

_LONGEST = 40
"""Characters of a span in the table."""


def report_lines(report: OriginReport, vocabulary: Vocabulary) -> Iterator[str]:
    """A table of the words, their totals, and what swaps gave."""
    titles = ("no.", "word", "label", "share", "delta (nats)", "top source", "its word", "flags")
    rows = [
        (str(number), *_row(report, word, vocabulary))
        for number, word in enumerate(report.words, 1)
    ]
    yield from aligned([titles, *rows], left={1, 2, 5, 6, 7})
    yield ""
    for each in totals(report):
        words = "word" if each.words == 1 else "words"
        yield (
            f"{each.label}: {each.words} {words}, {each.bits:.1f} bits, "
            f"{each.saved_bits:.1f} bits saved by the sources"
        )
    for number, word in enumerate(report.words, 1):
        for swap in word.swaps:
            verdict = "followed" if swap.follows else "not followed"
            yield (
                f"swap for word {number}, {word.text!r}: with {swap.replacement!r} instead of "
                f"{swap.original!r} the model says {swap.says!r} ({verdict})"
            )


def report_record(report: OriginReport, vocabulary: Vocabulary) -> dict[str, Any]:
    """All of a report as plain values: nats, and token indices as [start, stop]."""
    case = report.case
    spans = [
        {"tokens": list(span), **run_record(vocabulary, case.prompt_ids[slice(*span)])}
        for span in case.sources
    ]
    answer = vocabulary.text_bytes(case.answer_ids)
    return {
        "threshold": report.threshold,
        "prompt_ids": list(case.prompt_ids),
        "answer_ids": list(case.answer_ids),
        "answer": answer.decode(errors="replace"),
        "answer_bytes": hex_of(answer),
        "spans": spans,
        "words": [_word_record(report, word, vocabulary) for word in report.words],
        "totals": [
            {
                "label": str(each.label),
                "words": each.words,
                "bits": each.bits,
                "saved_bits": each.saved_bits,
            }
            for each in totals(report)
        ],
    }


def _row(report: OriginReport, word: WordOrigin, vocabulary: Vocabulary) -> tuple[str, ...]:
    low, high = word.deltas
    top = next(iter(listed_spans(word)), None)
    return (
        _shown(word.text),
        str(word.label),
        f"{word.share:.0%}",
        f"{low:+.2f} … {high:+.2f}",
        "" if top is None else _span_name(report, top, vocabulary),
        "" if top is None or top.word is None else _shown(_of(report, top.word, vocabulary)),
        " ".join(sorted(word.flags)),
    )


def _span_name(report: OriginReport, top: SourceEvidence, vocabulary: Vocabulary) -> str:
    text = _of(report, report.case.sources[top.span], vocabulary).strip()
    text = " ".join(text.split())
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f"{top.span + 1}: {short}"


def _word_record(report: OriginReport, word: WordOrigin, vocabulary: Vocabulary) -> dict[str, Any]:
    low, high = word.deltas
    return {
        **run_record(vocabulary, report.case.answer_ids[slice(*word.tokens)]),
        "tokens": list(word.tokens),
        "label": str(word.label),
        "flags": sorted(word.flags),
        "share": word.share,
        "delta": [low, high],
        "log_probability": {str(k): v for k, v in word.log_probability.items()},
        "cost_bits": bits(-word.log_probability[Condition.WITH]),
        "expected": {str(e.condition): _expected(e, vocabulary) for e in word.expected},
        "sources": _evidence(report, word, vocabulary),
        "listed": [each.span for each in listed_spans(word)],
        "copied_from": None if word.copied_from is None else list(word.copied_from),
        "swaps": [
            {
                "tokens": list(swap.place),
                "original": swap.original,
                "replacement": swap.replacement,
                "says": swap.says,
                "follows": swap.follows,
            }
            for swap in word.swaps
        ],
        "leans": None
        if word.leans is None
        else [{"word": each.word, "need": each.need} for each in word.leans],
    }


def _evidence(
    report: OriginReport, word: WordOrigin, vocabulary: Vocabulary
) -> list[dict[str, Any]] | None:
    if word.sources is None:
        return None
    return [
        {
            "span": each.span,
            "need": each.need,
            "hold": each.hold,
            "evidence": each.evidence,
            "word_tokens": None if each.word is None else list(each.word),
            "word": None
            if each.word is None
            else run_record(vocabulary, report.case.prompt_ids[slice(*each.word)])["text"],
            "word_need": each.word_need,
        }
        for each in word.sources
    ]


def _expected(each: Expected, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    return [
        {**token_record(vocabulary, i), "log_probability": log}
        for i, log in zip(each.ids, each.log_probabilities, strict=True)
    ]


def _of(report: OriginReport, tokens: Range, vocabulary: Vocabulary) -> str:
    return _text(report.case.prompt_ids, tokens, vocabulary)


def _text(ids: Sequence[int], tokens: Range, vocabulary: Vocabulary) -> str:
    return vocabulary.text_bytes(ids[slice(*tokens)]).decode(errors="replace")


def _shown(text: str) -> str:
    return label_of_bytes(text.encode())
