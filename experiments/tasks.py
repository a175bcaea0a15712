"""Parts of speech, constructions and reviews: tokens alone or in a bag, as a
set, and in order.

Each arm of each task has the same epochs and the same number of learning
rates to choose from, and takes the best one on sentences, or reviews, that
are neither trained on nor tested. Their nouns and adjectives are apart too.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention_book.models.config import TextConfig
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.tokenizers.special_tokens import BOS
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.classifiers import (
    TextBatches,
    predict,
    train_classifier,
)
from attention_book.training.loading import Example
from corpora.tasks.baselines import Alone, BagOfWords, without_positions
from corpora.tasks.reviews import make_reviews
from corpora.tasks.sentences import LabelledSentence, draw_sentences
from corpora.tasks.tags import UPOS
from corpora.wide.grammar import CONSTRUCTIONS
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 8_000
N_TEST = 1_000  # and as many for validation
EPOCHS = {"tags": 5, "constructions": 20, "reviews": 30}
RATES = (5e-4, 1e-3, 3e-3, 1e-2)
RATES_OF_BAGS = (3e-3, 1e-2, 3e-2, 1e-1)
FORMS = {
    "plain": "直接 | plain",
    "negation": "否定 | negation",
    "double": "双重否定 | double negation",
    "contrast": "对比 | contrast",
}
NAMES = {
    "bag": "词袋 | bag of words",
    "set": "没有位置 | without positions",
    "trunk": "主干 | trunk",
}


def ambiguous(sentences: list[LabelledSentence]) -> set[str]:
    """The words that have several tags."""
    tags: dict[str, set[str]] = {}
    for sentence in sentences:
        for word, tag in zip(
            sentence.english.split(), sentence.tags, strict=True
        ):
            tags.setdefault(word, set()).add(tag)
    return {word for word in tags if len(tags[word]) > 1}


def by_neighbours(sentences: list[LabelledSentence]) -> list[str]:
    """Tags of the test by counting those between the same two neighbours.

    Where the three words never stood together, two of them are asked, then
    one. The first N_TEST sentences are the test, as many more not counted.
    """
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def clues(words: list[str], i: int) -> list[tuple[str, ...]]:
        left, word, right = [".", *words, "."][i : i + 3]
        return [(left, word, right), (word, right), ("", left, word), (word,)]

    for sentence in sentences[2 * N_TEST :]:
        words = sentence.english.split()
        for i, tag in enumerate(sentence.tags):
            for clue in clues(words, i):
                counts[clue][tag] += 1
    found = []
    for sentence in sentences[:N_TEST]:
        words = sentence.english.split()
        for i in range(len(words)):
            best = next(clue for clue in clues(words, i) if clue in counts)
            found.append(counts[best].most_common(1)[0][0])
    return found


def accuracy(found: Tensor, right: Tensor) -> float:
    return (found == right).double().mean().item()


def macro_f1(found: Tensor, right: Tensor) -> float:
    """The mean over the labels of 2 hits / (found + right)."""
    scores = []
    for label in right.unique():
        hits = ((found == label) & (right == label)).sum()
        count = (found == label).sum() + (right == label).sum()
        scores.append(2 * hits / count)
    return torch.stack(scores).mean().item()


def run(seed: int) -> dict[str, float]:
    results: dict[str, float] = {}

    def make(name: str, task: str, vocab_size: int, n: int) -> nn.Module:
        config = TextConfig(
            vocab_size=vocab_size,
            max_length=64,
            d_model=64,
            n_heads=4,
            d_ff=128,
            n_layers=2,
            dropout=0.0,
        )
        torch.manual_seed(seed)
        if name == "bag":
            return (Alone if task == "tags" else BagOfWords)(config, n)
        classifier = TokenClassifier if task == "tags" else SequenceClassifier
        model = classifier(config, n)
        if name == "set":
            without_positions(model)
        return model

    def compare(
        task: str,
        examples: list[Example],
        n_test: int,
        vocab_size: int,
        n_labels: int,
        measure: Callable[[str, Tensor, Tensor], None],
    ) -> None:
        validation = examples[n_test : 2 * n_test]
        for name in NAMES:
            models = {}
            for rate in RATES_OF_BAGS if name == "bag" else RATES:
                model = make(name, task, vocab_size, n_labels)
                train_classifier(
                    model,
                    TextBatches(examples[2 * n_test :], seed=seed),
                    n_epochs=EPOCHS[task],
                    learning_rate=rate,
                    weight_decay=0.1,
                    seed=seed,
                )
                right = accuracy(*predict(model, validation))
                results[f"{task}, {name}, validation at {rate:g}"] = right
                models[right] = model  # of several as good, the last
            best = models[max(models)]
            measure(name, *predict(best, examples[:n_test]))

    sentences = draw_sentences(2 * N_TEST + N_TRAIN, seed)
    tokenizer = WordTokenizer.train([s.english for s in sentences])
    words = [w for s in sentences[:N_TEST] for w in s.english.split()]
    several = ambiguous(sentences)
    hard = torch.tensor([word in several for word in words])

    def measure_tags(name: str, found: Tensor, right: Tensor) -> None:
        results[f"tags, {name}, words"] = accuracy(found, right)
        results[f"tags, {name}, ambiguous"] = accuracy(
            found[hard], right[hard]
        )
        results[f"tags, {name}, F1"] = macro_f1(found, right)

    def measure_kinds(name: str, found: Tensor, right: Tensor) -> None:
        results[f"constructions, {name}, accuracy"] = accuracy(found, right)
        results[f"constructions, {name}, F1"] = macro_f1(found, right)

    size = len(tokenizer)
    counted = torch.tensor([UPOS.index(x) for x in by_neighbours(sentences)])
    written = [tag for s in sentences[:N_TEST] for tag in s.tags]
    measure_tags(
        "counted", counted, torch.tensor([UPOS.index(x) for x in written])
    )
    encoded = [[BOS, *tokenizer.encode(s.english)] for s in sentences]
    tags = [[UPOS.index(name) for name in s.tags] for s in sentences]
    examples = [(x, [-100, *y]) for x, y in zip(encoded, tags, strict=True)]
    compare("tags", examples, N_TEST, size, len(UPOS), measure_tags)
    kinds = [[CONSTRUCTIONS.index(s.construction)] for s in sentences]
    examples = list(zip(encoded, kinds, strict=True))
    n_labels = len(CONSTRUCTIONS)
    compare("constructions", examples, N_TEST, size, n_labels, measure_kinds)

    training, test = make_reviews(seed)
    reviews = [*test, *training]
    tokenizer = WordTokenizer.train([r.text for r in reviews])

    def measure_reviews(name: str, found: Tensor, right: Tensor) -> None:
        for form in FORMS:
            rows = torch.tensor([review.form == form for review in test])
            results[f"reviews, {name}, {form}"] = accuracy(
                found[rows], right[rows]
            )

    examples = [
        ([BOS, *tokenizer.encode(r.text)], [int(r.is_positive)])
        for r in reviews
    ]
    size = len(tokenizer)
    compare("reviews", examples, len(test), size, 2, measure_reviews)
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def cell(values: list[float]) -> str:
        same = len(set(values)) == 1
        return f"{100 * values[0]:.1f}%" if same else percent(values)

    def table(
        task: str, columns: dict[str, str], names: dict[str, str]
    ) -> list[list[str]]:
        return [["模型 | model", *columns.values()]] + [
            [
                title,
                *(cell(results[f"{task}, {name}, {c}"]) for c in columns),
            ]
            for name, title in names.items()
        ]

    f1 = {"F1": "宏平均 F1 | macro F1"}
    alone = {
        "bag": "单个词元 | each token alone",
        "counted": "数左右两个词 | counting by both neighbours",
        "set": NAMES["set"],
        "trunk": NAMES["trunk"],
    }
    tag_columns = {
        "words": "全部 | all words",
        "ambiguous": "兼类词 | ambiguous",
    }
    kinds = {"accuracy": "正确率 | accuracy"} | f1
    return {
        "tags": table("tags", tag_columns | f1, alone),
        "constructions": table("constructions", kinds, NAMES),
        "reviews": table("reviews", FORMS, NAMES),
    }
