"""Muon: momentum whose step is made orthogonal (Jordan et al. 2024, "Muon: an optimizer for hidden
layers"), in float32.

torch.optim.Muon does the same in bfloat16, which a processor without bfloat16 instructions
emulates: there this one is several times faster.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic Newton-Schulz iteration, as published."""
ITERATIONS = 5


def orthogonal(matrix: Tensor) -> Tensor:
    """The nearest matrix with singular values about 1."""
    a, b, c = COEFFICIENTS
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if is_tall else x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised; for the weight matrices of the layers only."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, decay: float = 0.01
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, _closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                self._update(parameter, group["lr"], group["momentum"], group["decay"])

    def _update(self, parameter: Tensor, lr: float, momentum: float, decay: float) -> None:
        gradient = parameter.grad
        if gradient is None:
            return
        state = self.state[parameter]
        moving = state.setdefault("moving", torch.zeros_like(gradient))
        moving.lerp_(gradient, 1 - momentum)
        step = orthogonal(gradient.lerp(moving, momentum))
        rows, columns = parameter.shape
        parameter.mul_(1 - lr * decay)
        parameter.add_(step, alpha=-lr * max(1.0, rows / columns) ** 0.5)
