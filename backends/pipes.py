"""The type of one end of a pipe between processes, which is another one on Windows."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as PipeEnd
else:
    from multiprocessing.connection import Connection as PipeEnd

__all__ = ["PipeEnd"]
