"""Evaluate the origin analysis on Prov-120: ``make eval-origin``.

``python tests/benchmarks/eval_origin.py [MODEL] [--cases N] [--attention] [--results FILE]``

MODEL is a GGUF file or a Hugging Face folder, the packaged Gemma if none is given. Each finished
case is a line of the results file, and a later run goes on behind them: delete the file to begin
anew. ``--attention`` adds that baseline: transformers loads the model once more, in float32.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from prov_cases import Maker, Prov, is_kept, read_cases
from prov_methods import Attention, alternatives, analyse
from prov_report import report_lines

from logitscope.backends import packaged, registry
from logitscope.backends.base import Backend, LoadOptions
from logitscope.backends.variants import VariantModel

CONTEXT = 1024


def main() -> None:
    """Measure what is missing, then print (and write) the table."""
    given = _arguments()
    path = Path(given.model) if given.model else packaged.assemble()
    results = given.results or Path("build") / f"prov120-{path.stem}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    done = _read(results)
    cases = read_cases()[: given.cases]
    missing = [case for case in cases if case.record["id"] not in done]
    blind = [] if not given.attention else [c for c in cases if _is_blind(done, c)]
    if missing or blind:
        options = LoadOptions(context_length=CONTEXT, threads=given.threads)
        backend = registry.open_backend(given.backend, str(path), options)
        maker = Maker(VariantModel(backend))
        for seed, case in enumerate(cases, 1):
            if case in missing:
                found = _measured(backend, maker, case, seed)
                _add(results, done, case, {"model": path.stem, **found})
        if given.attention:
            _attend(results, done, path, maker, cases)
        backend.close()
    known = [done[case.record["id"]] for case in cases]
    lines = list(report_lines(known))
    print("\n".join(lines))
    if given.report:
        given.report.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _attend(
    results: Path, done: dict[str, Any], path: Path, maker: Maker, cases: Sequence[Prov]
) -> None:
    attention = Attention(path)
    for case in cases:
        if _is_blind(done, case):
            mass = attention.mass(maker.prompt(case))
            _add(results, done, case, {**done[case.record["id"]], "attention": mass})


def _is_blind(done: dict[str, Any], case: Prov) -> bool:
    known = done.get(case.record["id"], {"kept": True})
    return bool(known["kept"]) and "attention" not in known


def _add(results: Path, done: dict[str, Any], case: Prov, found: dict[str, Any]) -> None:
    """Keep a line; of two with the same id, the later counts."""
    name = case.record["id"]
    done[name] = {"id": name, "kind": case.kind, "gold": case.gold, **found}
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(done[name]) + "\n")
    print(f"{len(done)} {name}", file=sys.stderr)


def _measured(backend: Backend, maker: Maker, case: Prov, seed: int) -> dict[str, Any]:
    model = VariantModel(backend)
    if not is_kept(model, maker, case):
        return {"kept": False}
    prompt = maker.prompt(case)
    return {"kept": True, **analyse(model, prompt), **alternatives(backend, model, prompt, seed)}


def _read(results: Path) -> dict[str, dict[str, Any]]:
    if not results.exists():
        return {}
    lines = results.read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="")
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--backend", default="")
    parser.add_argument("--attention", action="store_true")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--results", type=Path, default=None)
    parser.add_argument("--report", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
