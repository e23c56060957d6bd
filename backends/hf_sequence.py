"""One sequence in a transformers KV cache: what is in it, how it is cut back, how it grows."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import UNWATCHED, ModelFileError, Watch

CPU_CHUNK = 256
"""Tokens a prefill pass on the CPU: large enough for full matrix speed, small for progress."""

GPU_CHUNK = 2048


class CachedSequence:
    """A model and the token ids whose keys and values its cache holds.

    Sliding-window layers keep their whole past here (the mask still hides what is outside of the
    window): that costs memory on long texts, but any rewind is then a cut instead of a prefill.
    Only layers with a recurrent state cannot be cut back; their sequence starts anew.
    """

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._model = model
        parameters = inspect.signature(model.forward).parameters
        self._cache_name = next((n for n in ("cache", "past_key_values") if n in parameters), "")
        if not self._cache_name:
            raise ModelFileError(
                f"{type(model).__name__} has no key-value cache in transformers, so Logitscope "
                "cannot step through a text with it: choose another model."
            )
        self._keeps_rows = "logits_to_keep" in parameters
        self._takes_mask = {"attention_mask", "position_ids"} <= parameters.keys()
        self._watch = UNWATCHED
        self._one_by_one = False
        self._hooks = [layer.register_forward_pre_hook(self._poll) for layer in self._layers()]
        self._device = next(model.parameters()).device
        self._chunk = CPU_CHUNK if self._device.type == "cpu" else GPU_CHUNK
        self.evaluated = 0
        """Tokens that went through the model since the last ``rows`` began."""
        self.reset()

    def reset(self) -> None:
        """Forget the sequence and free its memory."""
        self._ids: list[int] = []
        self._cache = self._new_cache()
        self._last_row: NDArray[np.float32] | None = None

    def close(self) -> None:
        """Free the weights and the cache; twice is harmless."""
        for hook in self._hooks:
            hook.remove()
        self._model = self._cache = self._last_row = None
        self._ids = []
        if self._device.type == "cuda":
            self._torch.cuda.empty_cache()

    @property
    def can_be_cut(self) -> bool:
        """Whether the cache can go back to any shorter length."""
        from transformers.cache_utils import DummyLayer, DynamicIndexedLayer, DynamicLayer

        plain = (DynamicLayer, DynamicIndexedLayer, DummyLayer)
        return all(type(layer) in plain for layer in self._cache.layers)

    @property
    def can_be_masked(self) -> bool:
        """Whether parts of the cache can be hidden: `expanded` and `feed_beside` work."""
        from transformers.cache_utils import DynamicLayer

        return self._takes_mask and all(type(layer) is DynamicLayer for layer in self._cache.layers)

    @property
    def is_closed(self) -> bool:
        return self._model is None

    @property
    def bytes_per_token(self) -> float:
        """Bytes of keys and values a cached token; states of fixed size are not counted."""
        if not self._ids:
            return 0.0
        tensors = [
            tensor
            for layer in self._cache.layers
            for tensor in (getattr(layer, "keys", None), getattr(layer, "values", None))
            if tensor is not None
        ]
        total: int = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return total / len(self._ids)

    def settle(self, bos: int) -> NDArray[np.float32]:
        """Find out how a sequence with recurrent states can be continued; run one token otherwise.

        Some recurrent models of transformers take up their state only when a single token follows
        and silently ignore it for longer passes, so a few tokens are tried. Returns the row behind
        ``bos``, shape (V,). Raises ModelFileError where not even single tokens continue rightly."""
        row: NDArray[np.float32] = self.rows([bos], 1, UNWATCHED)[0]
        if self.can_be_cut:
            return row
        ids = [bos, 1, 2, 3, 4, 5, 6]
        expected = self._fresh(ids, len(ids))
        together = self._continuing_error(ids, expected, one_by_one=False)
        singly = self._continuing_error(ids, expected, one_by_one=True)
        # Both carry rounding noise of like size, below a percent of the spread even in bfloat16; a
        # state that was ignored shows as an error of another order.
        self._one_by_one = together > 3 * singly + 1e-5
        if singly > 0.02:
            raise ModelFileError(
                f"{type(self._model).__name__} cannot continue a text from its cache in this "
                "version of transformers: choose another model."
            )
        return row

    def _continuing_error(
        self, ids: list[int], expected: NDArray[np.float32], *, one_by_one: bool
    ) -> float:
        """Largest error of rows that continue a cache, in units of the spread of the logits."""
        self._one_by_one = one_by_one
        self._fresh(ids[:2], 1)
        found = self.rows(ids, len(ids) - 2, UNWATCHED)
        return float(np.abs(found - expected[2:]).max() / np.ptp(expected))

    def _fresh(self, ids: Sequence[int], count: int) -> NDArray[np.float32]:
        self.reset()
        return self.rows(ids, count, UNWATCHED)

    def rows(self, ids: Sequence[int], count: int, watch: Watch) -> NDArray[np.float32]:
        """Logits behind each of the last ``count`` ids, shape (count, V), until the next call.

        A prefill is reported in tokens that go through the model, done and in all.
        Whatever goes wrong, cancel included, the cache afterwards holds a prefix of ``ids``."""
        ids = list(ids)
        self.evaluated = 0
        if count == 1 and self._last_row is not None and ids == self._ids:
            return self._last_row
        with self._watched(watch), self._torch.inference_mode():
            self._cut_to(min(common_prefix(self._ids, ids), len(ids) - count))
            known, start, pieces = len(self._ids), len(ids) - count, []
            for first, last in self._passes(known, start, len(ids)):
                wanted = min(last - start, last - first)
                logits = self._feed(ids[first:last], max(wanted, 1))
                if wanted > 0:
                    pieces.append(logits)
                if known < start:
                    watch.report(last - known, len(ids) - known)
            logits = pieces[0] if len(pieces) == 1 else self._torch.cat(pieces)
            rows: NDArray[np.float32] = logits.float().cpu().numpy()
        self._last_row = rows[-1:].copy()
        return rows

    def forget_row(self) -> None:
        """Another sequence has used the model: what it keeps of its last pass is not ours."""
        self._last_row = None

    def expanded(self, length: int, copies: int) -> Any:
        """A cache that holds the first ``length`` cached ids ``copies`` times; it shares memory
        with this one until tokens are added."""
        cache = copy.copy(self._cache)
        cache.layers = []
        for layer in self._cache.layers:
            own = copy.copy(layer)
            own.keys, own.values = (
                tensor[:, :, :length].expand(copies, -1, -1, -1)
                for tensor in (layer.keys, layer.values)
            )
            cache.layers.append(own)
        return cache

    def feed_beside(
        self, cache: Any, ids: NDArray[np.int64], mask: NDArray[np.int64], watch: Watch
    ) -> NDArray[np.float32]:
        """Run ids (n, t) through the model behind a cache of ``expanded``; logits (n, t, V).

        ``mask`` (n, all tokens until now): 0 hides one. Positions count hidden ones, too."""
        count, end = ids.shape[1], mask.shape[1]
        with self._watched(watch), self._torch.inference_mode():
            watch.check()
            tokens, seen, places = (
                self._torch.as_tensor(array, device=self._device)
                for array in (ids, mask, np.arange(end - count, end)[None])
            )
            keep = {"logits_to_keep": count} if self._keeps_rows else {}
            output = self._model(
                input_ids=tokens,
                attention_mask=seen,
                position_ids=places.expand(len(ids), -1),
                use_cache=True,
                **{self._cache_name: cache},
                **keep,
            )
            rows: NDArray[np.float32] = output.logits[:, -count:].float().cpu().numpy()
        return rows

    def _passes(self, known: int, wanted: int, end: int) -> Iterator[tuple[int, int]]:
        """Ranges of ids to run through the model: prefill up to ``wanted``, then the rest."""
        if self._one_by_one:
            if known == 0:
                yield 0, end
            yield from ((index, index + 1) for index in range(known or end, end))
            return
        for first in range(known, wanted, self._chunk):
            yield first, min(first + self._chunk, wanted)
        yield wanted, end

    def _feed(self, ids: Sequence[int], count: int) -> Any:
        """Run ids through the model behind the cached ones; logits of the last ``count``."""
        self._watch.check()
        batch = self._torch.tensor([ids], dtype=self._torch.long, device=self._device)
        keep = {"logits_to_keep": count} if self._keeps_rows else {}
        cache = {self._cache_name: self._cache}
        try:
            output = self._model(input_ids=batch, use_cache=True, **cache, **keep)
        except BaseException:
            self._repair()
            raise
        self._ids.extend(ids)
        self._last_row = None
        self.evaluated += len(ids)
        return output.logits[0, -count:]

    def _cut_to(self, length: int) -> None:
        """Shorten the cache to ``length`` ids, or start anew where it cannot be cut."""
        if length == len(self._ids):
            return
        if self.can_be_cut:
            self._crop(length)
        else:
            self.reset()

    def _crop(self, length: int) -> None:
        for layer in self._cache.layers:
            excess = layer.get_seq_length() - length if hasattr(layer, "get_seq_length") else 0
            if excess > 0:
                layer.crop(-excess)
        del self._ids[length:]
        self._last_row = None

    def _repair(self) -> None:
        """After a pass that broke off, some layers hold tokens that others do not."""
        if self.can_be_cut:
            self._crop(len(self._ids))
        else:
            self.reset()

    def _new_cache(self) -> Any:
        from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

        cache = DynamicCache(config=self._model.config)
        cache.layers = [
            DynamicLayer() if type(layer) is DynamicSlidingWindowLayer else layer
            for layer in cache.layers
        ]
        return cache

    def _layers(self) -> list[Any]:
        """The decoder layers, where a stop is looked for inside a pass."""
        config = self._model.config.get_text_config(decoder=True)
        depth = getattr(config, "num_hidden_layers", 0)
        lists = [m for m in self._model.modules() if isinstance(m, self._torch.nn.ModuleList)]
        return [layer for found in lists if len(found) == depth for layer in found]

    def _poll(self, _module: Any, _arguments: Any) -> None:
        self._watch.check()

    @contextmanager
    def _watched(self, watch: Watch) -> Iterator[None]:
        self._watch = watch
        try:
            yield
        finally:
            self._watch = UNWATCHED


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading ids are equal."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    a, b = np.asarray(left[:shorter]), np.asarray(right[:shorter])
    different = np.flatnonzero(a != b)
    return int(different[0]) if len(different) else shorter
