"""Maps of attention against replacing, in other models: "Reading attention".

Beside the Transformer that translates stand a GRU with attention that learns
the same task, a language model of the size of its chapter, trained a third as
long, and the ViT of its chapter. Each map is compared with what happens when
other words or patches stand in the place of one, as in interpret_readings.
Why maps of the language model do badly is asked in interpret_residual.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
    input_x_gradient,
    integrated_gradients,
    occlusion,
    trace,
)
from attention_book.data.digits import load_digits
from attention_book.data.sources import load_corpus
from attention_book.data.split import make_split
from attention_book.models.config import ViTConfig
from attention_book.models.language import CausalLanguageModel
from attention_book.models.seq2seq import AttentiveSeq2Seq
from attention_book.models.vit import ViT
from attention_book.tokenizers.special_tokens import PAD
from attention_book.training.classifiers import ImageBatches, train_classifier
from attention_book.training.loading import Batch
from corpora.biased.replays import ReplayableGrammar
from experiments.help_pages import RATE, cells, make, text
from experiments.record import percent, spread
from experiments.translators import translator, unseen


SEEDS = range(3)
N = 30  # sentences, rows of text and images of each model
GRU_STEPS = 1_200
LM_STEPS = 1_000
N_OTHERS = 5  # that are put in the place of a token or a patch
MOVED = 1  # by how much some of them must lower a log-probability
MOST = 64  # places
FEWEST = 3  # places that are ranked
MODELS = {
    "transformer": "Transformer，翻译 | Transformer, translates",
    "gru": "GRU，翻译 | GRU, translates",
    "text": "语言模型 | language model",
    "digits": "ViT，数字 | ViT, digits",
}
METHODS = {
    "attention": "注意力 | attention",
    "gradient": "梯度 | gradient",
    "integrated": "积分 | integrated",
    "leave-one-out": "去词 | left out",
    "random": "随机 | random",
}


class Example(NamedTuple):
    """What one call of a model computes, and where it is looked at."""

    inputs: tuple[Tensor, ...]
    site: str  # of the vectors that are left out
    weights: str  # sites of attention
    targets: Tensor  # what is scored in each row of the logits
    others: list[tuple[int, Tensor]]  # a place, and what is put in

    def score(self, logits: Tensor) -> Tensor:
        logits = logits.reshape(-1, logits.shape[-1])
        return logits.log_softmax(-1)[range(len(self.targets)), self.targets]


def translations(found: Translator, site: str, sites: str) -> list[Example]:
    """A sentence each, and all that differ in one word."""
    grammar = ReplayableGrammar()
    make_split(n_train=1, n_test=1000, grammar=grammar)  # these among them
    asked = []
    for pair in unseen(N):
        ((source, target),) = encode_pairs([pair], found.source, found.target)
        ids = torch.tensor([source])
        others = []
        for phrase in grammar.neighbours(pair[0]):
            changed = torch.tensor([found.encode(phrase.english)])
            ((_, place),) = (changed != ids).nonzero().tolist()
            others.append((place, changed))
        inputs = (
            ids,
            torch.tensor([len(source)]),
            torch.tensor([target[:-1]]),
        )
        targets = torch.tensor(target[1:])
        asked.append(Example(inputs, site, sites, targets, others))
    return asked


def rows_of_text(rows: Tensor, rng: random.Random) -> list[Example]:
    """Rows, in which other tokens of the same text are put in."""
    tokens = rows.flatten().tolist()
    asked = []
    for row in rows[:N]:
        others = []
        for place in range(1, len(row) - 1):  # not <bos>
            for other in rng.sample(tokens, N_OTHERS):
                changed = row[None, :-1].clone()
                changed[0, place] = other
                others.append((place, changed))
        inputs = (row[None, :-1],)
        asked.append(
            Example(inputs, "encoder.tokens", "*.weights", row[1:], others)
        )
    return asked


@torch.no_grad()
def classified(vit: ViT, images: Tensor, rng: random.Random) -> list[Example]:
    """Images, in which the same patch of other images is put in."""
    size = vit.config.patch_size
    n = vit.config.image_size // size
    asked = []
    for image in images[:N]:
        others = []
        for place in range(n * n):
            top, left = place // n * size, place % n * size
            part = (slice(top, top + size), slice(left, left + size))
            for i in rng.sample(range(len(images)), N_OTHERS):
                changed = image[None].clone()
                changed[..., *part] = images[i][..., *part]
                others.append((place, changed))
        label = vit(image[None]).argmax(dim=-1)
        asked.append(
            Example((image[None],), "embed", "*.weights", label, others)
        )
    return asked


def gru_loss(
    model: nn.Module, batch: Batch, label_smoothing: float = 0.0
) -> Tensor:
    """The mean cross-entropy of each next token."""
    target = batch.target
    logits = model(batch.source, batch.source_lengths, target[:, :-1])
    return F.cross_entropy(
        logits.flatten(0, 1),
        target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=label_smoothing,
    )


def train_gru(seed: int, pairs: Any, sizes: tuple[int, int]) -> nn.Module:
    torch.manual_seed(seed)
    model = AttentiveSeq2Seq(
        source_vocab_size=sizes[0], target_vocab_size=sizes[1], d_model=128
    )
    config = TrainingConfig(max_steps=GRU_STEPS, learning_rate=4e-3, seed=seed)
    trainer = Trainer(
        model, TranslationBatches(pairs, config), config, gru_loss
    )
    for _ in range(config.max_steps):
        trainer.step()
    return model.eval()


def models(seed: int) -> Iterator[tuple[str, nn.Module, list[Example]]]:
    """Each model, trained, and what it is asked."""
    found = translator(seed)
    cross = "*cross_attention.weights"
    sites = ("source_embedding.tokens", cross)
    yield "transformer", found.model, translations(found, *sites)

    corpus = load_corpus("grammar")
    pairs = encode_pairs(corpus.train, found.source, found.target)
    gru = train_gru(seed, pairs, (len(found.source), len(found.target)))
    sites = ("encoder.embedding", "attention.weights")
    yield "gru", gru, translations(found, *sites)

    _, train, held = text()
    model = make(CausalLanguageModel, seed)
    loss = cells()["causal_loss"]
    cells()["train"](model, train, loss, seed, LM_STEPS, RATE)
    rng = random.Random(seed)
    yield "text", model, rows_of_text(held, rng)

    torch.manual_seed(seed)
    vit = ViT(
        ViTConfig(
            image_size=8,
            patch_size=2,
            n_channels=1,
            n_classes=10,
            d_model=64,
            n_heads=4,
            d_ff=128,
            n_layers=3,
        )
    )
    train_set, (images, _) = load_digits()
    batches = ImageBatches(train_set, seed=seed)
    train_classifier(vit, batches, n_epochs=36, seed=seed)
    yield "digits", vit.eval(), classified(vit.eval(), images, rng)


@torch.no_grad()
def replaced(model: nn.Module, example: Example) -> Tensor:
    """By how much each score falls when others stand in each place.

    The mean of all that are put in; -inf where nothing was.
    """
    rest = example.inputs[1:]
    right = example.score(model(*example.inputs))
    falls = torch.zeros(len(right), MOST)
    counts = torch.zeros(MOST)
    for place, changed in example.others:
        falls[:, place] += right - example.score(model(changed, *rest))
        counts[place] += 1
    return (falls / counts).nan_to_num(-torch.inf)


def maps(model: nn.Module, example: Example) -> dict[str, Tensor]:
    """What each method says: (tokens that are scored, tokens they rest on)."""
    call = (model, example.inputs, example.site, example.score)
    left_out = occlusion(*call)
    n_outputs, n_tokens = left_out.shape
    with torch.no_grad():
        seen = trace(model, example.inputs, [example.weights]).activations
    weights = [w[0].view(-1, *w.shape[-2:]).mean(0) for w in seen.values()]
    attention = torch.stack(weights).mean(dim=0)
    # The ViT's class token asks, and is no patch itself.
    attention = attention[:n_outputs, -n_tokens:]
    return {
        "attention": attention,
        "gradient": input_x_gradient(*call).abs(),
        "integrated": integrated_gradients(*call).abs(),
        "leave-one-out": left_out,
        "random": torch.rand(n_outputs, n_tokens),
    }


def kendall(a: Tensor, b: Tensor) -> float:
    """Kendall's tau of two lists of numbers."""
    i, j = torch.triu_indices(len(a), len(a), 1)
    signs = torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j])
    return signs.mean().item()


def compare(model: nn.Module, examples: list[Example]) -> dict[str, float]:
    """How well each method agrees with replacing, over all outputs."""
    found = defaultdict(list)
    for example in examples:
        exact = replaced(model, example)
        moved = (exact.amax(dim=1) > MOVED).nonzero().flatten()
        found["moved"].append(len(moved) / len(exact))
        for name, reading in maps(model, example).items():
            for i in moved:
                falls = exact[i, : reading.shape[1]]
                # A causal model has weights of 0 on what comes later.
                there = falls.isfinite() & (falls != 0)
                if there.sum() < FEWEST:
                    continue
                one, other = reading[i, there], falls[there]
                found[f"{name}, tau"].append(kendall(one, other))
                same = one.argmax() == other.argmax()
                found[f"{name}, first"].append(float(same))
    return {name: fmean(values) for name, values in found.items()}


def run(seed: int) -> dict[str, float]:
    results = {}
    for name, model, examples in models(seed):
        torch.manual_seed(seed)
        for key, value in compare(model, examples).items():
            results[f"{name}, {key}"] = value
        right = [
            model(*each.inputs).argmax(-1).flatten().tolist()
            == each.targets.tolist()
            for each in examples
        ]
        results[f"{name}, right"] = fmean(right)
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    steps = f"{LM_STEPS:,}"
    text_model = f"语言模型，{steps} 步 | language model, {steps} steps"
    short = ("Transformer", "GRU", text_model, "ViT")
    shares = [f"{model}, moved" for model in MODELS]
    moved = [percent(results[key], 0) for key in shares]
    shown: dict[str, list[list[str]]] = {}
    for kind in "tau", "first":
        shown[kind] = [
            ["模型 | model", *short],
            ["换了要紧的 | outputs that depend", *moved],
        ]
        for name, title in METHODS.items():
            each = [results[f"{model}, {name}, {kind}"] for model in MODELS]
            cells = [
                percent(x, 0)
                if kind == "first"
                else spread(x, 2).replace("-0.00", "0.00")
                for x in each
            ]
            shown[kind].append([title, *cells])
    return shown
