"""Units of information: everything is kept in nats, and bits are shown beside them."""

from __future__ import annotations

import math

NATS_PER_BIT = math.log(2.0)


def bits(nats: float) -> float:
    """Nats as bits: one bit is ln 2 = 0.693 nats."""
    return nats / NATS_PER_BIT
