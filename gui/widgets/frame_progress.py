"""Progress bars that are painted with everything else."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar


def show_progress(bar: QProgressBar, done: int, total: int) -> None:
    """Show ``done`` of ``total`` (0 is taken for 1) at the next painting of the window.

    Left to itself the bar paints at once, and with it all of the window that waits for it.
    """
    most = max(1, total)
    if (bar.value(), bar.maximum()) == (done, most):
        return
    bar.setUpdatesEnabled(False)
    bar.setRange(0, most)
    bar.setValue(done)
    bar.setUpdatesEnabled(True)
