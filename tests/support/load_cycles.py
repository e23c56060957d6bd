"""Load, use and close two models in turn; print the memory after each cycle as a JSON list.

Run as a program, because only a process of its own has a clean memory to measure:
``python load_cycles.py MODULE PATH OTHER_PATH CYCLES``. Bytes, resident set.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
from pathlib import Path

import psutil

from logitscope.backends.base import LoadOptions


def main(module: str, paths: list[Path], cycles: int) -> None:
    """One cycle opens both models at once, as a change of model in a running program can."""
    load = importlib.import_module(module).load
    sizes = []
    for _ in range(cycles):
        opened = [load(path, LoadOptions(device="cpu", threads=1)) for path in paths]
        for backend in opened:
            ids = [i % backend.info.n_vocab for i in range(3, 103)]
            backend.next_logits(ids)
            for _chunk in backend.score(ids, 1, 101):
                pass
        for backend in opened:
            backend.close()
        del opened, backend, _chunk
        gc.collect()
        sizes.append(psutil.Process().memory_info().rss)
    print(json.dumps(sizes))


if __name__ == "__main__":
    main(sys.argv[1], [Path(path) for path in sys.argv[2:4]], int(sys.argv[4]))
