"""The network: a small Llama in plain PyTorch, with the parameter names of transformers.

Own code only so that packed documents can be trained fast; the export loads the same weights into
transformers' LlamaForCausalLM and checks that both give the same logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the network: 2.8 million parameters."""

    vocabulary: int = 3072
    width: int = 192
    layers: int = 5
    heads: int = 6
    hidden: int = 512
    context: int = 512
    theta: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class Attention(nn.Module):
    """Self-attention with rotary positions (RoFormer, arXiv 2104.09864; halves rotated)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(shape.width, shape.width, bias=False))

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        sizes = (batch, length, self.shape.heads, self.shape.head_width)
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (project(x).view(sizes).transpose(1, 2) for project in projections)
        mixed = functional.scaled_dot_product_attention(
            rotated(q, cos, sin), rotated(k, cos, sin), v, attn_mask=mask
        )
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU (arXiv 2002.05202)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down_proj = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and feed-forward, each behind an RMS norm and added to the stream."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):
    """Token ids to logits; the output table is the embedding (tied)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        self.apply(_start)
        for name, weight in self.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.normal_(weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(self, ids: Tensor, positions: Tensor, documents: Tensor) -> Tensor:
        """Logits (B, T, V). Tokens see only tokens of their own document before them."""
        length = ids.shape[1]
        same = documents[:, :, None] == documents[:, None, :]
        causal = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        mask = (same & causal)[:, None]
        cos, sin = self._angles(positions)
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
        return functional.linear(self.norm(x), self.embed_tokens.weight)

    def _angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        half = self.shape.head_width // 2
        steps = torch.arange(half, dtype=torch.float32) / half
        angles = positions[:, None, :, None].float() * self.shape.theta**-steps
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair (i, i + half) turned by its angle."""
    one, other = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-other, one), dim=-1) * sin).to(x.dtype)


def _start(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
