"""Programs in processes of their own, asked one command at a time.

What is measured must not share a process with pytest, whose modules and plugins would count. A
program is a module of this folder whose ``main(*arguments)`` calls `serve`; commands and answers
are lines of JSON on its standard input and output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from answering import Answer

FOLDER = Path(__file__).parent
END_SECONDS = 10.0


class Program:
    """One running program; ``first`` is what it said by itself when it was ready."""

    def __init__(self, module: str, *arguments: object, home: Path) -> None:
        """``home`` takes everything that the program remembers; beside it lies the bytecode of all
        programs, which the first ones have to make."""
        # With -c there is no main module that a spawned model process would import again.
        code = f"import sys, {module}; {module}.main(*sys.argv[1:])"
        self._module = module
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(home),
        )
        self.first = self._read()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, **values: object) -> Answer:
        """Give a command and wait for its answer."""
        assert self._process.stdin is not None
        print(json.dumps({"command": command, **values}), file=self._process.stdin, flush=True)
        return self._read()

    def close(self) -> None:
        """Let it end; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            pytest.fail(f"{self._module} ended by itself; its error stands above")
        answer: Answer = json.loads(line)
        return answer


def _environment(home: Path) -> dict[str, str]:
    """No screen, nobody's settings, and bytecode once it is made: as installed programs have it."""
    folders = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "DATA", "STATE")}
    paths = [str(FOLDER), os.environ.get("PYTHONPATH", "")]
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        **folders,
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONPYCACHEPREFIX": str(home.parent / "bytecode"),
        # As the command line sets it, which not all programs go through.
        "OPENBLAS_NUM_THREADS": "1",
    }
