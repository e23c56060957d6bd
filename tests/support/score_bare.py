"""The model libraries driven as plainly as can be, every scored row computed and no number taken.

Programs: ``main(path, backend, threads, context)``. None of our modules is imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from answering import Answer, peak_bytes, serve

Texts = list[list[int]]


def main(path: str, backend: str, threads: str, context: str) -> None:
    make = {"llamacpp": llama_reader, "hf": torch_reader}[backend]
    read = make(path, int(threads), int(context))

    def score(texts: Texts, start: int) -> Answer:
        begun = time.perf_counter()
        for ids in texts:
            read(ids, start)
        return {"seconds": time.perf_counter() - begun, "peak": peak_bytes()}

    serve({}, {"score": score})


def llama_reader(path: str, threads: int, context: int) -> Callable[[list[int], int], None]:
    """``llama_decode`` in batches of 256, a logits flag on every row that scores a token."""
    import llama_cpp
    from bare_llama import BATCH, BareLlama

    class Reader(BareLlama):
        def read(self, ids: list[int], start: int) -> None:
            self.cut(0)
            for first in range(0, len(ids) - 1, BATCH):
                part = ids[first : min(first + BATCH, len(ids) - 1)]
                batch.n_tokens = len(part)
                for i, token_id in enumerate(part):
                    batch.token[i] = token_id
                    batch.pos[i] = first + i
                    batch.n_seq_id[i] = 1
                    batch.seq_id[i][0] = 0
                    batch.logits[i] = first + i >= start - 1
                if llama_cpp.llama_decode(self._context, batch) != 0:
                    raise RuntimeError("llama_decode failed")
                # Waits for the rows, as reading them would.
                llama_cpp.llama_get_logits(self._context)

    batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
    return Reader(path, threads, context, "same").read


def torch_reader(path: str, threads: int, context: int) -> Callable[[list[int], int], None]:
    """One forward pass a text, logits of all positions, as a plain evaluation script does it."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype=torch.float32)

    def read(ids: list[int], start: int) -> None:
        with torch.inference_mode():
            model(torch.tensor([ids[:context]]), use_cache=False).logits[0, start - 1 : -1].max()

    return read
