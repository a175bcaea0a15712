"""What a translator of everyday sentences is held against.

Copying, the nearest neighbour, word by word with alignments that were learnt,
and the GRU with attention of chapter "Encoder–decoder with attention".
"""

import copy
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    validation_loss,
)
from attention_book.data.batches import pad
from attention_book.data.readers import Pair
from attention_book.data.similarity import SimilarTexts
from attention_book.models.decoder import teacher_forcing_pair
from attention_book.models.seq2seq import AttentiveSeq2Seq
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import BOS, EOS, PAD
from attention_book.training.loading import Batch


def nearest(pairs: Sequence[Pair], sources: Sequence[str]) -> list[str]:
    """The translation of the most similar source among pairs."""
    similar = SimilarTexts([source for source, _ in pairs])
    found = [similar.nearest(source) for source in sources]
    return ["" if n is None else pairs[n][1] for n in found]


class Across(BPETokenizer):
    """Merges may go from one Chinese character to the next."""

    parts = re.compile(r"'(?:[sdmt]|ll|re|ve)| ?[^\W\d_]+| ?\d|.", re.DOTALL)


class WordByWord:
    """Each piece of the source becomes the piece it is aligned with most.

    Pieces are subwords that may join Chinese characters to words. How likely
    a piece is to become another is learnt by expectation maximisation; an
    empty piece stands for words without a counterpart.

    Source: Brown et al. (1993), §4.2, Model 1.
    """

    def __init__(self, pairs: Sequence[Pair], n_rounds: int = 5) -> None:
        texts = [text for pair in pairs for text in pair]
        self.pieces = Across.train(texts, 8000)
        rows = [
            (["", *self._cut(source)], self._cut(target))
            for source, target in pairs
        ]
        known = Counter(x for _, target in rows for x in target)
        even = 1 / len(known)
        table: dict[str, dict[str, float]] = {}
        for _ in range(n_rounds):
            counts: dict[str, dict[str, float]] = defaultdict(
                lambda: defaultdict(float)
            )
            for source, target in rows:
                for y in target:
                    given = [table.get(x, {}).get(y, even) for x in source]
                    total = sum(given)
                    for x, p in zip(source, given, strict=True):
                        counts[x][y] += p / total
            table = {
                x: {y: n / sum(found.values()) for y, n in found.items()}
                for x, found in counts.items()
            }
        nothing = table[""]
        self.best = {
            x: max(found, key=lambda y, f=found: f[y])  # type: ignore[misc]
            for x, found in table.items()
        }
        self.silent = {  # what the empty piece explains better
            x for x, y in self.best.items() if nothing.get(y, 0) > table[x][y]
        }

    def _cut(self, text: str) -> list[str]:
        ids = self.pieces.encode(text)
        return [self.pieces.pieces[i].decode("latin-1") for i in ids]

    def translate(self, sources: Sequence[str]) -> list[str]:
        """Translate texts; what was never seen stays as it is."""
        found = []
        for source in sources:
            cut = [x for x in self._cut(source) if x not in self.silent]
            joined = "".join(self.best.get(x, x) for x in cut)
            text = joined.encode("latin-1").decode(errors="replace")
            found.append(text.strip())
        return found


def gru_loss(
    model: AttentiveSeq2Seq, batch: Batch, label_smoothing: float = 0.0
) -> Tensor:
    """Mean cross-entropy of each next token, given the right ones so far."""
    decoder_input, labels = teacher_forcing_pair(batch.target)
    logits = model(batch.source, batch.source_lengths, decoder_input)
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=PAD,
        label_smoothing=label_smoothing,
    )


def train_gru(
    pairs: Sequence[Pair],
    held_out: Sequence[Pair],
    tokens: BPETokenizer,
    config: TrainingConfig,
    d_model: int,
) -> tuple[AttentiveSeq2Seq, float]:
    """Train the GRU encoder–decoder with attention on pairs.

    Returns:
        The model as it was when the loss of held-out pairs, looked at every
        250 steps, was least, and that loss.
    """
    torch.manual_seed(config.seed)
    model = AttentiveSeq2Seq(len(tokens), len(tokens), d_model)
    batches, unseen = (
        TranslationBatches(encode_pairs(part, tokens, tokens), config)
        for part in (pairs, held_out)
    )
    trainer = Trainer(model, batches, config, gru_loss)
    least, best = math.inf, model.state_dict()
    while len(trainer.losses) < config.max_steps:
        for _ in range(min(250, config.max_steps - len(trainer.losses))):
            trainer.step()
        loss = validation_loss(trainer, unseen)
        print("GRU", len(trainer.losses), f"{loss:.3f}", flush=True)
        if loss < least:
            least, best = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return model.eval(), least


@torch.no_grad()
def translate_gru(
    model: AttentiveSeq2Seq, tokens: BPETokenizer, sources: Sequence[str]
) -> list[str]:
    """Translate sources, as the model reads them, greedily."""
    ids = [tokens.encode(source) for source in sources]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for start in range(0, len(order), 64):
        rows = order[start : start + 64]
        source, lengths = pad([ids[row] for row in rows])
        encoded = model.encoder(source, lengths)
        state = encoded.context[None]
        last = torch.full((len(rows), 1), BOS)
        steps = []
        for _ in range(2 * source.shape[1] + 16):
            logits, state, _ = model.decode_step(last, state, encoded)
            last = logits.argmax(-1)
            steps.append(last)
            if all((torch.cat(steps, 1) == EOS).any(1)):
                break
        for row, written in zip(rows, torch.cat(steps, 1), strict=True):
            found[row] = tokens.decode([*written.tolist(), EOS])
    return found
