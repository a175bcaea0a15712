# Made from docs/chapters/14-non-autoregressive.md (897aae773ed5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book.corpus.special_tokens import BOS, EOS, PAD
from attention_book.losses import chunked_cross_entropy
from attention_book.padding import PackedMask, PaddingLayout
from attention_book.scoring import padding_mask
from attention_book.training.loading import Batch
from attention_book.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, kw_only=True)
class MaskedTransformerConfig(TransformerConfig):
    """A TransformerConfig, and the longest translation.

    Attributes:
        target_vocab_size: One more than the vocabulary has: the last id is
            that of <mask>.
        max_target_length: The longest translation, in tokens.
    """

    max_target_length: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_target_length < 1:
            raise ValueError(
                "max_target_length must be positive, "
                f"got {self.max_target_length}"
            )


class MaskedTransformer(Transformer):
    """A Transformer that fills in masked tokens of a translation.

    Source: Ghazvininejad et al. (2019), §2. They predict the length from a
        token <length> in the source; here it is a sum over the tokens of the
        source, after the fertilities of Gu et al. (2018), §3.
    """

    def __init__(self, config: MaskedTransformerConfig) -> None:
        super().__init__(config)
        self.mask_id = config.target_vocab_size - 1
        self.max_target_length = config.max_target_length
        self.fertility = nn.Linear(config.d_model, 1)
        nn.init.ones_(self.fertility.bias)  # at first, a token for a token

    def score_lengths(
        self,
        memory: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch max_target_length"]:
        """Score the lengths 1, 2, … of the translations of what was read."""
        each: Tensor = self.fertility(memory)[..., 0] * mask[:, 0, 0]
        lengths = torch.arange(
            1, self.max_target_length + 1, device=memory.device
        )
        return -2 * (lengths - each.sum(1, keepdim=True)).square()


def lowest(
    scores: Float[Tensor, "rows length"], n: Int[Tensor, " rows"]
) -> Bool[Tensor, "rows length"]:
    """Pick the n[i] lowest scores of row i; of equals, the first."""
    ranks = scores.argsort(dim=1, stable=True).argsort(dim=1)
    return ranks < n[:, None]


def hide(
    lengths: Int[Tensor, " rows"],
    n_words: int,
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "rows {n_words}"]:
    """Hide from 1 to all words of each row, every number equally likely.

    Chance comes from torch's own generator unless another is given.

    Source: Ghazvininejad et al. (2019), §2.2.
    """
    rows = len(lengths)
    device = lengths.device
    n = torch.rand(rows, generator=generator, device=device) * lengths
    chance = torch.rand(rows, n_words, generator=generator, device=device)
    real = padding_mask(lengths, n_words)[:, 0, 0]
    return lowest(chance.masked_fill(~real, torch.inf), 1 + n.long())


def masked_loss(
    model: MaskedTransformer,
    batch: Batch,
    smoothing: float = 0.0,
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the hidden words, plus a tenth of the length's.

    Raises:
        ValueError: A translation is empty or longer than the model can write.

    Source: Ghazvininejad et al. (2019), §2.2 and §2.3.
    """
    words = batch.target[:, 1:]
    lengths = batch.target_lengths - 2
    check_lengths("translations", lengths, model.max_target_length)
    source = batch.source_layout
    target = PaddingLayout(lengths, words.shape[1])  # without <eos>
    hidden = hide(lengths, words.shape[1], generator)
    memory = source.unpad(model.source_embedding(batch.source))
    memory = model.encoder(memory, PackedMask(source, source))
    x = model.decoder(
        target.unpad(
            model.target_embedding(words.masked_fill(hidden, model.mask_id))
        ),
        memory,
        PackedMask(target, source),
        mask=PackedMask(target, target),
        is_causal=False,
    )
    asked = target.unpad(hidden)
    weight = model.target_embedding.tokens.weight
    right = target.unpad(words)[asked]
    scores = model.score_lengths(source.pad(memory), source.mask)
    guess = F.cross_entropy(scores, lengths - 1)
    return (
        chunked_cross_entropy(x[asked], weight, right, smoothing) + 0.1 * guess
    )


def check_lengths(name: str, lengths: Tensor, most: int) -> None:
    """Raise ValueError unless there are lengths, all from 1 to most."""
    if not len(lengths) or lengths.min() < 1 or lengths.max() > most:
        raise ValueError(
            f"{name} must have from 1 to {most} words, got {lengths.tolist()}"
        )


class Draft(NamedTuple):
    """What the translations look like after a pass."""

    words: Int[Tensor, "rows length"]
    sure: Float[Tensor, "rows length"]  # log-probabilities; 0 for padding
    hidden: Bool[Tensor, "rows length"]  # what this pass filled in


@torch.no_grad()
def refine(
    model: MaskedTransformer,
    memory: Float[Tensor, "rows source d_model"],
    mask: Bool[Tensor, "rows 1 1 source"],
    lengths: Int[Tensor, " rows"],
    passes: int,
) -> Iterator[Draft]:
    """Fill in translations of given lengths; yield a draft after each pass.

    Source: Ghazvininejad et al. (2019), §3.1.
    """
    if passes < 1:
        raise ValueError(f"passes must be positive, got {passes}")
    check_lengths("translations", lengths, model.max_target_length)
    among = padding_mask(lengths, int(lengths.max()))
    real = among[:, 0, 0]
    never = [PAD, BOS, EOS, model.mask_id]
    words = torch.where(real, model.mask_id, PAD)
    sure = memory.new_zeros(words.shape)
    sources = model.decoder.project_memory(memory)
    for t in range(passes):
        n_hidden = lengths * (passes - t) // passes
        hidden = lowest(sure.masked_fill(~real, torch.inf), n_hidden)
        x = model.target_embedding(words.masked_fill(hidden, model.mask_id))
        x = model.decoder(x, sources, mask, mask=among, is_causal=False)
        scores = F.linear(x[hidden], model.target_embedding.tokens.weight)
        scores[:, never] = -torch.inf
        words = words.clone()
        sure = sure.clone()
        sure[hidden], words[hidden] = scores.log_softmax(-1).max(-1)
        yield Draft(words, sure, hidden)


@torch.no_grad()
def mask_predict(
    model: MaskedTransformer,
    source: Int[Tensor, "rows source"],
    lengths: Int[Tensor, " rows"],
    *,
    passes: int = 4,
    n_lengths: int = 1,
) -> list[list[int]]:
    """Translate in a fixed number of passes; the model in eval mode.

    Args:
        model: What fills in the blanks.
        source: What is to be translated, padded at the end.
        lengths: How many words of each source are real; one or more.
        passes: How often words are filled in.
        n_lengths: How many lengths are tried, of which the best one counts.

    Returns:
        The words of each translation, without <eos>.

    Source: Ghazvininejad et al. (2019), §3; §3.3 leaves out how likely the
        length is when translations are compared.
    """
    if not 1 <= n_lengths <= model.max_target_length:
        raise ValueError(
            f"n_lengths must be from 1 to {model.max_target_length}, got {n_lengths}"
        )
    check_lengths("sources", lengths, source.shape[1])
    memory, mask = model.encode(source, lengths)
    likely = model.score_lengths(memory, mask).log_softmax(-1).topk(n_lengths)
    n = 1 + likely.indices.flatten()  # row by row
    memory, mask = (x.repeat_interleave(n_lengths, 0) for x in (memory, mask))
    *_, draft = refine(model, memory, mask, n, passes)
    mean = (likely.values.flatten() + draft.sure.sum(1)) / n
    best = mean.view(-1, n_lengths).argmax(1).tolist()
    rows = [i * n_lengths + choice for i, choice in enumerate(best)]
    return [draft.words[row, : n[row]].tolist() for row in rows]
