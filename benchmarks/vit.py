"""ViT against the peers': python -m benchmarks.vit

ViT-Ti/16 and ViT-S/16 at 224 by 224, forward pass and training step (forward,
backward, AdamW), batch 8 on the CPU and 128 on a GPU, against those of timm,
vit-pytorch and Hugging Face that are installed; then our own in bf16 autocast
against fp32. Before timing, ours is given the weights of Hugging Face's and
must give the same logits. What is found goes to results/ as JSON.

All entrants have the same shape, no dropout, GELU and SDPA. timm and
vit-pytorch import torchvision, of which nothing is needed here.
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.compute import ComputeConfig, get_compute_config
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from benchmarks.sidebyside import (
    device_name,
    introduce,
    keep,
    name_operators,
    report,
    side_by_side,
)


SIZES = {"tiny": (192, 3), "small": (384, 6)}


def book(size: str) -> nn.Module:
    width, heads = SIZES[size]
    return ViT(ViTConfig(d_model=width, n_heads=heads, d_ff=4 * width))


def timm(size: str) -> nn.Module:
    from timm import create_model

    return create_model(f"vit_{size}_patch16_224")


def vit_pytorch(size: str) -> nn.Module:
    from vit_pytorch import ViT as Theirs

    width, heads = SIZES[size]
    return Theirs(
        image_size=224,
        patch_size=16,
        num_classes=1000,
        dim=width,
        depth=12,
        heads=heads,
        mlp_dim=4 * width,
    )


class HuggingFace(nn.Module):
    """Their model, which returns logits alone."""

    def __init__(self, size: str) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTForImageClassification

        width, heads = SIZES[size]
        config = ViTConfig(
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            num_labels=1000,
            attn_implementation="sdpa",
        )
        self.model: Any = ViTForImageClassification(config)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(images).logits
        return logits


PEERS: dict[str, Callable[[str], nn.Module]] = {
    "timm": timm,
    "vit-pytorch": vit_pytorch,
    "transformers": HuggingFace,
}


def installed() -> dict[str, str]:
    """The peers that are here, with their versions."""
    found = {}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            print(f"not installed, and left out: {name}")
    return found


def forward(model: nn.Module, images: Tensor, compute: ComputeConfig) -> None:
    with torch.no_grad(), compute.autocast():
        model(images)


def make_step(
    model: nn.Module, images: Tensor, compute: ComputeConfig
) -> Callable[[], None]:
    labels = torch.zeros(len(images), dtype=torch.long, device=images.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with compute.autocast():
            loss = F.cross_entropy(model(images), labels)
        torch.autograd.backward(loss)
        optimizer.step()

    return step


def compare(
    size: str,
    compute: ComputeConfig,
    batch: int,
    names: list[str],
    rounds: int,
) -> dict[str, dict[str, float]]:
    """Seconds of all entrants, forward and training."""
    torch.manual_seed(0)
    images = torch.randn(batch, 3, 224, 224, device=compute.device)
    models = {name: PEERS[name](size) for name in names}
    models |= {"attention_book": book(size)}
    for model in models.values():
        model.to(compute.device)
    runs = {
        name: partial(forward, model.eval(), images, compute)
        for name, model in models.items()
    }
    found = {"forward": side_by_side(runs, rounds, compute)}
    steps = {
        name: make_step(model.train(), images, compute)
        for name, model in models.items()
    }
    found["training"] = side_by_side(steps, rounds, compute)
    return found


def halves(
    size: str, device: str, batch: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Seconds of our own, in fp32 and in bf16."""
    torch.manual_seed(0)
    model = book(size)
    images = torch.randn(batch, 3, 224, 224)
    found: dict[str, dict[str, Callable[[], object]]] = {}
    for precision in ("fp32", "bf16"):
        compute = get_compute_config(device, precision)
        model = model.to(compute.device)
        images = images.to(compute.device)
        runs = (
            found.setdefault("forward", {}),
            found.setdefault("training", {}),
        )
        runs[0][precision] = partial(forward, model, images, compute)
        runs[1][precision] = make_step(model, images, compute)
    return {
        what: side_by_side(r, rounds, compute) for what, r in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="ViT against its peers")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(2)
    compute = get_compute_config(options.device, "fp32")
    batch = 128 if compute.uses_cuda_graphs else 8
    introduce(compute)
    peers = installed()
    name_operators()
    seconds: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for size in SIZES:
        found = compare(size, compute, batch, list(peers), options.rounds)
        for what, times in found.items():
            report(f"ViT {size}, {what}, batch {batch}, fp32", times)
            seconds[f"{size}, {what}, fp32"] = times
            others = [times[name] for name in peers]
            if others:
                ratio = times["attention_book"] / min(others)
                ratios[f"{size}, {what}: ours / the fastest peer"] = ratio
        for what, times in halves(
            size, options.device, batch, options.rounds
        ).items():
            report(f"ViT {size}, {what}, batch {batch}, ours", times)
            seconds[f"{size}, {what}, ours"] = times
            ratio = times["bf16"] / times["fp32"]
            ratios[f"{size}, {what}: ours in bf16 / fp32"] = ratio
    for what, ratio in ratios.items():
        print(f"  {what:44} {ratio:6.3f}")
    keep(
        f"vit-{device_name(compute, short=True)}",
        ["python -m benchmarks.vit"],
        peers,
        compute,
        batch=batch,
        seconds={
            what: {name: round(value, 5) for name, value in times.items()}
            for what, times in seconds.items()
        },
        ratios={what: round(ratio, 3) for what, ratio in ratios.items()},
    )


if __name__ == "__main__":
    main()
