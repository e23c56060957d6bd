"""The inner side of `programs`: commands and answers are lines of JSON on stdin and stdout.

Imports next to nothing: the start and the memory of the programs are measured.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
Command = Callable[..., Answer]


def serve(first: Answer, commands: Mapping[str, Command]) -> None:
    """In a program: say ``first``, then answer commands until the input ends."""
    # Whatever else anybody prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps(first), file=answers, flush=True)
    for line in sys.stdin:
        values = json.loads(line)
        answer = commands[values.pop("command")](**values)
        print(json.dumps(answer), file=answers, flush=True)


def peak_bytes(pid: int | str = "self") -> int:
    """Most memory the process has had in RAM, file mappings included (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ValueError("the kernel does not tell VmHWM")
