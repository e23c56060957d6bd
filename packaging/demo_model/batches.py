"""Documents packed into rows, made in a process of their own so that training never waits."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

BOS, EOS, PAD = 0, 1, 2
IGNORED = -100


@dataclass(frozen=True, slots=True)
class Batch:
    """Arrays (B, T): ids, targets (IGNORED: no loss), positions and document numbers."""

    ids: NDArray[np.int64]
    targets: NDArray[np.int64]
    positions: NDArray[np.int64]
    documents: NDArray[np.int64]


def row(rng: Random, tokenizer: object, length: int, progress: float) -> NDArray[np.int64]:
    """One row (4, T) of documents until it is full; the last one is cut."""
    from corpus import document

    made = np.full((4, length), PAD, dtype=np.int64)
    made[1] = IGNORED
    at, number = 0, 0
    while at < length - 8:
        text = document(rng, progress)
        encoding = tokenizer.encode(text.text)  # type: ignore[attr-defined]
        ids = np.array([*encoding.ids, EOS])
        targets = np.array([*encoding.ids[1:], EOS, IGNORED])
        for start, stop in text.unscored:
            hidden = [start <= a and b <= stop for a, b in encoding.offsets]
            targets[:-1][np.array([*hidden[1:], False])] = IGNORED
        count = min(len(ids), length - at)
        made[0, at : at + count] = ids[:count]
        made[1, at : at + count] = targets[:count]
        made[2, at : at + count] = np.arange(count)
        made[3, at : at + count] = number
        at, number = at + count, number + 1
    made[3, at:] = number
    return made


def produce(
    out: Queue[NDArray[np.int64]], progress: Synchronized[float], tokenizer_path: str, seed: int
) -> None:
    """Fill the queue with rows of the size that fits the progress. Ends with its parent."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer_path)
    rng = Random(seed)
    while True:
        now = progress.value
        out.put(row(rng, tokenizer, row_length(now), now))


def row_length(progress: float) -> int:
    """The last eighth is trained on whole contexts."""
    return 256 if progress < 0.88 else 512


def batch_size(progress: float) -> int:
    """Larger batches once the loss is low; the tokens a batch stay 2,048 to 4,096."""
    return 8 if progress < 0.7 or progress >= 0.88 else 16


def batches(tokenizer_path: Path, progress: Synchronized[float], seed: int) -> Iterator[Batch]:
    """Batches without end."""
    context = get_context("spawn")
    rows: Queue[NDArray[np.int64]] = context.Queue(maxsize=48)
    arguments = (rows, progress, str(tokenizer_path), seed)
    producer = context.Process(target=produce, args=arguments, daemon=True)
    producer.start()
    try:
        while True:
            size, length = batch_size(progress.value), row_length(progress.value)
            taken: list[NDArray[np.int64]] = []
            while len(taken) < size:
                made = rows.get(timeout=60)
                if made.shape[1] == length:
                    taken.append(made)
            stacked = np.stack(taken)
            yield Batch(*(stacked[:, i] for i in range(4)))
    except queue.Empty:
        raise RuntimeError("the process that makes the corpus has stopped") from None
    finally:
        producer.terminate()
