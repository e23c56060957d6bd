"""The threshold of one model: how much an irrelevant text moves what the model knows anyway."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from logitscope.origin import TAU, labels
from logitscope.origin_types import OriginCase, OriginModel

_BESIDE_IT = (
    "The meeting room on the second floor has been painted again. Please bring your own mug.",
    "Our neighbour's bicycle has a new bell. It rings twice every morning.",
    "The recipe asks for flour, butter and a pinch of salt. Let the dough rest.",
    "A parcel arrived late on Thursday. It held three pairs of woollen socks.",
    "The choir practises in the old school hall. Visitors may sit at the back.",
    "Someone left an umbrella in the waiting room. It is green with a wooden handle.",
    "The printer needs paper again. There is a stack on the shelf below the window.",
    "Their garden has two apple trees and a pond. Frogs come back to it in March.",
    "The museum closes early this week. Tickets stay valid until summer.",
    "My cousin repairs watches in a small shop. Most of them are older than he is.",
    "The train was full, so we stood near the door. Nobody talked much.",
    "A kitten sleeps on the warm side of the stove. It ignores the dog.",
    "The library moved its maps to the cellar. The lamps there are too dim.",
    "Her letter was short and friendly. She promised to visit after the harvest.",
    "The lift stops between floors now and then. A mechanic will look at it.",
    "Each player draws five cards. The youngest begins.",
    "The shirts were folded and put into the drawer. Two buttons were missing.",
    "A new bakery opened near the bridge. Its rolls sell out before nine.",
    "The fence around the meadow leans to one side. Sheep get through it easily.",
    "They rehearsed the play until midnight. The curtain got stuck once.",
)
_KNOWN_ANYWAY = (
    (" The capital of France is", " Paris"),
    (" Two plus two is", " four"),
    (" The opposite of hot is", " cold"),
    (" The sun rises in the", " east"),
    (" A week has seven", " days"),
    (" Water freezes and turns into", " ice"),
    (" The first month of the year is", " January"),
    (" Bees make", " honey"),
    (" Snow is cold and", " white"),
    (" The largest planet is", " Jupiter"),
    (" Once upon a", " time"),
    (" Ladies and", " gentlemen"),
    (" Fish live in the", " water"),
    (" At night we can see the moon and the", " stars"),
    (" He opened the door and went", " in"),
    (" She was so tired that she fell", " asleep"),
    (" An hour has sixty", " minutes"),
    (" The king and the", " queen"),
    (" Grass is", " green"),
    (" Birds can", " fly"),
)
_LIMIT = 95
"""Percent of the words that stay below the threshold."""


def threshold(
    model: OriginModel, advance: Callable[[int, int], None] = lambda _done, _total: None
) -> float:
    """The least gain (nats) that makes a word depend on the prompt, for this model.

    Twenty prompts of our own with a source that has nothing to do with the answer are labelled; the
    threshold is ln 2, or the 95th percentile of their least gains where that is higher. ``advance``
    gets (prompts done, prompts in all). About 20 × 4 passes over 30 tokens: keep the result.
    """
    gains: list[float] = []
    for done, case in enumerate(cases := irrelevant_cases(model)):
        advance(done, len(cases))
        gains.extend(word.deltas[0] for word in labels(model, case).words)
    advance(len(cases), len(cases))
    return max(TAU, float(np.percentile(gains, _LIMIT)))


def irrelevant_cases(model: OriginModel) -> list[OriginCase]:
    """The twenty cases, with BOS in front if the model has one, else a line end."""
    bos = model.vocabulary.bos
    front = [bos] if bos is not None else model.tokenize("\n")
    made = []
    for beside, (asked, answer) in zip(_BESIDE_IT, _KNOWN_ANYWAY, strict=True):
        source = model.tokenize(beside)
        span = (len(front), len(front) + len(source))
        prompt = (*front, *source, *model.tokenize(asked))
        made.append(OriginCase(prompt, (span,), tuple(model.tokenize(answer))))
    return made
