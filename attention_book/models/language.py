# Made from docs/language/language-models.md (31d8857ddeb4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.attention.caches import KeyValueCache
from attention_book.models.text import TextEncoder
from attention_book.models.text_config import TextConfig


__all__ = ["CausalLanguageModel", "MaskedLanguageModel"]


class CausalLanguageModel(nn.Module):
    """GPT: predicts each next token from those before it.

    The output layer is the table of token embeddings, used a second time.

    Args:
        config: The hyperparameters of the trunk.

    Source: Radford et al. (2018), §3.1, eq. 2; Radford et al. (2019), §2.3.
    """

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = TextEncoder(config)

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch length vocab"]:
        """Return the logits after each token; caches hold those before."""
        x = self.encoder(token_ids, is_causal=True, caches=caches)
        return F.linear(x, self.encoder.tokens.weight)


class MaskedLanguageModel(nn.Module):
    """BERT: predicts masked tokens from those on both sides.

    Args:
        config: The hyperparameters of the trunk.

    Source: Devlin et al. (2019), §3.1. The hidden layer before the output,
        and its bias, are those of the paper's code.
    """

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.encoder = TextEncoder(config)
        self.transform = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=config.epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length vocab"]:
        """Return the logits of each token; arguments as TextEncoder's."""
        x = self.encoder(token_ids, lengths, segment_ids=segment_ids)
        x = self.norm(F.gelu(self.transform(x)))
        return F.linear(x, self.encoder.tokens.weight, self.bias)
