"""How numbers are written on screen: one way for all panels, no locale's digits.

Figures a person compares keep their number of digits, so that columns line up.
"""

from __future__ import annotations

import math

SMALL = 1e-4
"""Below this a probability is written with an exponent: more zeros than that are not read."""
UNKNOWN = "–"


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


def times(value: float) -> str:
    """A factor: ``7.389×``, ``43,390×``, ``1.234e+09×``."""
    if math.isinf(value):
        return "∞×"
    if 1e3 <= value < 1e6:
        return f"{value:,.0f}×"
    return f"{value:#.4g}×" if SMALL <= value < 1e6 else f"{value:.3e}×"
