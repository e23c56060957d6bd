"""Progress bars that are painted with everything else."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar


def show_progress(bar: QProgressBar, done: int, total: int) -> None:
    """Show ``done`` of ``total``, the latter at least 1, at the next painting of the window.

    Left to itself the bar paints at once, and with it all of the window that waits for it.
    """
    if (bar.value(), bar.maximum()) == (done, max(1, total)):
        return
    bar.setUpdatesEnabled(False)
    bar.setRange(0, max(1, total))
    bar.setValue(done)
    bar.setUpdatesEnabled(True)
