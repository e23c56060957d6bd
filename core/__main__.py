"""``python -m logitscope``.

Imports nothing by itself: the model process imports this module again when it starts.
"""

from __future__ import annotations

import sys


def main() -> int:
    """The entry point of the installed command. Returns the exit code."""
    from logitscope.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
