"""Multi-head attention against PyTorch's: python -m benchmarks.multi_head

Prints milliseconds and ratios for the machine it runs on.
"""

import torch
from torch import Tensor, nn

from attention_book import MultiHeadAttention, scaled_dot_product_attention
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.multi_head import split_heads
from benchmarks.sidebyside import introduce, report, side_by_side


def training_step(batch: int, n: int, is_causal: bool) -> None:
    x = torch.randn(batch, n, 512)
    ours = MultiHeadAttention(512, 8)
    theirs = nn.MultiheadAttention(512, 8, batch_first=True)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if is_causal else None

    def pytorch() -> None:
        output, _ = theirs(
            x,
            x,
            x,
            need_weights=False,
            attn_mask=hidden,
            is_causal=is_causal,
        )
        output.sum().backward()

    def book() -> None:
        ours(x, is_causal=is_causal).sum().backward()

    kind = "causal" if is_causal else "full"
    title = f"forward + backward, {kind}: batch {batch}, {n} tokens, 8 x 64"
    entrants = {"nn.MultiheadAttention": pytorch, "MultiHeadAttention": book}
    report(title, side_by_side(entrants, rounds=max(15, 8192 // n)))


@torch.no_grad()
def heads(n: int) -> None:
    x = torch.randn(n, 512)

    def step_by_step(h: int) -> Tensor:
        q = split_heads(x, h)
        return scaled_dot_product_attention(q, q, q)[0]

    layers = {h: MultiHeadAttention(512, h) for h in (1, 8)}
    entrants = {
        "1 head, step by step": lambda: step_by_step(1),
        "8 heads, step by step": lambda: step_by_step(8),
    }
    report(f"heads: {n} tokens, width 512", side_by_side(entrants))
    fused = {
        f"{h} heads, the whole layer": lambda layer=layer: layer(x[None])
        for h, layer in layers.items()
    }
    report(f"heads: {n} tokens, width 512", side_by_side(fused))


@torch.no_grad()
def decoding(n_tokens: int) -> None:
    x = torch.randn(1, 1, 512)

    def generate(n_kv_heads: int) -> None:
        cache = KeyValueCache(n_tokens)
        layer = layers[n_kv_heads]
        for _ in range(n_tokens):
            layer(x, cache=cache)

    layers = {
        n: MultiHeadAttention(512, 8, n_kv_heads=n).eval() for n in (8, 2, 1)
    }
    entrants = {f"{n} heads of keys": lambda n=n: generate(n) for n in layers}
    report(f"generating {n_tokens} tokens", side_by_side(entrants, rounds=5))


def main() -> None:
    introduce()
    torch.manual_seed(0)
    for batch, n in ((1, 64), (32, 64), (1, 512), (4, 512), (1, 2048)):
        for is_causal in (False, True):
            training_step(batch, n, is_causal)
    heads(1000)
    decoding(1024)


if __name__ == "__main__":
    main()
