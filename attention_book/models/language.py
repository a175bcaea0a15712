# Made from docs/language/language-models.md (a39d0f444f4d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""GPT and BERT. Explained in the chapter "BERT and GPT"."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_size, check_token_ids
from attention_book.attention.caches import KeyValueCache
from attention_book.models.config import TextConfig
from attention_book.models.text import TextEncoder
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS


__all__ = ["CausalLanguageModel", "MaskedLanguageModel", "mask_tokens"]


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
        self.norm = nn.LayerNorm(d_model, eps=config.eps)
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


def mask_tokens(
    token_ids: Int[Tensor, "batch length"],
    mask_id: int,
    generator: torch.Generator,
    *,
    mlm_probability: float = 0.15,
    mask_replace_prob: float = 0.8,
    random_replace_prob: float = 0.1,
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Choose tokens to predict, and hide most; return inputs and labels.

    Of those chosen, a share becomes mask_id, a share a random token, and the
    rest stays. Special tokens, padding among them, are never chosen.

    Args:
        token_ids: Of real text; special tokens have the lowest ids.
        mask_id: The id of `<mask>`, which comes after all others.
        generator: The random generator, on the device of token_ids.
        mlm_probability: How likely each token is to be chosen.
        mask_replace_prob: The share that becomes mask_id.
        random_replace_prob: The share that becomes a random token.

    Source: Devlin et al. (2019), §3.1 and appendix A.1. Their program
        chooses a fixed number in each text, this one each token on its own,
        like DataCollatorForLanguageModeling in Hugging Face.
    """
    n_special = len(SPECIAL_TOKENS)
    check_size("mask_id", mask_id, n_special + 1)
    check_token_ids("token_ids", token_ids, mask_id)
    changed = mask_replace_prob + random_replace_prob
    shares = (mlm_probability, mask_replace_prob, random_replace_prob)
    if min(shares) < 0 or max(mlm_probability, changed) > 1 + 1e-9:
        raise ValueError(
            "probabilities must be from 0 to 1, and those of mask and random "
            f"token at most 1 together, got {shares}"
        )
    choose, change = torch.rand(
        2, *token_ids.shape, generator=generator, device=token_ids.device
    )
    chosen = (choose < mlm_probability) & (token_ids >= n_special)
    random_ids = torch.randint_like(
        token_ids, n_special, mask_id, generator=generator
    )
    swapped = chosen & (change < changed)
    masked = chosen & (change < mask_replace_prob)
    inputs = torch.where(swapped, random_ids, token_ids)
    inputs = inputs.masked_fill(masked, mask_id)
    return inputs, token_ids.masked_fill(~chosen, -100)
