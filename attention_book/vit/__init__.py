# Made from docs/chapters/45-training-images.md (3679b7e810d3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.vit.attention_maps import attention_maps, rollout
from attention_book.vit.config import ViTConfig
from attention_book.vit.digits import Digits, digits
from attention_book.vit.model import ViT, resize
from attention_book.vit.patches import patchify
from attention_book.vit.training import (
    ImageBatch,
    ImageBatches,
    classification_loss,
    random_affine,
    train_classifier,
)


__all__ = [
    "Digits",
    "ImageBatch",
    "ImageBatches",
    "ViT",
    "ViTConfig",
    "attention_maps",
    "classification_loss",
    "digits",
    "patchify",
    "random_affine",
    "resize",
    "rollout",
    "train_classifier",
]
