"""The results of Prov-120 as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prov_metrics import CLASSES, area, best_threshold, f1, interval, macro_f1

Record = dict[str, Any]

BAR, LEAD, SPAN_BAR = 0.90, 0.05, 0.95
_SCORES = {"KL": "kl", "Jensen-Shannon": "jsd", "attention mass": "attention"}


def report_lines(records: Sequence[Record]) -> Iterator[str]:
    """Markdown, from the measured cases of one model."""
    kept = [r for r in records if r["kept"]]
    yield f"Model: {records[0]['model']}. {len(records)} cases, {len(kept)} kept."
    yield ""
    yield from _kinds(records)
    plain = [r for r in kept if r["gold"] != "both"]
    gold = [r["gold"] for r in plain]
    if not plain:
        return
    yield ""
    yield from _methods(plain, gold)
    yield ""
    yield from _method_figures(kept, plain, gold)


def _kinds(records: Sequence[Record]) -> Iterator[str]:
    yield "| kind | gold | cases | kept | discarded | labels given |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    for kind in dict.fromkeys(r["kind"] for r in records):
        these = [r for r in records if r["kind"] == kind]
        kept = [r for r in these if r["kept"]]
        given = Counter(r["label"] for r in kept)
        said = ", ".join(f"{label} {count}" for label, count in given.most_common())
        lost = 1 - len(kept) / len(these)
        yield f"| {kind} | {these[0]['gold']} | {len(these)} | {len(kept)} | {lost:.0%} | {said} |"


def _methods(plain: Sequence[Record], gold: Sequence[str]) -> Iterator[str]:
    yield "| method | macro-F1 | 95 % | copied | derived | weights | AUROC |"
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for name, said, score in _decisions(plain, gold):
        low, high = interval(len(gold), _resampled(gold, said))
        singles = " | ".join(f"{f1(gold, said, label):.2f}" for label in CLASSES)
        curve = "" if score is None else f"{_area(plain, score):.3f}"
        mean = macro_f1(gold, said)
        yield f"| {name} | {mean:.3f} | {low:.2f}–{high:.2f} | {singles} | {curve} |"


def _decisions(
    plain: Sequence[Record], gold: Sequence[str]
) -> Iterator[tuple[str, list[str], str | None]]:
    yield "origin, every word decided", [r["decision"] for r in plain], "delta_low"
    yield "origin, uncertain counted as wrong", [r["label"] for r in plain], None
    yield "drop only (Δ > ln 2)", _split(plain, lambda r: r["delta_drop"] > 0.6931), "delta_drop"
    yield "top token flips", _split(plain, lambda r: r["flip"]), None
    for name, field in _SCORES.items():
        if all(field in r for r in plain):
            yield f"{name}, best threshold in hindsight", _best(plain, gold, field), field
    yield "verbatim", ["copied" if r["occurs"] else "weights" for r in plain], None
    yield "random", [r["random"] for r in plain], None


def _split(plain: Sequence[Record], of_prompt: Callable[[Record], bool]) -> list[str]:
    """Copied where the word occurs in the sources, else derived."""
    found = []
    for r in plain:
        prompt = "copied" if r["occurs"] else "derived"
        found.append(prompt if of_prompt(r) else "weights")
    return found


def _best(plain: Sequence[Record], gold: Sequence[str], field: str) -> list[str]:
    def said(limit: float) -> list[str]:
        return _split(plain, lambda r: r[field] > limit)

    limit = best_threshold([r[field] for r in plain], lambda t: macro_f1(gold, said(t)))
    return said(limit)


def _resampled(gold: Sequence[str], said: Sequence[str]) -> Callable[[list[int]], float]:
    return lambda places: macro_f1([gold[i] for i in places], [said[i] for i in places])


def _area(plain: Sequence[Record], field: str) -> float:
    positive = [r[field] for r in plain if r["gold"] != "weights"]
    return area(positive, [r[field] for r in plain if r["gold"] == "weights"])


def _method_figures(
    kept: Sequence[Record], plain: Sequence[Record], gold: Sequence[str]
) -> Iterator[str]:
    mean = macro_f1(gold, [r["decision"] for r in plain])
    certain = [r for r in plain if r["label"] != "uncertain"]
    right = sum(r["label"] == r["gold"] for r in certain)
    prompt = [r for r in plain if r["gold"] != "weights"]
    spans = sum(r["span_right"] for r in prompt)
    words = sum(r["word_right"] for r in prompt)
    twice = [r for r in kept if r["kind"] == "twice"]
    both = f1([r["gold"] for r in kept], [r["decision"] for r in kept], "both")
    rivals = {
        name.split(",")[0]: macro_f1(gold, said)
        for name, said, _ in _decisions(plain, gold)
        if name.startswith(("verbatim", "KL", "attention"))
    }
    lead = mean - max(rivals.values())
    yield "| figure | value | bar |"
    yield "| --- | ---: | --- |"
    yield f"| macro-F1 | {mean:.3f} | at least {BAR:.2f} |"
    yield f"| lead over {', '.join(rivals)} | {lead:.3f} | at least {LEAD:.2f} |"
    yield f"| top span right | {_part(spans, len(prompt))} | at least {SPAN_BAR:.0%} |"
    yield f"| source word right | {_part(words, len(prompt))} | |"
    yield f"| accuracy where not uncertain | {_part(right, len(certain))} | |"
    yield f"| coverage (not uncertain) | {_part(len(certain), len(plain))} | |"
    yield f"| F1 on both, all kept cases | {both:.2f} | |"
    yield f"| redundancy flagged | {_part(sum(r['redundant'] for r in twice), len(twice))} | |"


def _part(count: int, total: int) -> str:
    return f"{count}/{total} ({count / total:.1%})" if total else "–"
