"""Evaluate the origin analysis on Prov-120: ``make eval-origin``.

``python tests/benchmarks/eval_origin.py [MODEL] [--cases N] [--results FILE] [--report FILE]``

MODEL is a GGUF file or a Hugging Face folder, the packaged Gemma if none is given. Each finished
case is a line of the results file, and a later run goes on behind them: delete the file to begin
anew. Attention is measured where the backend is PyTorch.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from prov_cases import Maker, is_kept, read_cases
from prov_methods import alternatives, analyse, attention_mass
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
    if any(case.record["id"] not in done for case in cases):
        options = LoadOptions(context_length=CONTEXT, threads=given.threads)
        backend = registry.open_backend(given.backend, str(path), options)
        model = VariantModel(backend)
        maker = Maker(model)
        for number, case in enumerate(cases, 1):
            name = case.record["id"]
            if name in done:
                continue
            done[name] = {"id": name, "kind": case.kind, "gold": case.gold, "model": path.stem}
            done[name] |= _measured(backend, model, maker, case, number)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[name]) + "\n")
            print(f"{number}/{len(cases)} {name}", file=sys.stderr)
        backend.close()
    lines = list(report_lines([done[case.record["id"]] for case in cases]))
    print("\n".join(lines))
    if given.report:
        given.report.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _measured(
    backend: Backend, model: VariantModel, maker: Maker, case: Any, seed: int
) -> dict[str, Any]:
    if not is_kept(model, maker, case):
        return {"kept": False}
    prompt = maker.prompt(case)
    found = {"kept": True, **analyse(model, prompt), **alternatives(backend, model, prompt, seed)}
    if backend.info.backend == "hf":
        found["attention"] = attention_mass(backend, prompt)
    return found


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
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--results", type=Path, default=None)
    parser.add_argument("--report", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    main()
