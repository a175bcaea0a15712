# Made from docs/source/text-models.md (14b840b90ebf). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from dataclasses import dataclass
from typing import Literal, get_args

from attention_book._checks import check_heads, check_positive, check_rate
from attention_book.models.encoder import Norm


__all__ = ["Activation", "TextConfig"]


Activation = Literal["gelu", "gelu_tanh", "relu"]


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """The hyperparameters of a model that reads text: by default BERT-base's.

    Attributes:
        vocab_size: Size of the vocabulary.
        max_length: How many learned positions there are.
        n_segments: How many segment embeddings there are; 0 for none.
        d_model: Width of the token vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Dropout rate of the embeddings and of each sublayer's output.
        norm: Layer normalisation after each sublayer, as in BERT, or before
            it, as in GPT-2.
        activation: Of the feed-forward networks; gelu_tanh is GPT-2's.
        epsilon: What layer normalisation adds to the variance.

    Raises:
        ValueError: A number or a kind is out of range, or they do not fit.

    Source: Devlin et al. (2019), §3; Radford et al. (2019), §2.3.
    """

    vocab_size: int
    max_length: int = 512
    n_segments: int = 0
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.1
    norm: Norm = "pre"
    activation: Activation = "gelu"
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        counts = "vocab_size max_length d_model n_heads d_ff n_layers"
        for name in (*counts.split(), "n_segments"):
            least = 0 if name == "n_segments" else 1
            got = getattr(self, name)
            # type, because isinstance takes True for an int
            if type(got) is not int or got < least:
                raise ValueError(
                    f"{name} must be a whole number >= {least}, got {got!r}"
                )
        check_heads(self.d_model, self.n_heads, self.n_heads)
        check_rate("dropout", self.dropout)
        check_positive("epsilon", self.epsilon)
        for name, kind in {"norm": Norm, "activation": Activation}.items():
            if (got := getattr(self, name)) not in get_args(kind):
                raise ValueError(
                    f"{name} must be one of {get_args(kind)}, got {got!r}"
                )
