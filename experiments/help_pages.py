"""Causal language models of help pages, for experiments that look inside."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.models.config import TextConfig
from attention_book.tokenizers.bpe import BPETokenizer
from corpora.help_pages import make_rows, read_help, split_pages


VOCAB_SIZE = 1_000
LENGTH = 32  # tokens in a row
RATE = 5e-3


@cache
def text() -> tuple[BPETokenizer, Tensor, Tensor]:
    """The tokenizer, and the rows to train on and those held out."""
    train, held = split_pages(read_help(["torch"]))
    tokenizer = BPETokenizer.train(train, VOCAB_SIZE)
    rows = (make_rows(part, tokenizer, LENGTH) for part in (train, held))
    return tokenizer, *rows


def make_model(
    kind: type[nn.Module],
    vocab_size: int,
    d_model: int = 64,
    n_layers: int = 2,
) -> Any:
    config = TextConfig(
        vocab_size=vocab_size,
        max_length=LENGTH,
        d_model=d_model,
        n_heads=4,
        d_ff=4 * d_model,
        n_layers=n_layers,
        dropout=0.0,
    )
    model: Any = kind(config)
    nn.init.normal_(model.encoder.tokens.weight, std=0.1)
    nn.init.normal_(model.encoder.positions.table, std=0.1)
    return model


def make(kind: type[nn.Module], seed: int) -> Any:
    """An untrained model of the larger size."""
    torch.manual_seed(seed)
    n_tokens = len(text()[0]) + 1  # and <mask>
    return make_model(kind, n_tokens, d_model=128, n_layers=4)


def causal_loss(
    model: nn.Module, rows: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    logits = model(rows[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def train(
    model: nn.Module,
    rows: Tensor,
    loss: Callable[..., Tensor],
    seed: int,
    n_steps: int,
    rate: float,
) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=n_steps, pct_start=0.1
    )
    model.train()
    for _ in range(n_steps):
        chosen = torch.randint(len(rows), (64,), generator=generator)
        value = loss(model, rows[chosen], generator)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def cells() -> dict[str, Any]:
    """What makes and trains it, by name."""
    return {
        "LENGTH": LENGTH,
        "make_model": make_model,
        "causal_loss": causal_loss,
        "train": train,
    }
