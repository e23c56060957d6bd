"""Numbers and tints of the comparison panel."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from logitscope import heat
from logitscope.alignment import NO_RANGE, Integers, Vector
from logitscope.gui.comparing import Compared
from logitscope.gui.export import Cell, Table
from logitscope.gui.widgets.heat_view import UNKNOWN
from logitscope.heat import Measure, Scale

_STEPS = 255
TITLES = (
    "left_byte", "right_byte", "left_bytes", "right_bytes", "text", "left_nats", "right_nats",
    "difference_nats", "difference_nats_per_byte", "kl_nats",
)  # fmt: skip


class Difference(StrEnum):
    """What the colour stands for."""

    PER_BYTE = "per_byte"
    """left − right loss of a range, by its bytes."""
    PER_RANGE = "per_range"
    """left − right loss of a range."""
    DIVERGENCE = "divergence"
    """KL(left || right) of the whole distributions before a token."""

    @property
    def is_two_sided(self) -> bool:
        return self is not Difference.DIVERGENCE

    @property
    def unit(self) -> str:
        return "nats per byte" if self is Difference.PER_BYTE else "nats"

    @property
    def like(self) -> Measure:
        """The measure whose scale has the same shape."""
        return Measure.SURPRISE if self.is_two_sided else Measure.LOSS


_FIXED = {
    # A token of five bytes that one model finds 150 times likelier than the other.
    Difference.PER_BYTE: Scale(-1.0, 1.0),
    Difference.PER_RANGE: Scale(-5.0, 5.0),
    Difference.DIVERGENCE: Scale(0.0, 1.0),
}


def scale_of(difference: Difference, values: Vector, *, is_fitted: bool) -> Scale:
    """The same for every text, or fitted to these values."""
    if is_fitted and np.isfinite(values).any():
        return heat.fitted_scale(difference.like, values)
    return _FIXED[difference]


def tints(
    difference: Difference, values: Vector, scale: Scale
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Codes (-1 = unknown) and weights of the second mark, both (n,)."""
    place = heat.places(values, scale)
    codes = np.where(np.isnan(place), UNKNOWN, np.round(place * _STEPS))
    return codes.astype(np.int16), heat.mark_weights(difference.like, place)


def first_tokens(of: Integers, count: int) -> Integers:
    """(count,) the first token of each range; -1 where the side has none."""
    first = np.full(count, NO_RANGE, dtype=np.int64)
    inside = np.flatnonzero(of != NO_RANGE)[::-1]
    first[of[inside]] = inside
    return first


def divergences(compared: Compared, by_position: Vector) -> Vector:
    """(ranges,) the divergence before the first token of each; NaN = unknown."""
    count = len(compared.pairing)
    found = np.full(count, np.nan)
    first = first_tokens(compared.pairing.left_range, count)
    known = (first >= 0) & (first < len(by_position))
    if compared.same_ids:
        found[known] = by_position[first[known]]
    return found


def range_values(difference: Difference, compared: Compared, by_position: Vector) -> Vector:
    """(ranges,) of what is shown."""
    match difference:
        case Difference.PER_BYTE:
            return compared.differences.per_byte
        case Difference.PER_RANGE:
            return compared.differences.nats
        case Difference.DIVERGENCE:
            return divergences(compared, by_position)


def range_bytes(compared: Compared, place: int) -> bytes:
    """The bytes of a range: the left ones, or the right ones where there are none."""
    pairing = compared.pairing
    start, size = int(pairing.left_start[place]), int(pairing.left_bytes[place])
    if size:
        return compared.left.text[start : start + size]
    start, size = int(pairing.right_start[place]), int(pairing.right_bytes[place])
    return compared.right.text[start : start + size]


def export_table(compared: Compared, by_position: Vector) -> Table:
    """One row a range, exact values; None = unknown or not on this side."""
    pairing, found = compared.pairing, compared.differences
    columns = (found.left, found.right, found.nats, found.per_byte,
               divergences(compared, by_position))  # fmt: skip
    rows = tuple(
        (
            int(pairing.left_start[place]),
            int(pairing.right_start[place]),
            int(pairing.left_bytes[place]),
            int(pairing.right_bytes[place]),
            range_bytes(compared, place).decode("utf-8", errors="backslashreplace"),
            *(_cell(float(column[place])) for column in columns),
        )
        for place in range(len(pairing))
    )
    return Table("ranges", TITLES, rows)


def _cell(value: float) -> Cell:
    return None if np.isnan(value) else value
