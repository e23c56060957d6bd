"""The output head of a transformers model: what goes into it, and what happens behind it."""

from __future__ import annotations

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
            if np.abs(self._capped(scale * raw) - row).max() <= allowed:
                self._scale = scale
                self.is_understood = True
                return

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

    def _keep(self, _module: Any, arguments: tuple[Any, ...]) -> None:
        # A copy: a slice would keep the states of all positions of a scoring pass alive.
        states = arguments[0].detach()
        self._hidden = states.reshape(-1, states.shape[-1])[-1].clone()

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
