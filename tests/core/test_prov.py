"""The evaluation's data are what they are said to be, and its figures what the books say."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from origin_model import WrittenModel
from prov_cases import Maker, is_kept, read_cases
from prov_metrics import area, best_threshold, f1, interval, macro_f1
from prov_report import report_lines


def test_the_data_are_120_cases_of_six_kinds() -> None:
    cases = read_cases()
    assert len({case.record["id"] for case in cases}) == 120
    kinds = Counter(case.kind for case in cases)
    assert kinds.pop("both") + kinds.pop("twice") == 20
    assert kinds == dict.fromkeys(["copied", "against", "derived", "weights", "chance"], 20)
    sizes = {len(case.record["sentences"]) for case in cases}
    assert (min(sizes), max(sizes)) == (3, 15)


def test_the_deciding_sentence_stands_anywhere() -> None:
    for kind in ("copied", "against", "derived", "chance"):
        cases = [case for case in read_cases() if case.kind == kind]
        relative = [case.record["key"][0] / (len(case.record["sentences"]) - 1) for case in cases]
        assert min(relative) == 0.0
        assert max(relative) == 1.0


def test_swaps_change_what_they_are_said_to_change() -> None:
    for case in read_cases():
        assert len(case.record["swaps"]) >= 2
        documents = [case.document(), *(document for document, _ in case.swapped())]
        assert len(set(documents)) == len(documents)
        assert "{}" not in "".join(documents)
        word = case.answer.strip().casefold()
        others = [s for i, s in enumerate(case.sentences()) if i not in case.record["key"]]
        assert word not in " ".join(others).casefold().replace(".", " ").split()


def test_kept_are_cases_that_the_model_treats_as_their_label_says() -> None:
    copied = next(case for case in read_cases() if case.kind == "copied")

    def follows(text: str) -> dict[str, float]:
        said = [word for word in (" marmot", " walnut", " copper") if word in text]
        return {said[0]: 0.5} if said else {}

    words = (" marmot", " walnut", " copper")
    follower = WrittenModel(words, follows)
    assert is_kept(follower, Maker(follower), copied)
    stubborn = WrittenModel(words, lambda _text: {" marmot": 0.5})
    assert not is_kept(stubborn, Maker(stubborn), copied)


def test_f1_and_its_mean() -> None:
    gold = ["copied", "copied", "derived", "weights", "weights"]
    said = ["copied", "derived", "derived", "weights", "copied"]
    # copied: tp 1, fp 1, fn 1; derived: tp 1, fp 1; weights: tp 1, fn 1.
    found = [f1(gold, said, label) for label in ("copied", "derived", "weights")]
    assert found == pytest.approx([1 / 2, 2 / 3, 2 / 3])
    assert macro_f1(gold, said) == pytest.approx(11 / 18)
    assert f1([], [], "copied") == 0.0


def test_area_is_the_share_of_pairs_in_order() -> None:
    assert area([3.0, 2.0], [1.0, 2.0]) == pytest.approx(3.5 / 4)
    assert math.isnan(area([], [1.0]))


def test_the_best_threshold_divides_best() -> None:
    scores, right = [0.1, 0.2, 0.8, 0.9], [False, False, True, True]

    def hits(limit: float) -> float:
        return sum((score > limit) == good for score, good in zip(scores, right, strict=True))

    assert best_threshold(scores, hits) == pytest.approx(0.5)


def test_the_interval_of_a_sure_thing_is_a_point() -> None:
    assert interval(20, lambda places: float(len(places)), rounds=50) == (20.0, 20.0)


def test_the_table_says_what_was_measured() -> None:
    shared = {
        "model": "m", "kept": True, "delta_drop": 3.0, "flip": True, "random": "copied",
        "kl": 2.0, "jsd": 0.3, "redundant": False, "span_right": True, "word_right": True,
    }  # fmt: skip
    copied = {"kind": "copied", "gold": "copied", "label": "copied", "decision": "copied"}
    weights = {"kind": "weights", "gold": "weights", "label": "uncertain", "decision": "weights"}
    low = {"delta_low": 0.1, "delta_drop": 0.1, "kl": 0.1, "jsd": 0.01, "flip": False}
    records = [
        {**shared, **copied, "occurs": True, "delta_low": 3.0},
        {**shared, **weights, **low, "occurs": False},
        {"model": "m", "kept": False, "kind": "weights", "gold": "weights"},
    ]
    lines = list(report_lines(records))
    assert lines[0] == "Model: m. 3 cases, 2 kept."
    assert "| weights | weights | 2 | 1 | 50% | uncertain 1 |" in lines
    # Uncertain counted as wrong: F1 of copied is 1, that of weights is 0.
    (strict,) = (line for line in lines if line.startswith("| origin, uncertain"))
    assert strict.split("|")[2].strip() == "0.500"
    assert "| macro-F1 | 1.000 | at least 0.90 |" in lines
    assert "| top span right | 1/1 (100.0%) | at least 95% |" in lines
    assert "| accuracy where not uncertain | 1/1 (100.0%) | |" in lines
    assert "| coverage (not uncertain) | 1/2 (50.0%) | |" in lines
