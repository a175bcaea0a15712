# Made from docs/beyond/speech.md (b8e50bb485fe). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Speech recognition. Explained in the chapter "Speech"."""

from collections.abc import Iterable
from itertools import groupby

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_lengths
from attention_book.attention.functional import padding_mask
from attention_book.attention.positions import SinusoidalPositions
from attention_book.models.config import make_encoder


__all__ = ["SpeechRecognizer", "ctc_collapse"]


def ctc_collapse(path: Iterable[int]) -> list[int]:
    """Merge repeats, then remove blanks, which are 0.

    Source: Graves et al. (2006), §3.1, the map B.
    """
    return [label for label, _ in groupby(path) if label != 0]


class SpeechRecognizer(nn.Module):
    """From a log-mel spectrogram to a distribution over labels every 20 ms.

    Args:
        n_labels: Number of labels; class 0 is the blank.
        n_mels: Bands of the spectrogram.
        d_model: Width of the tokens; even.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of encoder layers.

    Source: Radford et al. (2022), §2.2, for the encoder; the head and the
        loss are those of Graves et al. (2006), §2.
    """

    def __init__(
        self,
        n_labels: int,
        *,
        n_mels: int = 40,
        d_model: int = 64,
        n_heads: int = 4,
        d_ff: int = 128,
        n_layers: int = 2,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, d_model, 3, padding=1)
        self.conv2 = nn.Conv1d(d_model, d_model, 3, stride=2, padding=1)
        self.positions = SinusoidalPositions(d_model)
        self.encoder = make_encoder(n_layers, d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, 1 + n_labels)

    def forward(
        self,
        mel: Float[Tensor, "batch n_mels frames"],
        lengths: Int[Tensor, " batch"],
    ) -> tuple[Float[Tensor, "batch tokens classes"], Int[Tensor, " batch"]]:
        """Return log-probabilities, and how many tokens of each row are real.

        Args:
            mel: Spectrograms, padded at the end.
            lengths: How many frames of each are real.
        """
        check_lengths("lengths", lengths, mel.shape[2])
        real = padding_mask(lengths, mel.shape[2])[:, 0]  # (batch, 1, frames)
        x = F.gelu(self.conv1(mel * real)) * real
        x = F.gelu(self.conv2(x)).mT  # (batch, tokens, d_model)
        lengths = (lengths + 1) // 2
        mask = padding_mask(lengths, x.shape[1])
        x = self.encoder(self.positions(x), mask)
        return self.head(x).log_softmax(dim=-1), lengths
