"""torch.export: one graph for any batch and any length, equal to the model."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from attention_book.attention.functional import padding_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from tests.factories import make_transformer


pytestmark = pytest.mark.usefixtures("unchecked")
Call = tuple[Tensor, ...]


def check_export(
    model: nn.Module, calls: list[Call], dynamic: tuple[dict[int, Any], ...]
) -> None:
    """Export by the first call, and compare what all calls give."""
    exported = export(model, calls[0], dynamic_shapes=dynamic).module()
    for call in calls:
        torch.testing.assert_close(exported(*call), model(*call))


def call_of_sizes(batch: int, source: int, target: int) -> Call:
    """Sources, their lengths and targets."""
    generator = torch.Generator().manual_seed(batch)
    lengths = torch.randint(1, source + 1, (batch,), generator=generator)
    return (
        torch.randint(3, 13, (batch, source), generator=generator),
        lengths,
        torch.randint(3, 11, (batch, target), generator=generator),
    )


def test_a_transformer_of_any_batch_and_lengths() -> None:
    model = make_transformer(
        positions="learned", n_kv_heads=2, n_layers=1, max_length=50
    )
    batch = Dim("batch", max=64)
    check_export(
        model,
        [call_of_sizes(3, 7, 5), call_of_sizes(4, 9, 6)],
        (
            {0: batch, 1: Dim("source", max=50)},
            {0: batch},
            {0: batch, 1: Dim("target", max=50)},
        ),
    )


class PaddedCausal(nn.Module):
    """Self-attention under both masks."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = padding_mask(lengths, x.shape[1])
        found: Tensor = self.attention(x, mask=mask, is_causal=True)
        return found


@pytest.mark.parametrize("kind", [RotaryAttention, ALiBiAttention])
def test_attention_under_both_masks(kind: type[MultiHeadAttention]) -> None:
    torch.manual_seed(0)
    batch = Dim("batch", max=64)
    check_export(
        PaddedCausal(kind(24, 6)).eval(),
        [
            (torch.randn(3, 7, 24), torch.tensor([7, 2, 0])),
            (torch.randn(2, 300, 24), torch.tensor([300, 9])),
        ],
        ({0: batch, 1: Dim("length", max=512)}, {0: batch}),
    )
