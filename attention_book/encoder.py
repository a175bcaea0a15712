# Made from docs/chapters/08-encoder.md (f830785f25fc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.multi_head import Mask, MultiHeadAttention


class FeedForward(nn.Module):
    """Two linear layers with a bend between them, for each word alone.

    Args:
        d_model: Width of input and output.
        d_ff: Width in the middle; the paper takes 4 d_model.
        activation: The bend: torch.relu in the paper, F.gelu in BERT.
        dropout: Share of the middle that is dropped in training, as PyTorch
            does; the paper drops none there.

    Source: Vaswani et al. (2017), §3.3, eq. 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Callable[[Tensor], Tensor] = torch.relu,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.widen = nn.Linear(d_model, d_ff)
        self.narrow = nn.Linear(d_ff, d_model)
        self.activation, self.dropout = activation, nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Return what each word makes of itself."""
        middle = self.activation(self.widen(x))
        output: Tensor = self.narrow(self.dropout(middle))
        return output


class SwiGLU(nn.Module):
    """A feed-forward network whose middle is gated: (SiLU(xW) ∘ xV) W_2.

    Args:
        d_model: Width of input and output.
        d_ff: Width in the middle; 8/3 d_model has as many parameters as a
            FeedForward of 4 d_model, biases aside.
        dropout: Share of the middle dropped in training; not in eq. 6.

    Source: Shazeer (2020), §2, eq. 6.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.widen = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.narrow = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Return what each word makes of itself."""
        gate, content = self.widen(x).chunk(2, dim=-1)
        output: Tensor = self.narrow(self.dropout(F.silu(gate) * content))
        return output


class PostNorm(nn.Module):
    """Residual connection, then layer normalisation: LayerNorm(x + f(x)).

    Args:
        d_model: Width of the words.
        dropout: Share of f(x) that is dropped in training.

    Source: Vaswani et al. (2017), §3.1 and §5.4.
    """

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x with what the part makes of it."""
        output: Tensor = self.norm(x + self.dropout(part(x)))
        return output


class PreNorm(PostNorm):
    """Layer normalisation before the part: x + f(LayerNorm(x)).

    Takes the arguments of PostNorm.

    Source: Xiong et al. (2020), figure 1.
    """

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x with what the part makes of its normalised form."""
        output: Tensor = x + self.dropout(part(self.norm(x)))
        return output


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with its residual.

    Args:
        attention: How the words exchange messages.
        feed_forward: What each word makes of itself.
        around: What goes around each of the two: PostNorm or PreNorm.

    Source: Vaswani et al. (2017), §3.1 and figure 1, left.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        around: tuple[PostNorm, PostNorm],
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.around = nn.ModuleList(around)

    def forward(
        self,
        x: Float[Tensor, "*batch words d_model"],
        mask: Mask = None,
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return the words in their context; mask as attention takes it."""
        exchange, think = self.around
        x = exchange(x, lambda y: self.attention(y, mask=mask))
        output: Tensor = think(x, self.feed_forward)
        return output


class Encoder(nn.Module):
    """A stack of layers.

    Args:
        layers: From the first to the last.
        norm: What goes over the result: a LayerNorm for pre-norm layers,
            whose sums nothing else has normalised, and nothing for post-norm.

    Source: Vaswani et al. (2017), §3.1.
    """

    def __init__(
        self, layers: Iterable[EncoderLayer], norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm or nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "*batch words d_model"],
        mask: Mask = None,
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return the words in their context; mask as attention takes it."""
        for layer in self.layers:
            x = layer(x, mask)
        output: Tensor = self.norm(x)
        return output
