"""Compare the next-token distributions of both backends on the packaged Gemma 3 270M.

``python tests/benchmarks/compare_backends.py [MODEL.gguf]`` prints one line a prompt and the
largest divergence. Loading through transformers takes about a minute and 3 GB; the backends are
loaded one after the other.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from logitscope.backends import hf, llamacpp, packaged
from logitscope.backends.base import Backend, LoadOptions
from logitscope.comparison import jensen_shannon, kl
from logitscope.distribution import log_softmax

PROMPTS = (
    "The capital of France is",
    "The sky is",
    "Once upon a time, there was a",
    "2 + 2 =",
    "The opposite of hot is",
    "Water boils at a temperature of",
    "To be, or not to be, that is the",
    "def factorial(n):\n    if n == 0:\n        return",
    "import numpy as np\nx = np.",
    '{"name": "Ada", "age":',
    "Monday, Tuesday, Wednesday,",
    "The quick brown fox jumps over the lazy",
    "Der Himmel ist",
    "La capitale de l'Italie est",
    "El sol sale por el",
    "天空是",
    "日本の首都は",
    "السماء",
    "Небо сегодня",
    "Dear Sir or Madam,\n\nI am writing to",
)

Log = NDArray[np.float64]


def distributions(backend: Backend) -> tuple[list[list[int]], list[Log]]:
    """Ids and log-probabilities of the next token, shape (V,), for every prompt."""
    texts = [backend.tokenize(p, add_special=True, parse_special=False) for p in PROMPTS]
    rows = [log_softmax(backend.next_logits(ids)) for ids in texts]
    backend.close()
    return texts, rows


def measure(path: Path) -> None:
    """Print the table."""
    begun = time.perf_counter()
    ids, reference = distributions(hf.load(path, LoadOptions(device="cpu")))
    print(f"transformers, float32, all weights unpacked: {time.perf_counter() - begun:.0f} s")
    for cache_type in ("f32", "f16"):
        again, rows = distributions(llamacpp.load(path, LoadOptions(cache_type=cache_type)))
        assert again == ids, "the two backends split a prompt differently"
        print(f"\nllama.cpp with an {cache_type} cache; nats")
        print("KL(hf|llama)  KL(llama|hf)  Jensen-Sh.  p top: hf  llama  same top  prompt")
        table = []
        for prompt, p, q in zip(PROMPTS, reference, rows, strict=True):
            table.append((kl(p, q), kl(q, p), jensen_shannon(p, q)))
            top = int(np.argmax(p))
            print(
                f"{table[-1][0]:12.5f}  {table[-1][1]:12.5f}  {table[-1][2]:10.5f}"
                f"  {np.exp(p[top]):9.4f}  {np.exp(q[top]):.4f}  {top == int(np.argmax(q))!s:>8}"
                f"  {prompt!r}"
            )
        largest = np.max(table, axis=0)
        mean = np.mean(table, axis=0)
        print(f"largest {largest[0]:.5f} {largest[1]:.5f} {largest[2]:.5f}")
        print(f"mean    {mean[0]:.5f} {mean[1]:.5f} {mean[2]:.5f}")


if __name__ == "__main__":
    measure(Path(sys.argv[1]) if len(sys.argv) > 1 else packaged.assemble())
