"""What the experiments on everyday sentences share: data, models, scores.

The sentences are Tatoeba's, in the form of manythings.org/anki (cmn-eng.zip),
whose path the environment variable EVERYDAY_PAIRS gives; nothing of it is in
the repository. One arm of the search wants CC-CEDICT, at EVERYDAY_CEDICT.
Models are kept in .cache/experiments/everyday, so that a run that is cut off
goes on, and a second experiment need not train them again.
"""

import dataclasses
import gzip
import hashlib
import json
import math
import os
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
    load_checkpoint,
    save_checkpoint,
    validation_loss,
)
from attention_book.compute import Precision
from attention_book.data.cleaning import clean
from attention_book.data.copies import with_copies
from attention_book.data.readers import Pair
from attention_book.data.similarity import SimilarTexts
from attention_book.data.sources import Corpus, both_directions, load_corpus
from attention_book.data.split import make_split
from attention_book.generation.scores import references_of
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.directions import DIRECTIONS, space_scripts
from attention_book.tokenizers.punctuation import detokenize
from attention_book.training.chunked_loss import chunked_translation_loss
from experiments.catalogues import read_catalogues


CACHE = Path(__file__).parents[1] / ".cache" / "experiments" / "everyday"


@cache
def corpus() -> Corpus:
    """The pairs: for training, validation and the test."""
    path = os.environ.get("EVERYDAY_PAIRS", "")
    if not path:
        raise ValueError(
            "EVERYDAY_PAIRS must be the path of Tatoeba's English-Chinese "
            "pairs, as manythings.org/anki has them, got nothing"
        )
    return load_corpus(path)


class Dropout:
    """Cuts text by a tokenizer's merges, each of which may be left out.

    What is not ASCII is cut as usual: the merges of a Chinese character are
    of its bytes, and no model should learn to write it in two.

    Source: Provilkov et al. (2020), §3, BPE-dropout.
    """

    def __init__(
        self, tokenizer: BPETokenizer, rate: float, seed: int
    ) -> None:
        self.tokenizer = tokenizer
        self.rate = rate
        self.rng = random.Random(seed)

    def __len__(self) -> int:
        return len(self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """Return token ids, of more and smaller pieces than usual."""
        token_ids = self.tokenizer.encode(text)
        n = int(text.startswith(DIRECTIONS))
        for direction in DIRECTIONS:
            text = text.removeprefix(direction)
        kept = token_ids[:n]
        for part in self.tokenizer.split(text):
            kept += self._cut(part)
        return kept

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text, as the tokenizer does."""
        return self.tokenizer.decode(token_ids)

    def _cut(self, part: bytes) -> list[int]:
        ranks = self.tokenizer.ranks
        rate = self.rate if part.isascii() else 0.0
        row = [bytes([byte]) for byte in part]
        while True:
            found = [
                (ranks[pair], i)
                for i, pair in enumerate(pairwise(row))
                if pair in ranks and self.rng.random() >= rate
            ]
            if not found:
                return [self.tokenizer.token_ids[piece] for piece in row]
            _, i = min(found)
            row[i : i + 2] = [row[i] + row[i + 1]]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a translator is trained; the defaults are those of the search."""

    n_pairs: int | None = None  # of the training set; None for all
    careless: bool = False  # learn near copies of questions, too
    directions: str = "both"  # or en-zh, zh-en
    more: str = ""  # data beside the pairs, of a name that pairs_of knows
    vocab_size: int = 4000
    subword_dropout: float = 0.0
    word_dropout: float = 0.0  # of source tokens, left out
    d_model: int = 128
    n_layers: int = 4
    n_decoder_layers: int = 2
    n_heads: int = 4
    dropout: float = 0.1
    share_embeddings: bool = True
    label_smoothing: float = 0.1
    learning_rate: float = 2e-3
    batch_tokens: int = 2000
    max_steps: int = 4000
    warmup_steps: int = 400
    precision: Precision = "bf16"
    watched: bool = False  # whether to keep the loss of each 250 steps
    averaged: bool = False  # over five points of the last 250 steps


@cache
def questions() -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Validation pairs: those with near copies, those without, the others.

    The others are a half, drawn at random, and hold the near copies.
    """
    validation = corpus().validation
    shuffled = random.Random(0).sample(validation, len(validation))
    asked, others = shuffled[::2], shuffled[1::2]
    similar = [SimilarTexts(side) for side in zip(*others, strict=True)]
    near, alone = [], []
    for pair in asked:
        found = [x.near(text) for x, text in zip(similar, pair, strict=True)]
        (near if any(found) else alone).append(pair)
    return near, alone, others


def pairs_of(recipe: Recipe) -> tuple[list[Pair], list[Pair]]:
    """The training pairs of a recipe, and those to validate on."""
    parts = corpus()
    train, validation = parts.train, parts.validation
    if recipe.n_pairs:
        train = random.Random(1).sample(train, recipe.n_pairs)
    if recipe.careless:
        train = [*train, *questions()[2]]
    if recipe.more == "catalogues":
        messages = clean(read_catalogues(), max_length=80)
        train = [*train, *random.Random(2).sample(messages, len(train))]
    elif recipe.more == "grammar":
        made = make_split(len(train), 1).train
        train = [
            *train,
            *((detokenize(x).capitalize(), detokenize(y)) for x, y in made),
        ]
    elif recipe.more == "back-translations":
        train = [*train, *back_translated(recipe, train)]
    elif recipe.more == "cedict in frames":
        words = read_cedict(os.environ["EVERYDAY_CEDICT"], train)
        train = [*train, *words, *in_frames(words, train, 15_000)]
    elif recipe.more not in ("", "copies afresh"):
        raise ValueError(f"wanted data of a known name, got {recipe.more!r}")
    return train, validation


def back_translated(recipe: Recipe, pairs: Sequence[Pair]) -> list[Pair]:
    """Each sentence of pairs with what a model makes of it.

    The model is that of seed 0 which learnt from the pairs alone.

    Source: Sennrich et al. (2016), §3, who take other sentences.
    """
    recipe = dataclasses.replace(recipe, more="", averaged=False)
    path = kept_in(recipe, 0).with_suffix(".back.json")
    if not path.exists():
        translator = train(recipe, 0, "to translate back:").translator
        english, chinese = zip(*pairs, strict=True)
        found = [
            *zip(translator.translate(chinese), chinese, strict=True),
            *zip(english, translator.translate(english), strict=True),
        ]
        path.write_text(json.dumps(found, ensure_ascii=False), "utf-8")
    kept = json.loads(path.read_text("utf-8"))
    return [(source, target) for source, target in kept if source and target]


def read_cedict(path: str, train: Sequence[Pair]) -> list[Pair]:
    """Read CC-CEDICT's words of common characters, with one-word meanings."""
    seen: dict[str, int] = {}
    for _, chinese in train:
        for character in chinese:
            seen[character] = seen.get(character, 0) + 1
    opened: Any = gzip.open if path.endswith(".gz") else open
    found: dict[Pair, None] = {}
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = re.match(r"\S+ ([\u4e00-\u9fff]{1,4}) \[.*?\] /(.*)/$", line)
            if not row or min(seen.get(x, 0) for x in row[1]) < 5:
                continue
            for meaning in re.split("[/;]", row[2])[:2]:
                meaning = re.sub(r"\([^)]*\)", "", meaning).strip(" ,.\n")
                if re.fullmatch(r"(to )?[A-Za-z'-]+", meaning):
                    found[meaning, row[1]] = None
    return list(found)


_NO_NOUN = re.compile(
    "(?:ed|ing|ous|ful|[ai]ble|al|ive|ic|less|ly|ish|[ea]nt|y)$"
)
_FRAME = re.compile(
    r"\b(an?|the|my|your|his|her|our|their|this|that) ([a-z]{3,})"
    r"(?=[.,?!]|$| (?:is|was|of|in|on|at|to|for|and|from|with|by)\b)"
)
_MEASURES = "个只本张条件把辆台间位名座栋匹头杯瓶块片部"


def in_frames(
    words: Sequence[Pair], train: Sequence[Pair], n: int
) -> list[Pair]:
    """Sentences in which a noun of the dictionary replaces another one.

    The one that goes is in the dictionary as well, on both sides; the one
    that comes is in fewer than four sentences.

    Source: Fadaee et al. (2017), §3, with a dictionary for the translation.
    """
    rng = random.Random(0)
    nouns: dict[str, list[str]] = {}
    for english, chinese in words:
        if (
            re.fullmatch("[a-z]{3,}", english)
            and not _NO_NOUN.search(english)
            and 2 <= len(chinese) <= 3
            and not chinese.endswith("的")
        ):
            nouns.setdefault(english, []).append(chinese)
    seen = Counter(x for text, _ in train for x in {*text.lower().split()})
    rare = [(x, y) for x, ys in nouns.items() if seen[x] < 4 for y in ys]
    frames = []
    for english, chinese in train:
        for match in _FRAME.finditer(english):
            for noun in nouns.get(match[2], ()):
                before, _, after = chinese.partition(noun)
                if (
                    chinese.count(noun) == 1
                    and (before or " ")[-1] not in _MEASURES
                ):
                    start, end = match.span()
                    frame = english[:start], match[1], english[end:]
                    frames.append((frame, (before, after)))
    found: dict[Pair, None] = {}
    while len(found) < n:
        (left, article, right), (before, after) = rng.choice(frames)
        noun, chinese = rng.choice(rare)
        if article in ("a", "an"):
            article = "an" if noun[0] in "aeiou" else "a"
        pair = f"{left}{article} {noun}{right}", f"{before}{chinese}{after}"
        found[pair] = None
    return list(found)


@dataclasses.dataclass
class Trained:
    """A translator and how it was trained."""

    translator: Translator
    facts: dict[str, float]


def directed(pairs: Sequence[Pair], directions: str) -> list[Pair]:
    """Pairs in the directions of a recipe, as the model reads them."""
    both = both_directions(list(pairs))
    ways = {"both": both, "en-zh": both[::2], "zh-en": both[1::2]}
    return ways[directions]


def kept_in(recipe: Recipe, seed: int) -> Path:
    """Where the model of a recipe is kept."""
    of = hashlib.sha256(repr((recipe, seed)).encode()).hexdigest()[:12]
    return CACHE / f"{of}.safetensors"


def train(recipe: Recipe, seed: int, note: str = "") -> Trained:
    """Train a translator, or go on from its last checkpoint."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    pairs, validation = pairs_of(recipe)
    texts = [text for pair in directed(pairs, "both") for text in pair]
    tokens = BPETokenizer.train(texts, recipe.vocab_size, DIRECTIONS)
    config = TrainingConfig(
        max_steps=recipe.max_steps,
        batch_tokens=recipe.batch_tokens,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_steps,
        label_smoothing=recipe.label_smoothing,
        precision=recipe.precision,
        seed=seed,
    )
    torch.manual_seed(seed)
    model = Transformer(
        TransformerConfig(
            source_vocab_size=len(tokens),
            target_vocab_size=len(tokens),
            share_embeddings=recipe.share_embeddings,
            d_model=recipe.d_model,
            d_ff=4 * recipe.d_model,
            n_heads=recipe.n_heads,
            n_layers=recipe.n_layers,
            n_decoder_layers=recipe.n_decoder_layers,
            dropout=recipe.dropout,
            norm="pre",
        )
    )
    rows = directed(pairs, recipe.directions)
    afresh = recipe.more == "copies afresh"
    varied = afresh or recipe.subword_dropout or recipe.word_dropout
    n = 8 if varied else 1
    dropped: Any = Dropout(tokens, recipe.subword_dropout, seed)
    cut = dropped if recipe.subword_dropout else tokens
    rows *= n
    if afresh:
        each = [with_copies(pairs, i) for i in range(n)]
        rows = directed([x for y in each for x in y], recipe.directions)
    examples = encode_pairs(rows, cut, cut)
    if recipe.word_dropout:
        rng = random.Random(seed)
        examples = [
            (leave_out(source, recipe.word_dropout, rng), target)
            for source, target in examples
        ]
    batches = TranslationBatches(examples, config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    path = kept_in(recipe, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = path.with_suffix(".json")
    watched = path.with_suffix(".bits.json")
    seconds = 0.0
    bits: dict[int, list[float]] = {}
    if path.exists():
        load_checkpoint(path, trainer)
        seconds = json.loads(clock.read_text("utf-8"))
        if recipe.watched:
            bits = json.loads(watched.read_text("utf-8"))
    while len(trainer.losses) < config.max_steps:
        start = time.process_time()
        points = []
        for _ in range(min(250, config.max_steps - len(trainer.losses))):
            trainer.step()
            if recipe.averaged and len(trainer.losses) % 50 == 0:
                points.append([x.detach().clone() for x in model.parameters()])
        seconds += time.process_time() - start
        if recipe.watched:
            bits[len(trainer.losses)] = [
                each
                for part in (validation, *questions()[:2])
                for each in bits_of(trainer, tokens, part, recipe).values()
            ]
            watched.write_text(json.dumps(bits), "utf-8")
        clock.write_text(json.dumps(seconds), "utf-8")
        save_checkpoint(path, trainer, (tokens, tokens))
        recent = trainer.losses[-100:]
        print(
            note,
            len(trainer.losses),
            f"{sum(recent) / len(recent):.3f} {seconds:.0f} s",
            flush=True,
        )
        if recipe.averaged and len(trainer.losses) == config.max_steps:
            with torch.no_grad():
                for x, *each in zip(model.parameters(), *points, strict=True):
                    x.copy_(torch.stack(each).mean(0))
            save_checkpoint(path, trainer, (tokens, tokens))
    facts = {
        "seconds": seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "epochs": config.max_steps / len(batches) * n,
        "training loss": sum(trainer.losses[-250:]) / 250,
    }
    found = bits_of(trainer, tokens, validation, recipe)
    facts |= {f"{direction} bits": x for direction, x in found.items()}
    return Trained(Translator(model.eval(), tokens, tokens), facts)


def leave_out(
    token_ids: Sequence[int], rate: float, rng: random.Random
) -> list[int]:
    """All but some tokens; the first, of the direction, stays."""
    first, *others = token_ids
    return [first, *(x for x in others if rng.random() >= rate)]


def bits_of(
    trainer: Trainer,
    tokens: BPETokenizer,
    validation: Sequence[Pair],
    recipe: Recipe,
) -> dict[str, float]:
    """The loss of each direction, in bits a character of the target."""
    bits = {}
    for direction in ("en-zh", "zh-en"):
        if recipe.directions in ("both", direction):
            held_out = directed(validation, direction)
            batches = TranslationBatches(
                encode_pairs(held_out, tokens, tokens), trainer.config
            )
            n_tokens = sum(len(target) - 1 for _, target in batches.examples)
            n_characters = sum(len(target) for _, target in held_out)
            nats = validation_loss(trainer, batches) * n_tokens
            bits[direction] = nats / n_characters / math.log(2)
    return bits


def exam(pairs: Sequence[Pair], direction: str) -> dict[str, list[str]]:
    """The different sources of pairs, in a direction, with all references."""
    turned = direction == "zh-en"
    return references_of(
        (y, x) if turned else (x, y)
        for x, y in [(space_scripts(x), space_scripts(y)) for x, y in pairs]
    )
