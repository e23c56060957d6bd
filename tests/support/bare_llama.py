"""llama.cpp driven as plainly as can be: the peer of the speed benchmarks.

Program: ``main(path, threads, context, style)``. ``style`` is ``plain``, the parameters that
llama-cpp-python's own ``Llama`` chooses; ``flash``, which differs in nothing but flash attention,
llama.cpp's choice where nobody says otherwise; or ``same``, what our backend chooses. It says
``ready``, the time of the first row, once the model is loaded and one token was decoded. This
module must not import any of ours: its start is compared with ours.
"""

from __future__ import annotations

import ctypes
import time
from itertools import pairwise
from typing import Any

import llama_cpp
import numpy as np
from answering import Answer, serve
from texts import common_prefix

BATCH = 256
F16 = 1


def main(path: str, threads: str, context: str, style: str) -> None:
    bare = BareLlama(path, int(threads), int(context), style)
    bare.decode([bare.first_token])
    serve({"ready": time.monotonic()}, {"run": bare.run, "edits": bare.edits, "lead": bare.lead})


class BareLlama:
    """A model, a context, one sequence."""

    def __init__(self, path: str, threads: int, context: int, style: str) -> None:
        self._silence = llama_cpp.llama_log_callback(lambda _level, _text, _data: None)
        llama_cpp.llama_log_set(self._silence, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        weights = llama_cpp.llama_model_default_params()
        cache = llama_cpp.llama_context_default_params()
        cache.n_ctx = context
        cache.n_threads = cache.n_threads_batch = threads
        cache.type_k = cache.type_v = F16
        cache.n_batch = cache.n_ubatch = 512
        cache.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO
            if style == "flash"
            else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        if style == "same":
            weights.use_extra_bufts = False
            cache.n_batch = cache.n_ubatch = BATCH
            cache.swa_full = True
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), weights)
        self._context: Any = llama_cpp.llama_init_from_model(self._model, cache)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = int(llama_cpp.llama_n_batch(self._context))
        vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._size = llama_cpp.llama_vocab_n_tokens(vocab)
        self.first_token = llama_cpp.llama_vocab_bos(vocab)

    def decode(self, ids: list[int]) -> int:
        """Read ids behind those already there; the likeliest next one."""
        for start in range(0, len(ids), self._batch):
            part = ids[start : start + self._batch]
            tokens = (ctypes.c_int32 * len(part))(*part)
            batch = llama_cpp.llama_batch_get_one(tokens, len(part))
            if llama_cpp.llama_decode(self._context, batch) != 0:
                raise RuntimeError("llama_decode failed")
        return int(self._row().argmax())

    def _row(self) -> Any:
        """Logits behind the last id."""
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(logits, shape=(self._size,))

    def cut(self, length: int) -> None:
        """Keep the first ids only."""
        llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1)

    def run(self, ids: list[int], tokens: int) -> Answer:
        """Greedy: seconds for ``tokens`` tokens behind ``ids``, and which they are."""
        self.cut(0)
        token, made = self.decode(ids), []
        busy, begun = time.process_time(), time.perf_counter()
        for _ in range(tokens):
            made.append(token)
            token = self.decode([token])
        seconds = time.perf_counter() - begun
        return {"seconds": seconds, "cpu": time.process_time() - busy, "ids": made}

    def lead(self, ids: list[int], one: int, other: int) -> Answer:
        """By how much the logit of one token is above another's, behind ``ids``."""
        self.cut(0)
        self.decode(ids)
        row = self._row()
        return {"lead": float(row[one] - row[other])}

    def edits(self, texts: list[list[int]]) -> Answer:
        """Seconds to come from each text to the next by evaluating what differs."""
        self.cut(0)
        self.decode(texts[0])
        taken = []
        for before, after in pairwise(texts):
            same = common_prefix(before, after)
            begun = time.perf_counter()
            self.cut(same)
            self.decode(after[same:])
            taken.append(time.perf_counter() - begun)
        return {"seconds": taken}
