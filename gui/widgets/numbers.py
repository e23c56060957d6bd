"""How numbers are written on screen: one way for all panels, no locale's digits.

Figures a person compares keep their number of digits, so that columns line up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from logitscope.gui.words import mark, translated

SMALL = 1e-4
"""Below this a probability is written with an exponent: more zeros than that are not read."""
UNKNOWN = "–"
MOST_DECIMALS = 12


def probability(value: float | None) -> str:
    """Four significant digits; scientific below 1e-4; ``0`` only for exactly 0."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    return f"{value:.3e}" if value < SMALL else f"{value:#.4g}"


def percent(value: float) -> str:
    """A share in percent, for sentences: ``34.2 %``, ``1.2e-05 %``."""
    hundredfold = 100 * value
    if hundredfold == 0:
        return "0 %"
    if hundredfold < 0.01:
        return f"{hundredfold:.1e} %"
    return f"{hundredfold:.4g} %" if hundredfold < 10 else f"{hundredfold:.1f} %"


def logit(value: float) -> str:
    """Two decimals, and a real minus sign."""
    return signed(value, 2)


def signed(value: float, decimals: int) -> str:
    """A fixed number of decimals, a real minus sign, and ∞ for infinities."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{decimals}f}".replace("-", "−")


def count(value: int) -> str:
    """Thousands apart: ``262,144``."""
    return f"{value:,}"


def tokens(value: int) -> str:
    """``1 token``, ``262,144 tokens``."""
    words = mark("Numbers", "{n} token") if value == 1 else mark("Numbers", "{n} tokens")
    return translated("Numbers", words).format(n=count(value))


def times(value: float) -> str:
    """A factor: ``7.389×``, ``43,390×``, ``1.234e+09×``."""
    if math.isinf(value):
        return "∞×"
    if 1e3 <= value < 1e6:
        return f"{value:,.0f}×"
    return f"{value:#.4g}×" if SMALL <= value < 1e6 else f"{value:.3e}×"


def size(value: float) -> str:
    """Bytes in powers of 1000, three significant digits: ``248 MB``, ``18.4 kB``, ``20 B``."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= 0.9995 * factor:
            return f"{_three(value / factor)} {unit}"
    return f"{value:.0f} B"


def duration(seconds: float) -> str:
    """Three significant digits: ``0.412 ms``, ``15.2 ms``, ``1.24 s``, ``1,250 s``."""
    if seconds >= 0.9995:
        return f"{_three(seconds)} s"
    return f"{_three(1000 * seconds)} ms" if seconds > 0 else "0 ms"


def told_apart(values: Sequence[float], decimals: int) -> tuple[str, ...]:
    """All with so many decimals, or with as many more as it takes for different numbers to differ.

    At most 12 decimals, which tells the tokens of any vocabulary apart; numbers closer than that
    are written in full.
    """
    different = len(set(values))
    for digits in range(decimals, MOST_DECIMALS + 1):
        texts = tuple(f"{value:.{digits}f}" for value in values)
        if len(set(texts)) == different:
            return texts
    return tuple(map(repr, values))


def _three(value: float) -> str:
    """At least three digits, without an exponent for what is read on screen."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:#.3g}"
