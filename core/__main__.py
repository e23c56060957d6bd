"""``python -m logitscope``.

Imports nothing by itself: the model process imports this module again when it starts.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """The entry point of the installed command. Returns the exit code."""
    try:
        from logitscope.interrupts import end_at_once

        end_at_once()
    except KeyboardInterrupt:
        return 130
    # Read when NumPy is first imported. The threads of its OpenBLAS spin for 10 ms after each
    # product of long vectors, on a core that the model needs; our products gain nothing by them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from logitscope.start import main as start

    return start()


if __name__ == "__main__":
    sys.exit(main())
