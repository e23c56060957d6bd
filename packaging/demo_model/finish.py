"""Write the shipped formats of a training's checkpoint, evaluate both, and write the model card.

``python packaging/demo_model/finish.py OUT [--ship]``; ``--ship`` copies the files into the
program's resources.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from evaluate import evaluate, sample
from export import GGUF_NAME, write_folder, write_gguf
from network import Network, Shape

from logitscope.backends.base import LoadOptions
from logitscope.backends.registry import open_backend

FOLDER = "logitscope-tiny"
RESOURCES = Path(__file__).parents[2] / "resources" / "demo"
TEMPERATURE, STORY_TOKENS = 0.8, 140
CARD = """# Logitscope Tiny

A Llama of {parameters:,} parameters that shows what the panels of Logitscope mean: facts held in
the weights, facts in the prompt that override them, open choices with a long tail, small stories.
It is no assistant and knows nothing else.

- **Trained** from scratch by `packaging/demo_model/train.py` on text from grammars and fact tables
  written for it (same folder): countries and their capitals and languages, animals, sayings,
  sequences, return policies, properties of people, small stories. No other text was used.
- **Stages**: one thread of a processor without bfloat16, batches of 2,048 to 4,096 tokens, 75
  minutes from the start; 25 from the middle of the schedule on (`--begin 0.45`), with more rules in
  a policy; 13 at its end (`--begin 0.82`), with the plain form of every capital. About 11 million
  tokens.
- **Shape**: 5 layers, width 192, 6 heads of 32, SwiGLU 512, vocabulary 3,072 (byte-level BPE: any
  Unicode text can be written, but everything outside the grammars surprises it), context 512, tied
  embeddings. Both files hold the same weights in float16.
- **Limits**: English of a few thousand words. Where a rule stands in the prompt it follows it; it
  cannot reason about it, and among several rules it mostly picks a wrong one. It cannot do
  arithmetic beyond single digits, or understand number words. Facts are common knowledge,
  simplified, and may be out of date. Stories mix up who did what.
- **Licence**: Apache-2.0, as all of Logitscope.

## Held-out evaluation

Left out of the training text are pairs of country and sentence form (but for the plain form), pairs
of code and number, the code C-40 everywhere, and the words put before a sentence. Shares are of
prompts whose whole answer is the greedy continuation.

| | llama.cpp, F16 | transformers, float32 |
|-|-|-|
{figures}

## Written by itself

Temperature {temperature}, seeds 0 to 2, behind "Once upon a time":

{stories}
"""


def finish(out: Path) -> None:
    """Both formats and the card, from ``checkpoint.pt`` and the tokenizer in ``out``."""
    network = Network(Shape())
    network.load_state_dict(torch.load(out / "checkpoint.pt", weights_only=True))
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(out / name, folder / name)
    write_folder(network, folder)
    write_gguf(folder, out / GGUF_NAME)
    parameters = sum(tensor.numel() for tensor in network.parameters())
    (folder / "README.md").write_text(card(out, parameters), encoding="utf-8")


def card(out: Path, parameters: int) -> str:
    results, stories = [], []
    for path in (out / GGUF_NAME, out / FOLDER):
        backend = open_backend("", str(path), LoadOptions())
        try:
            results.append(evaluate(backend))
            if not stories:
                stories = [
                    sample(backend, "Once upon a time", TEMPERATURE, seed, STORY_TOKENS)
                    for seed in range(3)
                ]
        finally:
            backend.close()
    rows = [
        f"| {name} | {_said(results[0][name])} | {_said(results[1][name])} |" for name in results[0]
    ]
    told = "\n\n".join("> " + story.replace("\n", "\n> ") for story in stories)
    return CARD.format(
        parameters=parameters, figures="\n".join(rows), temperature=TEMPERATURE, stories=told
    )


def _said(figure: object) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"“{key}” {value:.3f}" for key, value in figure.items())
    return f"{figure:.3f}"


def ship(out: Path) -> None:
    """Copy what belongs to the program."""
    shutil.copytree(out / FOLDER, RESOURCES / FOLDER, dirs_exist_ok=True)
    shutil.copy(out / GGUF_NAME, RESOURCES / GGUF_NAME)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ship", action="store_true")
    arguments = parser.parse_args()
    finish(arguments.out)
    print((arguments.out / FOLDER / "README.md").read_text(encoding="utf-8"))
    if arguments.ship:
        ship(arguments.out)


if __name__ == "__main__":
    main()
