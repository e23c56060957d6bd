"""Gradients of a token's log-probability with respect to the embeddings of the prompt.

What the embedding layer gives is replaced by a hook, so that every family works whatever it does
with embeddings. Integrated gradients take the nodes and weights of Gauss and Legendre, as Captum
does; one point goes through the model at a time, which can be stopped in between and needs the
memory of one pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod, TokenAttribution
from logitscope.backends.base import Watch


class Gradients:
    """Attributions through one model of transformers."""

    def __init__(self, torch: Any, model: Any, bos: int | None) -> None:
        self._torch = torch
        self._model = model
        self._bos = bos
        self._table = model.get_input_embeddings()
        parameters = inspect.signature(model.forward).parameters
        self._keep = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        # Only the embeddings' gradient is wanted: the weights' would take as much memory again.
        model.requires_grad_(False)

    @property
    def is_possible(self) -> bool:
        """The model has an embedding table whose output can be replaced."""
        return getattr(self._table, "weight", None) is not None

    def close(self) -> None:
        """Let the weights go; twice is harmless."""
        self._model = self._table = None

    def attribute(
        self, ids: Sequence[int], target: int, method: GradientMethod, steps: int, watch: Watch
    ) -> TokenAttribution:
        """See ``base.WithGradients``.

        The baseline puts the mean of the embedding table in place of every token but BOS, which
        models use as a place to attend to nothing.
        """
        embeddings = self._embeddings(ids)
        if method is GradientMethod.GRADIENT_X_INPUT:
            value, gradient = self._gradient(ids, target, embeddings, watch)
            return TokenAttribution(per_token(gradient * embeddings), value)
        baseline = self._baseline(ids, embeddings)
        value, _ = self._gradient(ids, target, embeddings, watch)
        empty, _ = self._gradient(ids, target, baseline, watch)
        difference = embeddings - baseline
        total = self._torch.zeros_like(embeddings, dtype=self._torch.float64)
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        for done, (node, weight) in enumerate(zip(nodes, weights, strict=True), start=1):
            point = baseline + difference * float((1 + node) / 2)
            total += self._gradient(ids, target, point, watch)[1].double() * float(weight / 2)
            watch.report(done, steps)
        return TokenAttribution(per_token(total * difference.double()), value, empty)

    def _embeddings(self, ids: Sequence[int]) -> Any:
        """What the table gives for the ids, (n, width)."""
        with self._torch.no_grad():
            return self._table(self._tokens(ids))[0].detach()

    def _baseline(self, ids: Sequence[int], embeddings: Any) -> Any:
        weight = self._table.weight.detach()
        # Gemma's table multiplies what it looks up with the root of the width.
        scale = embeddings.double().norm() / weight[self._tokens(ids)[0]].double().norm()
        mean = weight.mean(dim=0, dtype=self._torch.float32) * float(scale)
        baseline = mean.to(embeddings.dtype).expand_as(embeddings).clone()
        if ids[0] == self._bos:
            baseline[0] = embeddings[0]
        return baseline

    def _gradient(
        self, ids: Sequence[int], target: int, embeddings: Any, watch: Watch
    ) -> tuple[float, Any]:
        """Log-probability of the target, and its gradient with respect to the embeddings."""
        watch.check()
        given = embeddings.clone().requires_grad_(True)
        with self._torch.enable_grad(), self._replaced(lambda _output: given[None]):
            output = self._model(input_ids=self._tokens(ids), use_cache=False, **self._keep)
            value = self._torch.log_softmax(output.logits[0, -1].float(), dim=-1)[target]
            (gradient,) = self._torch.autograd.grad(value, given)
        return float(value.detach()), gradient.detach()

    @contextmanager
    def _replaced(self, change: Callable[[Any], Any]) -> Iterator[None]:
        hook = self._table.register_forward_hook(lambda _module, _input, output: change(output))
        try:
            yield
        finally:
            hook.remove()

    def _tokens(self, ids: Sequence[int]) -> Any:
        return self._torch.tensor([list(ids)], device=self._table.weight.device)


def per_token(products: Any) -> NDArray[np.float64]:
    """Sums over the width of embeddings, (n,)."""
    sums: NDArray[np.float64] = products.double().sum(dim=-1).cpu().numpy()
    return sums
