"""A training step against the peers': python -m benchmarks.training

Forward, backward and optimiser step of a Transformer with d_model 256, 8
heads, d_ff 1024, 3+3 layers and 8,000 tokens, batch 32, sentences of 32 to 64
tokens, fp32, two threads, and the peak memory of these steps over the loaded
model, each entrant in a process of its own (Linux only). With --base: the
paper's base model, batch 8. What is found goes to results/ as JSON.

What all entrants share: the batch, tied embeddings, dropout 0.1 on embeddings
and on each sublayer's output, none on attention weights, cross-entropy of the
real tokens alone, fused AdamW over all parameters. For each peer the settings
are those with which it is fastest. The matrix products of our step are timed by
themselves as well, forward and backward: what a step can't do without.
"""

import argparse
import math
import multiprocessing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.packed import PaddingLayout
from attention_book.attention.positions import SinusoidalPositions
from attention_book.models.decoder import teacher_forcing_pair
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.training.chunked_loss import chunked_translation_loss
from attention_book.training.loading import Batch
from benchmarks.memory import resident
from benchmarks.sidebyside import (
    introduce,
    keep,
    name_operators,
    need,
    side_by_side,
)


VOCAB_SIZE = 8000
DROPOUT = 0.1
MAX_LENGTH = 64
Loss = Callable[[Batch], Tensor]


class Shape(NamedTuple):
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    batch: int


SMALL = Shape(256, 8, 1024, 3, 32)
BASE = Shape(512, 8, 2048, 6, 8)


def make_batch(rows: int) -> Batch:
    """Sentences of evenly spread lengths: a quarter is padding."""
    spread = torch.linspace(MAX_LENGTH // 2, MAX_LENGTH, rows).round().long()
    lengths = spread[torch.randperm(rows)], spread[torch.randperm(rows)]
    source = torch.randint(EOS + 2, VOCAB_SIZE, (rows, MAX_LENGTH))
    target = torch.randint(EOS + 2, VOCAB_SIZE, (rows, MAX_LENGTH + 1))
    target[:, 0] = BOS
    for row in range(rows):
        source[row, lengths[0][row] :] = PAD
        target[row, lengths[1][row]] = EOS
        target[row, lengths[1][row] + 1 :] = PAD
    source_layout = PaddingLayout(lengths[0], MAX_LENGTH)
    target_layout = PaddingLayout(lengths[1], MAX_LENGTH)
    return Batch(
        source,
        lengths[0],
        target,
        lengths[1] + 1,
        source_layout,
        target_layout,
        n_targets=len(target_layout.indices),
    )


def book(s: Shape) -> tuple[nn.Module, Loss]:
    config = TransformerConfig(
        source_vocab_size=VOCAB_SIZE,
        target_vocab_size=VOCAB_SIZE,
        share_embeddings=True,
        d_model=s.d_model,
        n_heads=s.n_heads,
        d_ff=s.d_ff,
        n_layers=s.n_layers,
        dropout=DROPOUT,
        norm="pre",
    )
    model = Transformer(config)
    return model, lambda batch: chunked_translation_loss(model, batch)


def marian(s: Shape) -> tuple[nn.Module, Loss]:
    # SDPA, which its attention_dropout of 0 lets be fused. It is post-norm.
    name_operators()
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=VOCAB_SIZE,
        d_model=s.d_model,
        encoder_layers=s.n_layers,
        decoder_layers=s.n_layers,
        encoder_attention_heads=s.n_heads,
        decoder_attention_heads=s.n_heads,
        encoder_ffn_dim=s.d_ff,
        decoder_ffn_dim=s.d_ff,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        decoder_start_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        attn_implementation="sdpa",
    )
    model = MarianMTModel(config)

    def loss(batch: Batch) -> Tensor:
        decoder_input, labels = teacher_forcing_pair(batch.target)
        return model(
            input_ids=batch.source,
            attention_mask=(batch.source != PAD).long(),
            decoder_input_ids=decoder_input,
            labels=labels.masked_fill(labels == PAD, -100),
        ).loss

    return model, loss


def x_transformers(s: Shape) -> tuple[nn.Module, Loss]:
    # "flash" is SDPA on a CPU. The output layer is tied by hand, which the
    # class has no option for; it is given one token more than the others.
    from x_transformers import XTransformer

    one_side: dict[str, Any] = {
        "num_tokens": VOCAB_SIZE,
        "max_seq_len": 256,
        "depth": s.n_layers,
        "heads": s.n_heads,
        "attn_dim_head": s.d_model // s.n_heads,
        "attn_flash": True,
        "ff_mult": s.d_ff // s.d_model,
        "emb_dropout": DROPOUT,
        "attn_sublayer_dropout": DROPOUT,
        "ff_sublayer_dropout": DROPOUT,
    }
    sides = {
        f"{side}_{name}": value
        for side in ("enc", "dec")
        for name, value in one_side.items()
    }
    model = XTransformer(
        dim=s.d_model, tie_token_emb=True, ignore_index=-100, **sides
    )
    model.decoder.net.to_logits.weight = model.encoder.token_emb.emb.weight

    def loss(batch: Batch) -> Tensor:
        target = batch.target.masked_fill(batch.target == PAD, -100)
        return model(batch.source, target, mask=batch.source != PAD)

    return model, loss


class NnTransformer(nn.Module):
    """torch.nn.Transformer with embeddings and an output layer."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB_SIZE, s.d_model)
        nn.init.normal_(self.tokens.weight, std=s.d_model**-0.5)
        self.positions = SinusoidalPositions(s.d_model)
        self.dropout = nn.Dropout(DROPOUT)
        n = s.n_layers
        options = {"batch_first": True, "norm_first": True}
        with warnings.catch_warnings():  # nested tensors are for post-norm
            warnings.simplefilter("ignore")
            self.transformer = nn.Transformer(
                s.d_model, s.n_heads, n, n, s.d_ff, DROPOUT, **options
            )
        # Its one dropout is for attention weights as well, and slow there.
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0

    def embed(self, token_ids: Tensor) -> Tensor:
        x = self.tokens(token_ids) * math.sqrt(self.tokens.embedding_dim)
        return self.dropout(self.positions(x))

    def loss(self, batch: Batch) -> Tensor:
        # The target needs no padding mask: padding comes last, causality
        # hides it, and the fused path stays open.
        decoder_input, labels = teacher_forcing_pair(batch.target)
        n = decoder_input.shape[1]
        hidden = batch.source == PAD
        x = self.transformer(
            self.embed(batch.source),
            self.embed(decoder_input),
            tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        logits = F.linear(x, self.tokens.weight).flatten(0, 1)
        return F.cross_entropy(logits, labels.flatten(), ignore_index=PAD)


def nn_transformer(s: Shape) -> tuple[nn.Module, Loss]:
    model = NnTransformer(s)
    return model, model.loss


PRODUCTS = "our matrix products"
ENTRANTS = {
    "Hugging Face Marian": marian,
    "x-transformers": x_transformers,
    "torch.nn.Transformer": nn_transformer,
    "attention_book": book,
}


def make_step(name: str, s: Shape) -> Callable[[], float]:
    """What takes one training step and returns the loss."""
    torch.manual_seed(0)
    batch = make_batch(s.batch)
    model, loss = ENTRANTS[name](s)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> float:
        optimizer.zero_grad()
        found = loss(batch)
        torch.autograd.backward(found)
        optimizer.step()
        return found.item()

    return step


def multiply(s: Shape) -> Callable[[], None]:
    """Do the products of our linear layers, forward and backward, no more."""
    torch.manual_seed(0)
    batch = make_batch(s.batch)
    model, loss = book(s)
    pairs: list[tuple[Tensor, Tensor]] = []  # an input and a weight

    def note(module: Any, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        pairs.append((inputs[0].detach().flatten(0, -2), module.weight))

    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(note)
    with torch.no_grad():
        loss(batch)
    table = cast(Transformer, model).target_embedding.tokens.weight
    pairs.append((torch.randn(batch.n_targets, s.d_model), table))

    @torch.no_grad()
    def run() -> None:
        for x, weight in pairs:
            y = x @ weight.T
            _ = y @ weight, y.T @ x

    return run


def grown(name: str, s: Shape) -> float:
    """MiB that four steps add to the peak of this process."""
    torch.set_num_threads(2)
    step = make_step(name, s)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    for _ in range(4):
        step()
    return resident("VmHWM") - before


def check_losses(losses: dict[str, float]) -> None:
    """All must guess among the tokens at first: about log VOCAB_SIZE."""
    for name, loss in losses.items():
        if not 0.8 < loss / math.log(VOCAB_SIZE) < 2:
            raise SystemExit(f"{name}: the first loss is {loss:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="A training step")
    parser.add_argument("--base", action="store_true", help="the paper's base")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    peers = need("transformers", "x-transformers")
    torch.set_num_threads(2)
    introduce()
    s = BASE if options.base else SMALL
    spawn = multiprocessing.get_context("spawn")
    mib = {}
    for name in ENTRANTS:
        with spawn.Pool(1) as pool:
            mib[name] = pool.apply(grown, (name, s))
    steps = {name: make_step(name, s) for name in ENTRANTS}
    check_losses({name: step() for name, step in steps.items()})
    entrants = {**steps, PRODUCTS: multiply(s)}
    seconds = side_by_side(dict(entrants), options.rounds)

    *others, ours = ENTRANTS
    fastest = min(others, key=lambda name: seconds[name])
    print(
        f"training step: d_model {s.d_model}, {s.n_heads} heads, d_ff "
        f"{s.d_ff}, {s.n_layers}+{s.n_layers} layers, {VOCAB_SIZE} tokens, batch "
        f"{s.batch}, up to {MAX_LENGTH} tokens"
    )
    for name in ENTRANTS:
        print(
            f"  {name:24} {seconds[name] * 1e3:7.0f} ms "
            f"{seconds[name] / seconds[fastest]:6.2f} x   peak "
            f"{mib[name]:5.0f} MiB {mib[name] / mib[others[0]]:6.2f} x"
        )
    ratios = {
        "time: ours / the fastest peer": seconds[ours] / seconds[fastest],
        "memory: ours / Marian": mib[ours] / mib[others[0]],
        f"{PRODUCTS} / ours": seconds[PRODUCTS] / seconds[ours],
        f"{PRODUCTS} / the fastest peer": seconds[PRODUCTS] / seconds[fastest],
    }
    for what, ratio in ratios.items():
        print(f"  {what:34} {ratio:6.2f}")
    keep(
        "training-base-cpu" if options.base else "training-cpu",
        ["python -m benchmarks.training", *["--base"] * options.base],
        peers,
        shape=s._asdict(),
        seconds={name: round(seconds[name], 4) for name in ENTRANTS},
        bounds={PRODUCTS: round(seconds[PRODUCTS], 4)},
        peak_mib={name: round(value) for name, value in mib.items()},
        fastest_peer=fastest,
        ratios={what: round(ratio, 3) for what, ratio in ratios.items()},
    )


if __name__ == "__main__":
    main()
