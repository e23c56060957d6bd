"""How soon a window is painted after the start of its process.

Program: ``main(kind, *model)``. ``ours`` is the command line's own way to the full window;
``bare`` the least that PySide6 and pyqtgraph need for a window with a plot. It says ``painted``,
the time after the first painting of everything that is in sight; ours then answers ``ready`` with
the time when the model's first row was shown. What either imports, and in which order, counts:
nothing else is imported here.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from answering import Answer


def main(kind: str, *model: str) -> None:
    if kind == "bare":
        show_bare()
    else:
        show_ours(*model)


def show_bare() -> None:
    import pyqtgraph as pg
    from paint_watch import FirstPaint, end
    from PySide6.QtWidgets import QApplication, QMainWindow

    application = QApplication([])
    window = QMainWindow()
    plot = pg.PlotWidget()
    plot.addItem(pg.BarGraphItem(x=range(20), height=range(20), width=0.8))
    window.setCentralWidget(plot)
    window.resize(1440, 900)
    window.show()
    watch = FirstPaint([plot.viewport()], lambda painted: end(painted, {}))
    application.exec()
    del watch


def show_ours(*model: str) -> None:
    # The command line imports the window last; only then can it be watched.
    from paint_watch import FirstPaint, end, wait_until

    import logitscope.start
    from logitscope.gui import app

    make_window = app.make_window
    kept: list[Any] = []

    def watched(*arguments: Any) -> Any:
        window = make_window(*arguments)
        session = window.session

        def ready() -> Answer:
            wait_until(
                lambda: session.is_ready and session.row_is_current,
                (session.model_changed, session.row_changed),
            )
            return {"ready": time.monotonic()}

        panels = [*window.panels.made.values(), window.model_bar]
        kept.append(FirstPaint(panels, lambda painted: end(painted, {"ready": ready})))
        return window

    app.make_window = watched
    sys.argv = ["logitscope", *model]
    logitscope.start.main()
