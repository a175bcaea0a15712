"""The text and the models of the experiments for "BERT and GPT"."""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.tokenizers.bpe import BPETokenizer
from corpora.help_pages import make_rows, read_help, split_pages
from literate.chapter import defined_in


CHAPTER = "docs/language/language-models.md"
PARTS = (
    "torch",
    "make_model",
    "causal_loss",
    "masked_loss",
    "train",
    "train_rows",
)
VOCAB_SIZE = 1_000
STEPS = 3_000
RATE = 5e-3


@cache
def cells() -> dict[str, Any]:
    return defined_in(CHAPTER, *PARTS)


@cache
def text() -> tuple[BPETokenizer, Tensor, Tensor]:
    """The tokenizer, and the rows to train on and those held out."""
    train, held = split_pages(read_help(["torch"]))
    tokenizer = BPETokenizer.train(train, VOCAB_SIZE)
    length = cells()["LENGTH"]
    rows = (make_rows(part, tokenizer, length) for part in (train, held))
    return tokenizer, *rows


def make(kind: type[nn.Module], seed: int) -> Any:
    """An untrained model of the size of the tables."""
    torch.manual_seed(seed)
    n_tokens = len(text()[0]) + 1  # and <mask>
    return cells()["make_model"](kind, n_tokens, d_model=128, n_layers=4)
