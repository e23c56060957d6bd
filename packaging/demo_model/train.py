"""Train the demo model: ``python packaging/demo_model/train.py OUT [--minutes 75]``.

Writes the tokenizer, a checkpoint every five minutes and, at the end, both shipped formats with
the evaluation in the model card (``finish.py OUT``, which can be run again by itself). The learning
rate follows the elapsed time, so that a slower machine trains less but always to the end of the
schedule.
"""

from __future__ import annotations

import argparse
import math
import time
from multiprocessing import get_context
from pathlib import Path

import torch
from batches import Batch, batches
from finish import finish
from muon import Muon
from network import Network, Shape
from tokenizer import save, train_tokenizer
from torch import Tensor
from torch.nn import functional

SEED = 20261129
WARM_UP_STEPS = 100
CLIP = 1.0
MATRIX_RATE = 0.02
TABLE_RATE = 2e-3
SAVE_SECONDS = 300


def optimizers(network: Network) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embedding and the norms."""
    matrices = [p for n, p in network.named_parameters() if p.ndim == 2 and "embed" not in n]
    tables = [p for n, p in network.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        Muon(matrices, lr=MATRIX_RATE),
        torch.optim.AdamW(tables, lr=TABLE_RATE, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def rate(progress: float, step: int) -> float:
    """Warm-up, then a cosine from 1 to 0.01."""
    warm = min(1.0, (step + 1) / WARM_UP_STEPS)
    return warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16; emulated, it is many times slower."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def loss_of(network: torch.nn.Module, batch: Batch) -> tuple[Tensor, int]:
    ids, targets, positions, documents = (
        torch.from_numpy(array.copy())
        for array in (batch.ids, batch.targets, batch.positions, batch.documents)
    )
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_bfloat16()):
        logits = network(ids, positions, documents)
    loss = functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
    return loss, int((targets >= 0).sum())


def train(out: Path, minutes: float, threads: int, begin: float = 0.0) -> Network:
    """Train for the given time and return the network.

    ``begin`` above 0 goes on with the checkpoint in ``out``, at that point of the schedule.
    """
    torch.manual_seed(SEED)
    torch.set_num_threads(threads)
    network = Network(Shape())
    if begin > 0:
        network.load_state_dict(torch.load(out / "checkpoint.pt", weights_only=True))
    compiled = torch.compile(network)
    made = optimizers(network)
    base = [optimizer.param_groups[0]["lr"] for optimizer in made]
    progress = get_context("spawn").Value("d", 0.0)
    start = last_saved = time.monotonic()
    seen, smooth = 0, None
    # Other documents than those of the first stage.
    seed = SEED + round(1000 * begin)
    progress.value = begin
    for step, batch in enumerate(batches(out / "tokenizer.json", progress, seed)):
        now = time.monotonic()
        progress.value = begin + (1 - begin) * (now - start) / (60 * minutes)
        if progress.value >= 1:
            break
        for optimizer, lr in zip(made, base, strict=True):
            optimizer.param_groups[0]["lr"] = lr * rate(progress.value, step)
        loss, count = loss_of(compiled, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        for optimizer in made:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen += count
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if step % 50 == 0:
            print(
                f"{(now - start) / 60:6.1f} min  step {step:6d}  loss {smooth:.3f}  "
                f"{seen / 1e6:.2f}M tokens  {seen / (now - start + 1e-9):.0f}/s",
                flush=True,
            )
        if now - last_saved > SAVE_SECONDS:
            torch.save(network.state_dict(), out / "checkpoint.pt")
            last_saved = now
    torch.save(network.state_dict(), out / "checkpoint.pt")
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=75)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--begin", type=float, default=0.0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.begin == 0:
        save(train_tokenizer(SEED), arguments.out)
    train(arguments.out, arguments.minutes, arguments.threads, arguments.begin)
    finish(arguments.out)


if __name__ == "__main__":
    main()
