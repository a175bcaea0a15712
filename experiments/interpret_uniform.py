"""Uniform cross-attention, trained from the start: "Reading attention".

As in Wiegreffe and Pinter (2019) the model never has other weights. Queries
of cross-attention are held at 0, so that all words of the source get the same
weight, and the rest is trained as long as the translators of the chapter. If
weights were of no use here, it would translate as well as they do.
"""

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
)
from attention_book.data.sources import load_corpus, train_tokenizers
from attention_book.models.config import PRESETS, TransformerConfig
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.punctuation import detokenize
from attention_book.training.chunked_loss import chunked_translation_loss
from experiments.interpret_debate import predicted
from experiments.record import percent
from experiments.translators import unseen


SEEDS = range(3)


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    config = TrainingConfig(seed=seed)
    corpus = load_corpus("grammar")
    tokenizers = train_tokenizers(corpus.train, "grammar", 0)
    sizes = map(len, tokenizers)
    shape = dict(
        zip(("source_vocab_size", "target_vocab_size"), sizes, strict=True)
    )
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**shape, **PRESETS["small"]))
    for layer in model.decoder.layers:
        for parameter in layer.cross_attention.q_proj.parameters():
            torch.nn.init.zeros_(parameter).requires_grad_(False)
    batches = TranslationBatches(
        encode_pairs(corpus.train, *tokenizers), config
    )
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    for _ in range(config.max_steps):
        trainer.step()
    pairs = unseen()
    made = Translator(model.eval(), *tokenizers).translate(
        [english for english, _ in pairs]
    )
    right = [detokenize(chinese) for _, chinese in pairs]
    n = len(pairs)
    return {
        "loss, last 100 steps": sum(trainer.losses[-100:]) / 100,
        "predicted": predicted(model, encode_pairs(pairs, *tokenizers)),
        "exact": sum(map(str.__eq__, made, right)) / n,
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    return {
        "scratch": [
            [
                "模型 | model",
                "每个词元都猜对 | each next token",
                "译文全对 | exact translations",
            ],
            [
                "均匀，从头训练 | uniform, trained from the start",
                percent(results["predicted"], 0),
                percent(results["exact"], 0),
            ],
        ]
    }
