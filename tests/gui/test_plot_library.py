"""The pieces of pyqtgraph's import, in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import PySide6.QtWidgets
import logitscope.gui.main_window
from logitscope.gui import plot_library
assert "pyqtgraph" not in sys.modules, "the window itself must not import it"
for piece in plot_library.pieces():
    piece()
lacking = {
    name: sorted(set(dir(module)) - set(vars(module)))
    for name, module in sys.modules.items() if name.startswith("PySide6.Qt")
}
before = set(sys.modules)
import pyqtgraph
new = sorted(name for name in set(sys.modules) - before if not name.startswith("pyqtgraph"))
print(json.dumps([lacking, new, list(plot_library.pieces())]))
"""


def test_behind_the_pieces_the_import_runs_nothing_but_its_own_code() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lacking, new, again = json.loads(run.stdout)
    assert {name: names for name, names in lacking.items() if names} == {}
    assert new == []
    assert again == [], "there is nothing to do twice"
