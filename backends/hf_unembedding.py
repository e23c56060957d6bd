"""The output head of a transformers model: what goes into it, and what happens behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.unembedding import Unembedding, measure

CAP_KEYS = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")
"""Where Gemma 2 to 4 and nanochat, RecurrentGemma and xLSTM write the soft cap of their logits."""

SCALE_KEYS = ("logit_scale", "logits_scaling", "lm_head_multiplier")
"""Where Cohere, Granite and Falcon-H1 write what logits are multiplied with, or divided by."""

TOLERANCE = {"torch.float32": 1e-4, "torch.float64": 1e-6}
"""Largest error of a rebuilt row, in units of its spread."""

COARSE_TOLERANCE = 2e-2
"""For bfloat16 and float16: the head's output is rounded to 8 or 11 bits, then scaled again."""

EXACT_TOLERANCE = 1e-5
"""Of a row in float32 that differs by nothing but the order in which products are summed."""


class OutputHead:
    """Keeps the head's input for the last position of the newest pass.

    The exact input of the head is the final hidden state behind the last normalization, in every
    family; so it is taken there and not out of ``output_hidden_states``, whose last entry some
    families give before that normalization.
    """

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._config = model.config.get_text_config(decoder=True)
        head = model.get_output_embeddings()
        weight = getattr(head, "weight", None)
        self._head: Any = head if weight is not None and weight.dim() == 2 else None
        self._hook: Any = None
        if self._head is not None:
            self._hook = self._head.register_forward_pre_hook(self._keep)
        self._hidden: Any = None
        self._scale = 1.0
        self._cap: float | None = None
        self.is_understood = False
        """The rows of the model can be rebuilt from hidden state and table."""
        self.is_exact = False
        """They can be rebuilt in parts, up to the rounding of float32."""
        self._gathered: list[Any] | None = None

    def close(self) -> None:
        """Let the weights go; twice is harmless."""
        if self._hook is not None:
            self._hook.remove()
        self._hook = self._head = self._hidden = None

    def learn(self, row: NDArray[np.float32]) -> None:
        """Find out what happens behind the head, from ``row``, shape (V,), of the newest pass.

        The scale is found by trying, since its name does not tell: Granite divides by
        ``logits_scaling``, HyperCLOVA X multiplies with it. A head that does something else is
        not explained at all.
        """
        if self._head is None or self._hidden is None:
            return
        with self._torch.inference_mode():
            raw = self._head(self._hidden).float().cpu().numpy()[: len(row)].astype(np.float64)
        self._cap = self._stated_cap()
        allowed = TOLERANCE.get(str(self._head.weight.dtype), COARSE_TOLERANCE) * np.ptp(row)
        for scale in self._possible_scales(raw, row):
            error = np.abs(self._capped(scale * raw) - row).max()
            if error <= allowed:
                self._scale = scale
                self.is_understood = True
                self.is_exact = self._is_plain() and bool(error <= EXACT_TOLERANCE * np.ptp(row))
                return

    @contextmanager
    def gathering(self) -> Iterator[list[Any]]:
        """Collect the head's inputs, tensors of shape (t, K), instead of its outputs: until the end
        of the block each pass gives the row of its last position only."""
        self._gathered = []
        try:
            yield self._gathered
        finally:
            self._gathered = None

    def logits(self, states: Any, first: int, out: Any) -> Any:
        """Logits of the ids from ``first`` on behind states (n, K), in ``out``, (size, n)."""
        part = slice(first, first + len(out))
        raw = self._torch.mm(self._head.weight[part], states.t(), out=out)
        if self._head.bias is not None:
            raw += self._head.bias[part, None]
        return self._finished(raw)

    def bounds(self, states: Any, ids: NDArray[np.int64]) -> tuple[Any, Any]:
        """Between which values ``logits`` gives the logit of ``ids[i]`` behind ``states[i]``; (n,)
        each, float32.

        A sum of K products in any order is off by at most about K / 2**24 times the sum of their
        sizes (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1).
        """
        products = states.double() * self._head.weight[ids].double()
        raw, size = products.sum(dim=1), products.abs().sum(dim=1)
        if self._head.bias is not None:
            bias = self._head.bias[ids].double()
            raw, size = raw + bias, size + bias.abs()
        reach = states.shape[1] * 2.0**-23 * size
        # tanh and the products behind the head are off by some units in the last place.
        more = 2.0**-20 * (abs(self._scale) * size + (self._cap or 0.0))
        sides = [self._finished(raw - reach), self._finished(raw + reach)]
        low, high = sides if self._scale > 0 else sides[::-1]
        return (low - more).float().numpy(), (high + more).float().numpy()

    def _finished(self, raw: Any) -> Any:
        """What the model does with the head's output, in place where it is float32."""
        if self._scale != 1.0:
            raw *= self._scale
        if self._cap is not None:
            raw = self._torch.tanh(raw / self._cap) * self._cap
        return raw

    def _is_plain(self) -> bool:
        """Whether the head is nothing but a matrix in float32 on the CPU."""
        weight = self._head.weight
        is_linear = type(self._head) is self._torch.nn.Linear
        return is_linear and weight.dtype is self._torch.float32 and weight.device.type == "cpu"

    def explain(self, token_id: int, row: NDArray[np.float32], *, tied: bool) -> Unembedding:
        """Take the logit of a token in ``row``, shape (V,), of the newest pass to pieces.

        Raises ValueError for an id outside of the row."""
        if not 0 <= token_id < len(row):
            raise ValueError(f"id {token_id} is outside the vocabulary of {len(row)} tokens")
        hidden = self._hidden.float().cpu().numpy()
        weights = self._head.weight[token_id].detach().float().cpu().numpy()
        bias = getattr(self._head, "bias", None)
        hidden_norm, row_norm, dot = measure(hidden, weights)
        return Unembedding(
            token_id=token_id,
            width=len(hidden),
            hidden_norm=hidden_norm,
            row_norm=row_norm,
            dot=dot,
            bias=None if bias is None else float(bias[token_id].item()),
            scale=self._scale,
            soft_cap=self._cap,
            tied=tied,
            model_logit=float(row[token_id]),
        )

    def _keep(self, _module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        # A copy: a slice would keep the states of all positions of a scoring pass alive.
        states = arguments[0].detach()
        flat = states.reshape(-1, states.shape[-1])
        self._hidden = flat[-1].clone()
        if self._gathered is None:
            return arguments
        self._gathered.append(flat)
        return arguments[0][..., -1:, :], *arguments[1:]

    def _stated_cap(self) -> float | None:
        stated = (getattr(self._config, key, None) for key in CAP_KEYS)
        return next((float(value) for value in stated if value), None)

    def _possible_scales(self, raw: NDArray[np.float64], row: NDArray[np.float32]) -> list[float]:
        """1, what the configuration states, its inverse, and, without a cap, the best fit."""
        stated = [getattr(self._config, key, None) for key in SCALE_KEYS]
        numbers = [float(value) for value in stated if isinstance(value, int | float) and value]
        scales = [1.0, *numbers, *(1 / number for number in numbers)]
        square = float(raw @ raw)
        if self._cap is None and square > 0:
            scales.append(float(raw @ row.astype(np.float64)) / square)
        return scales

    def _capped(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return logits if self._cap is None else self._cap * np.tanh(logits / self._cap)
