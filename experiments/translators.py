"""What the experiments of Part V share: a translator for each seed.

Each is trained on the grammar as `attention-book train` trains it, and kept
in .cache/experiments, so that a second experiment need not train it again.
"""

import hashlib
from pathlib import Path

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
    save_model,
)
from attention_book.data.sources import load_corpus, train_tokenizers
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.training.chunked_loss import chunked_translation_loss


KEPT = Path(__file__).parents[1] / ".cache" / "experiments"
PACKAGE = Path(__file__).parents[1] / "attention_book"


def translator(seed: int) -> Translator:
    """The translator of a seed, trained unless it is kept."""
    torch.set_num_threads(1)  # the same sums in the same order
    config = TrainingConfig(seed=seed)
    corpus = load_corpus("grammar")
    tokenizers = train_tokenizers(corpus.train, "grammar", 0)
    source_vocab_size, target_vocab_size = map(len, tokenizers)
    shape = TransformerConfig(
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        **PRESETS["small"],
    )
    examples = encode_pairs(corpus.train, *tokenizers)
    of = hashlib.sha256(repr((shape, config, examples)).encode())
    path = KEPT / f"translator-{of.hexdigest()[:12]}.safetensors"
    if not path.exists():
        torch.manual_seed(seed)
        model = Transformer(shape)
        batches = TranslationBatches(examples, config)
        trainer = Trainer(model, batches, config, chunked_translation_loss)
        for _ in range(config.max_steps):
            trainer.step()
        path.parent.mkdir(parents=True, exist_ok=True)
        save_model(path, model.eval(), tokenizers=tokenizers)
    return Translator.load(path)


def unseen(n: int = 200) -> list[tuple[str, str]]:
    """Sentences that no translator was trained on, and their translations."""
    return load_corpus("grammar").tests["unseen sentences"][:n]
