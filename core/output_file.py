"""Whether a file can be written, asked before the work whose result goes into it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def check_writable(path: Path) -> None:
    """Raises OSError where ``path`` could not be written now; leaves and changes nothing.

    Pipes and devices are not tried: opening a pipe waits for its reader.
    """
    # A link to a file that is not there yet is written through, too.
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if place.is_file():
        place.open("r+b").close()
    elif not place.exists():
        place.open("xb").close()
        place.unlink()
