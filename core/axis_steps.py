"""The numbers that stand beside an axis: round ones, and no more than there is room for."""

from __future__ import annotations

import math

CLEARANCE = 1.2
"""Lines from one number to the next: closer ones touch."""


def round_steps(top: float, lines: float) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 up to ``top``, which is above 0.

    ``lines`` is the length of the axis in lines of text. Where not even two numbers fit, 0 alone.
    """
    least = top * CLEARANCE / max(lines, 1.0)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least)
    return tuple(step * place for place in range(int(top / step) + 1))
