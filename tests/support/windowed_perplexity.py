"""Perplexity of the llama.cpp backend after each window, as ``llama-perplexity`` cuts them.

``python windowed_perplexity.py MODEL TEXT CONTEXT`` prints JSON: the number of ids, of scored
tokens, and the perplexity after each window. A process of its own, as the model has in the
program: arithmetic modes that other libraries set in the tests' process must not count.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from logitscope.backends import llamacpp
from logitscope.backends.base import LoadOptions
from logitscope.surprisal import perplexity_windows, summarise_loss, token_numbers
from logitscope.window_ids import window_ids


def main(model: Path, text: Path, context: int) -> None:
    backend = llamacpp.load(model, LoadOptions(context_length=context))
    loss, rank, found = [], [], []
    ids = backend.tokenize(text.read_text("utf-8"), add_special=True, parse_special=False)
    tokens = 0
    for window in perplexity_windows(len(ids), context):
        read = window_ids(ids, window.begin, window.end, backend.vocabulary.bos)
        position = window.score_from - window.begin
        for rows in backend.score(read, position, len(read)):
            numbers = token_numbers(rows, np.array(read[position : position + len(rows)]))
            loss.append(-numbers.log_probability)
            rank.append(numbers.rank)
            position += len(rows)
        summary = summarise_loss(np.concatenate(loss), np.concatenate(rank))
        found.append(summary.perplexity)
        tokens = summary.tokens
    backend.close()
    print(json.dumps({"ids": len(ids), "tokens": tokens, "perplexity": found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
