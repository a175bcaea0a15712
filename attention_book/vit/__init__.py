# Made from docs/chapters/15-vit.md (9a3e679b2c50). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.vit.attention_maps import attention_maps, rollout
from attention_book.vit.config import ViTConfig
from attention_book.vit.digits import Digits, digits
from attention_book.vit.model import ViT, resize
from attention_book.vit.patches import patchify
from attention_book.vit.training import fit, random_affine


__all__ = [
    "Digits",
    "ViT",
    "ViTConfig",
    "digits",
    "fit",
    "attention_maps",
    "resize",
    "rollout",
    "patchify",
    "random_affine",
]
