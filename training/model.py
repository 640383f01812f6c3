"""SmolLM2 in PyTorch, read from its GGUF: frozen weights, and a trainable adapter beside them.

The layers are named and ordered as in the GGUF, rotary embedding included, so that an adapter can
be written back without permuting anything. Only what training needs: no sampling, no cache.
"""

from __future__ import annotations

import math
from pathlib import Path

import gguf
import torch
import torch.nn.functional as F
from torch import Tensor, nn

ADAPTED = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


class AdaptedLinear(nn.Module):
    """y = Wx + (alpha / r) BAx: W is frozen, A (r, in) and B (out, r) are trained (LoRA)."""

    def __init__(self, weight: Tensor, r: int, alpha: float) -> None:
        super().__init__()
        out_features, in_features = weight.shape
        self.register_buffer("weight", weight, persistent=False)
        self.a = nn.Parameter(torch.empty(r, in_features))
        self.b = nn.Parameter(torch.zeros(out_features, r))  # so that training starts at the base
        self.scale = alpha / r
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight) + F.linear(self.scale * F.linear(x, self.a), self.b)


class Block(nn.Module):
    def __init__(
        self,
        weights: dict[str, Tensor],
        heads: int,
        kv_heads: int,
        eps: float,
        r: int,
        alpha: float,
    ):
        super().__init__()
        self.heads, self.kv_heads, self.eps = heads, kv_heads, eps
        self.register_buffer("attn_norm", weights["attn_norm"], persistent=False)
        self.register_buffer("ffn_norm", weights["ffn_norm"], persistent=False)
        for name in ADAPTED:
            setattr(self, name, AdaptedLinear(weights[name], r, alpha))

    def forward(self, x: Tensor, turn: Tensor, parts: list[int]) -> Tensor:
        h = F.rms_norm(x, x.shape[-1:], self.attn_norm, self.eps)
        q = rotate(self._heads(self.attn_q(h), self.heads), turn)
        k = rotate(self._heads(self.attn_k(h), self.kv_heads), turn)
        v = self._heads(self.attn_v(h), self.kv_heads)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
        x = x + self.attn_output(attend(q, k, v, parts).transpose(0, 1).flatten(1))
        h = F.rms_norm(x, x.shape[-1:], self.ffn_norm, self.eps)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))

    def _heads(self, x: Tensor, n: int) -> Tensor:
        return x.unflatten(1, (n, -1)).transpose(0, 1)


def attend(q: Tensor, k: Tensor, v: Tensor, parts: list[int]) -> Tensor:
    """Attention of the first part to itself, and of each other part to the first and to itself."""
    (q0, *qs), (k0, *ks), (v0, *vs) = (x.unsqueeze(0).split(parts, 2) for x in (q, k, v))
    mixed = [F.scaled_dot_product_attention(q0, k0, v0, is_causal=True)]
    for own_q, own_k, own_v in zip(qs, ks, vs, strict=True):
        keys, values = torch.cat([k0, own_k], 2), torch.cat([v0, own_v], 2)
        seen = torch.ones(own_q.shape[2], keys.shape[2], dtype=torch.bool).tril(parts[0])
        mixed.append(F.scaled_dot_product_attention(own_q, keys, values, attn_mask=seen))
    return torch.cat(mixed, 2).squeeze(0)


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Rotary embedding of x (heads, tokens, width), neighbours in pairs (llama.cpp's NORM)."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2)


class Model(nn.Module):
    """One sequence: tokens (n,), positions (n,) give hidden states (n, width). `parts`: the lengths
    of a beginning that all share, and of what follows it, each as if it alone came after it."""

    def __init__(self, path: Path, r: int = 8, alpha: float = 16.0) -> None:
        super().__init__()
        reader = gguf.GGUFReader(path)
        value = {
            name: field.contents()
            for name, field in reader.fields.items()
            if name.startswith("llama.")
        }
        tensors = {
            tensor.name.removesuffix(".weight"): torch.tensor(
                gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            )
            for tensor in reader.tensors
        }
        heads, kv_heads = (
            value["llama.attention.head_count"],
            value["llama.attention.head_count_kv"],
        )
        self.eps = value["llama.attention.layer_norm_rms_epsilon"]
        width = value["llama.embedding_length"] // heads
        frequencies = value["llama.rope.freq_base"] ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.register_buffer("embedding", tensors["token_embd"], persistent=False)
        self.register_buffer("norm", tensors["output_norm"], persistent=False)
        self.blocks = nn.ModuleList()
        for number in range(value["llama.block_count"]):
            prefix = f"blk.{number}."
            weights = {
                n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)
            }
            self.blocks.append(Block(weights, heads, kv_heads, self.eps, r, alpha))

    def forward(self, tokens: Tensor, positions: Tensor, parts: list[int]) -> Tensor:
        x = F.embedding(tokens, self.embedding)
        turn = torch.polar(torch.ones(1), positions[:, None] * self.frequencies)
        for block in self.blocks:
            x = block(x, turn, parts)
        return F.rms_norm(x, x.shape[-1:], self.norm, self.eps)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits (n, n_vocab) of hidden states; the embedding is the output matrix too."""
        return F.linear(hidden, self.embedding)
