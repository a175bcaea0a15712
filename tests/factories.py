"""Small models, batches and trainers for the tests: one of each, with changes."""

import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    generate,
)
from attention_book.compute import get_compute_config
from attention_book.data.batches import pad
from attention_book.models.config import TextConfig, ViTConfig
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.models.vit import ViT
from attention_book.tokenizers.special_tokens import BOS, EOS, SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.loading import Example
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from tests.torch_state import randomise


SOURCE_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET_WORDS = WordTokenizer([*SPECIAL_TOKENS, *"abcdefgh"])
NORMS = ("post", "pre")
POSITIONS = ("sinusoidal", "learned", "rotary", "alibi")
FEED_FORWARDS = ("relu", "gelu", "swiglu")
KINDS: list[dict[str, Any]] = [  # of a Transformer: each choice once or twice
    {},
    {"norm": "pre", "feed_forward": "gelu", "positions": "rotary"},
    {"norm": "pre", "feed_forward": "swiglu", "positions": "learned"},
    {"norm": "pre", "positions": "alibi", "n_kv_heads": 2},
]

SOURCES = [[3, 4, 5, 6, 7], [8], [9, 10, 3], [5, 5], [4, 9, 8, 7]]
GENERATORS: list[dict[str, Any]] = [  # of translations, by each path
    {"positions": positions, "norm": norm, "n_kv_heads": n, "feed_forward": ff}
    for positions in POSITIONS
    for norm, n, ff in (("pre", None, "gelu"), ("post", 2, "swiglu"))
]
GENERATORS += [{"n_kv_heads": 1}, {"positions": "rotary", "n_kv_heads": 3}]


class Largest(TorchDispatchMode):
    """Record the size of the largest tensor that is made inside `with`."""

    elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, tuple) else (result,)
        sizes = [x.numel() for x in made if isinstance(x, Tensor)]
        self.elements = max([self.elements, *sizes])
        return result


def compile_backend(device: torch.device, on_cpu: bool = True) -> str:
    """Return "inductor", or "eager", which only traces.

    Inductor takes a compiler, for C++ on a CPU and for C on a GPU, and
    Python's headers; and on a CPU it takes its time: use it there for some
    kinds of model.
    """
    on_gpu = device.type != "cpu"
    compilers = ("gcc", "clang", "cc") if on_gpu else ("g++",)
    headers = Path(sysconfig.get_path("include"), "Python.h")
    has_compiler = headers.exists() and any(map(shutil.which, compilers))
    return "inductor" if has_compiler and (on_gpu or on_cpu) else "eager"


def pretend_gpu(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], n: int = 1
) -> None:
    """Pretend that there are CUDA cards, to be asked and not to be used."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device: capability
    )


def needs_bf16(device: torch.device) -> None:
    """Skip a test on a card without bf16."""
    try:
        get_compute_config(device, "bf16")
    except ValueError as error:
        pytest.skip(str(error))


def make_config(**changes: Any) -> TransformerConfig:
    """Return a small configuration; no two of its sizes are equal."""
    sizes: dict[str, Any] = {
        "source_vocab_size": 13,
        "target_vocab_size": 11,
        "d_model": 24,
        "n_heads": 6,
        "d_ff": 10,
        "n_layers": 2,
        "dropout": 0.0,
    }
    return TransformerConfig(**sizes | changes)


def make_text_config(**changes: Any) -> TextConfig:
    """Return a small configuration; no two of its sizes are equal."""
    sizes: dict[str, Any] = {
        "vocab_size": 13,
        "max_length": 11,
        "d_model": 24,
        "n_heads": 3,
        "d_ff": 10,
        "n_layers": 2,
        "dropout": 0.0,
    }
    return TextConfig(**sizes | changes)


def make_transformer(seed: int = 0, **changes: Any) -> Transformer:
    """Return a small model in eval mode; the same seed makes the same."""
    torch.manual_seed(seed)
    return Transformer(make_config(**changes)).eval()


def make_examples(n: int = 20, seed: int = 0) -> list[Example]:
    """Return pairs of token ids of 1 to 7 tokens, within make_config's sizes."""
    generator = torch.Generator().manual_seed(seed)

    def draw(vocab_size: int) -> list[int]:
        length = int(torch.randint(1, 8, (), generator=generator))
        ids = torch.randint(3, vocab_size, (length,), generator=generator)
        return [int(i) for i in ids]

    return [(draw(13), [BOS, *draw(11), EOS]) for _ in range(n)]


TRAINING = TrainingConfig(
    max_steps=20, batch_tokens=21, warmup_steps=3, learning_rate=1e-2
)


def make_trainer(
    config: TrainingConfig = TRAINING,
    examples: list[Example] | None = None,
    strategy: ParallelStrategy = SINGLE_PROCESS,
    **changes: Any,
) -> Trainer:
    """Return a trainer of a small model; the changes are those of the model."""
    batches = TranslationBatches(examples or make_examples(17), config)
    model = make_transformer(**changes)
    return Trainer(model, batches, config, strategy=strategy)


def make_vit_config(**changes: Any) -> ViTConfig:
    """Return a small configuration: 3 by 3 patches, 10 tokens."""
    sizes: dict[str, Any] = {
        "image_size": 15,
        "patch_size": 5,
        "n_channels": 3,
        "n_classes": 7,
        "d_model": 24,
        "n_heads": 4,
        "d_ff": 40,
        "n_layers": 2,
    }
    return ViTConfig(**sizes | changes)


def make_vit(seed: int = 0, **changes: Any) -> ViT:
    """Return a small model in eval mode; the same seed makes the same."""
    torch.manual_seed(seed)
    return ViT(make_vit_config(**changes)).eval()


def make_random_vit(**changes: Any) -> ViT:
    """Return a small model none of whose parameters is zero or one."""
    model = make_vit(seed=1, **changes)
    randomise(model)
    return model


def make_images(size: int = 15, n_channels: int = 3) -> Tensor:
    """Return two images for make_vit's model; the same every time."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, n_channels, size, size, generator=generator)


def make_varied(
    sources: list[list[int]], n_distinct: int = 3, **changes: Any
) -> Transformer:
    """Return a model whose translations of the sources differ, by length too.

    Untrained weights generate nearly the same for all; larger ones do not.
    """
    for seed in range(50):
        model = make_transformer(seed, **changes)
        with torch.no_grad():
            for stack in model.encoder, model.decoder:
                for parameter in stack.parameters():
                    if parameter.ndim == 2:
                        parameter *= 2
                    else:
                        parameter += 0.3 * torch.randn_like(parameter)
            for layer in model.decoder.layers:
                layer.cross_attention.kv_proj.weight.mul_(4)
                layer.cross_attention.out_proj.weight.mul_(4)
            model.target_embedding.tokens.weight[EOS] *= 2
        found = generate(model, *pad(sources), max_length=9)
        lengths = {len(token_ids) for token_ids in found}
        if len(lengths) > 1 and len({*map(tuple, found)}) >= n_distinct:
            return model
    raise AssertionError(f"no such model with {changes}")
