"""Logits of the book's models and of transformers', same weights.

Its table stands in the chapter "Pretrained weights".
"""

import tempfile
from typing import Any

import torch
import transformers as hf
from torch import Tensor

from attention_book import MarianTransformer, from_pretrained
from attention_book.models.vit import ViT


SEEDS = range(3)


def originals(seed: int) -> list[Any]:
    """Small models of transformers, with random parameters."""
    torch.manual_seed(seed)
    sizes = {"hidden_size": 24, "intermediate_size": 40, "num_labels": 5}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 3}
    sizes["initializer_range"] = 0.2
    bert = hf.BertConfig(vocab_size=211, **sizes)
    gpt2 = hf.GPT2Config(vocab_size=211, n_embd=24, n_layer=2, n_head=3)
    gpt2.bos_token_id = gpt2.eos_token_id = 0
    marian = hf.MarianConfig(vocab_size=211, d_model=24, init_std=0.2)
    marian.pad_token_id = marian.decoder_start_token_id = 210
    marian.activation_function = "swish"
    marian.scale_embedding = True
    for side in ("encoder", "decoder"):
        setattr(marian, f"{side}_layers", 2)
        setattr(marian, f"{side}_attention_heads", 3)
        setattr(marian, f"{side}_ffn_dim", 40)
    vit = hf.ViTConfig(image_size=12, patch_size=4, **sizes)
    models = [
        hf.BertForMaskedLM(bert).eval(),
        hf.BertForSequenceClassification(bert).eval(),
        hf.GPT2LMHeadModel(gpt2).eval(),
        hf.MarianMTModel(marian).eval(),
        hf.ViTForImageClassification(vit).eval(),
    ]
    with torch.no_grad():
        for parameter in (p for m in models for p in m.parameters()):
            if parameter.requires_grad:  # Marian's positions are fixed
                parameter += 0.2 * torch.randn_like(parameter)
    return models


def load(theirs: Any) -> Any:
    """Save a model of transformers and read it as one of the book's."""
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return from_pretrained(folder).model


@torch.no_grad()
def compare(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """Both models' logits for 50 random inputs."""
    generator = torch.Generator().manual_seed(0)
    if isinstance(ours, ViT):
        images = torch.randn(50, 3, 12, 12, generator=generator)
        return theirs(images).logits, ours(images)
    token_ids = torch.randint(1, 210, (50, 7), generator=generator)
    if not isinstance(ours, MarianTransformer):
        return theirs(token_ids).logits, ours(token_ids)
    ids = torch.tensor(ours.config.book_ids)  # from theirs to ours
    logits = ours(ids[token_ids], torch.full((50,), 7), ids[token_ids])
    wanted = theirs(token_ids, decoder_input_ids=token_ids).logits
    return wanted[..., :-1], logits[..., ids[:-1]]  # padding is never made


def run(seed: int) -> dict[str, float]:
    results = {}
    for theirs in originals(seed):
        ours = load(theirs)
        wanted, got = compare(theirs, ours)
        same = (wanted.argmax(-1) == got.argmax(-1)).view(50, -1).all(-1)
        name = type(theirs).__name__
        results[f"{name} difference"] = (wanted - got).abs().max().item()
        results[f"{name} size"] = wanted.abs().max().item()
        results[f"{name} same"] = float(same.sum())
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "模型 | model",
            "最大的 logit | largest logit",
            "最大的差 | largest difference",
            "150 次里选择相同 | same choice, of 150",
        ]
    ]
    for key in results:
        name, _, kind = key.partition(" ")
        if kind == "difference":
            rows.append(
                [
                    name,
                    f"{max(results[f'{name} size']):.1f}",
                    f"{max(results[key]):.0e}".replace("0e+00", "0"),
                    f"{sum(results[f'{name} same']):.0f}",
                ]
            )
    return {"equal": rows}
