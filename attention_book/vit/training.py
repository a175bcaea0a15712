# Made from docs/chapters/15-vit.md (6dc52033536d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
import torch.nn.functional as F
from torch import nn

from attention_book.training.config import TrainingConfig
from attention_book.training.schedule import learning_rate_at
from attention_book.vit.digits import Digits
from attention_book.vit.patches import Images


def random_affine(
    images: Images, amount: float, generator: torch.Generator
) -> Images:
    """Shift, slant, turn, stretch each image a little, each in its own way.

    amount is the standard deviation of the six numbers of the map; a shift
    of 1 is half the image.
    """
    noise = torch.randn(len(images), 2, 3, generator=generator)
    maps = (torch.eye(2, 3) + amount * noise).to(images)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def fit(
    model: nn.Module,
    data: Digits,
    *,
    n_epochs: int = 40,
    learning_rate: float = 2e-3,
    amount: float = 0.1,
    seed: int = 0,
) -> list[float]:
    """Train any classifier of images in batches of 64; return its losses.

    Args:
        model: From images to logits; is trained in place.
        data: What it learns from.
        n_epochs: How often it sees each image.
        learning_rate: What the cosine falls from.
        amount: How far images are wobbled.
        seed: Decides the order of the images, and how they random_affine.
    """
    chance = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    n_steps = n_epochs * -(-len(data.images) // 64)
    plan = TrainingConfig(
        n_steps=n_steps,
        learning_rate=learning_rate,
        warmup_steps=max(1, n_steps // 10),
    )
    losses: list[float] = []
    model.train()
    for _ in range(n_epochs):
        order = torch.randperm(len(data.images), generator=chance)
        for rows in torch.split(order, 64):
            rate = learning_rate_at(len(losses) + 1, plan)
            optimizer.param_groups[0]["lr"] = rate
            logits = model(random_affine(data.images[rows], amount, chance))
            loss = F.cross_entropy(logits, data.labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    return losses
