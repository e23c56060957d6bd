"""The pieces of pyqtgraph's import, in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, os, sys
from importlib.util import cache_from_source
import PySide6.QtWidgets
import logitscope.gui.main_window
from logitscope.gui import plot_library
assert "pyqtgraph" not in sys.modules, "the window itself must not import it"
*pieces, last = plot_library.pieces()
for piece in pieces:
    piece()
lacking = {
    name: sorted(set(dir(module)) - set(vars(module)))
    for name, module in sys.modules.items() if name.startswith("PySide6.Qt")
}
before, finders, opened = set(sys.modules), list(sys.meta_path), []
sys.addaudithook(lambda event, values: event == "open" and opened.append(str(values[0])))
last()
compiled = (path if path.endswith(".pyc") else cache_from_source(path) for path in opened)
read = [path for path in compiled if "pyqtgraph" in path and os.path.exists(path)]
import pyqtgraph
assert pyqtgraph.PlotWidget.__module__ == "pyqtgraph.widgets.PlotWidget"
assert sys.meta_path == finders
new = sorted(name for name in set(sys.modules) - before if not name.startswith("pyqtgraph"))
print(json.dumps([lacking, new, read, list(plot_library.pieces())]))
"""


def test_behind_the_pieces_the_import_runs_nothing_but_its_own_code() -> None:
    run = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lacking, new, read, again = json.loads(run.stdout)
    assert {name: names for name, names in lacking.items() if names} == {}
    assert new == []
    assert read == [], "its files were read before"
    assert again == [], "there is nothing to do twice"
