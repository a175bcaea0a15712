"""Roles of words, and who acts in a sentence: tokens alone or in a bag, as a
set, and in order.

Does the trunk use the order of the words? What would refute it: without
positions it does as well, also on names that can change places. And does it
take a trunk? Not if counting does as well, by the two neighbours of a word,
or by the first name or pronoun of the sentence.

Each arm of each task has the same epochs and the same number of learning
rates to choose from, and takes the best one on sentences that are neither
trained on nor tested.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attention_book.data.lexicon import PEOPLE
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
from corpora.tasks.sentences import (
    AGENTS,
    ROLES,
    LabelledSentence,
    draw_sentences,
    swap_names,
)
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 8_000
N_TEST = 1_000  # and as many for validation
EPOCHS = {"roles": 3, "agents": 4}  # twice as many: 0.2 points at most
RATES = (1e-3, 3e-3, 1e-2)
RATES_OF_BAGS = (1e-2, 3e-2, 1e-1)
ARMS = ("bag", "set", "trunk")


def by_neighbours(
    training: Sequence[LabelledSentence], test: Sequence[LabelledSentence]
) -> list[str]:
    """Roles of the test by counting those between the same two neighbours.

    Where the three words never stood together, two of them are asked, then
    one.
    """
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def clues(words: list[str], i: int) -> list[tuple[str, ...]]:
        left, word, right = [".", *words, "."][i : i + 3]
        return [(left, word, right), (word, right), ("", left, word), (word,)]

    for sentence in training:
        words = sentence.english.split()
        for i, role in enumerate(sentence.roles):
            for clue in clues(words, i):
                counts[clue][role] += 1
    found = []
    for sentence in test:
        words = sentence.english.split()
        for i in range(len(words)):
            best = next(clue for clue in clues(words, i) if clue in counts)
            found.append(counts[best].most_common(1)[0][0])
    return found


def first_of_agents(english: str) -> str:
    """The first word that could be an agent."""
    return next(word for word in english.split() if word in AGENTS)


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


def make(arm: str, task: str, vocab_size: int, seed: int) -> nn.Module:
    """A model of the arm with the head of the task."""
    n_labels = len(ROLES) if task == "roles" else len(AGENTS)
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
    if arm == "bag":
        bag = Alone if task == "roles" else BagOfWords
        return bag(config, n_labels)
    head = TokenClassifier if task == "roles" else SequenceClassifier
    model = head(config, n_labels)
    return without_positions(model) if arm == "set" else model


def encode(
    task: str, drawn: Sequence[LabelledSentence], tokenizer: WordTokenizer
) -> list[Example]:
    examples: list[Example] = []
    for english, roles, agent, _ in drawn:
        labels = [AGENTS.index(agent)]
        if task == "roles":
            labels = [-100, *(ROLES.index(role) for role in roles)]
        examples.append(([BOS, *tokenizer.encode(english)], labels))
    return examples


def commonest(examples: Sequence[Example]) -> Tensor:
    """The label that most tokens, or sentences, of the training have."""
    labels = [x for _, labels in examples[2 * N_TEST :] for x in labels]
    counts = Counter(label for label in labels if label >= 0)
    return torch.tensor(counts.most_common(1)[0][0])


def choose(
    arm: str,
    task: str,
    examples: list[Example],
    vocab_size: int,
    seed: int,
    results: dict[str, float],
) -> nn.Module:
    """Train with each rate; return the model that validates best.

    The examples are those of the test, of validation and of training.
    """
    models = {}
    for rate in RATES_OF_BAGS if arm == "bag" else RATES:
        model = make(arm, task, vocab_size, seed)
        train_classifier(
            model,
            TextBatches(examples[2 * N_TEST :], seed=seed),
            n_epochs=EPOCHS[task],
            learning_rate=rate,
            weight_decay=0.1,
            seed=seed,
        )
        right = accuracy(*predict(model, examples[N_TEST : 2 * N_TEST]))
        results[f"{task}, {arm}, validation at {rate:g}"] = right
        models[right] = model  # of several as good, the last
    return models[max(models)]


def score_roles(
    found: Tensor, right: Tensor, test: Sequence[LabelledSentence]
) -> dict[str, float]:
    words = [word for s in test for word in s.english.split()]
    is_name = torch.tensor([word in PEOPLE for word in words])
    hits = torch.split(found == right, [len(s.roles) for s in test])
    return {
        "words": accuracy(found, right),
        "names": accuracy(found[is_name], right[is_name]),
        "F1": macro_f1(found, right),
        "sentences": sum(bool(x.all()) for x in hits) / len(hits),
    }


def score_agents(
    found: Tensor, right: Tensor, has_two_names: Tensor, n_test: int
) -> dict[str, float]:
    """Of the test, and of the pairs of a sentence and its twin after it."""
    hits = found == right
    both = hits[n_test:].view(-1, 2).all(dim=1)
    hits = hits[:n_test]
    return {
        "all": hits.double().mean().item(),
        "two names": hits[has_two_names].double().mean().item(),
        "both": both.double().mean().item(),
    }


def run(seed: int) -> dict[str, float]:
    sentences = draw_sentences(2 * N_TEST + N_TRAIN, seed)
    test, training = sentences[:N_TEST], sentences[2 * N_TEST :]
    tokenizer = WordTokenizer.train([s.english for s in sentences])
    results: dict[str, float] = {}

    def keep(task: str, arm: str, scores: dict[str, float]) -> None:
        results.update({f"{task}, {arm}, {x}": y for x, y in scores.items()})

    examples = encode("roles", sentences, tokenizer)
    for arm in ARMS:
        model = choose(arm, "roles", examples, len(tokenizer), seed, results)
        found, right = predict(model, examples[:N_TEST])
        keep("roles", arm, score_roles(found, right, test))
    counted = [ROLES.index(x) for x in by_neighbours(training, test)]
    keep("roles", "counted", score_roles(torch.tensor(counted), right, test))
    keep(
        "roles",
        "commonest",
        score_roles(commonest(examples).expand_as(right), right, test),
    )

    known = {s.english for s in training}
    twins = [swap_names(s) for s in test]
    has_two_names = torch.tensor([twin is not None for twin in twins])
    pairs = [
        part
        for s, twin in zip(test, twins, strict=True)
        if twin and twin.english not in known
        for part in (s, twin)
    ]
    results["pairs"] = len(pairs) / 2
    results["two names"] = has_two_names.double().mean().item()
    examples = encode("agents", sentences, tokenizer)
    asked = encode("agents", [*test, *pairs], tokenizer)
    for arm in ARMS:
        model = choose(arm, "agents", examples, len(tokenizer), seed, results)
        found, right = predict(model, asked)
        keep("agents", arm, score_agents(found, right, has_two_names, N_TEST))
    first = [AGENTS.index(first_of_agents(s.english)) for s in test + pairs]
    keep(
        "agents",
        "first",
        score_agents(torch.tensor(first), right, has_two_names, N_TEST),
    )
    keep(
        "agents",
        "commonest",
        score_agents(
            commonest(examples).expand_as(right), right, has_two_names, N_TEST
        ),
    )
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

    blind = {"commonest": "总猜最常见的 | always the commonest"}
    of_roles = {
        "bag": "单个词元 | each token alone",
        "counted": "数左右两个词 | counting by both neighbours",
    }
    of_agents = {
        "bag": "词袋 | bag of words",
        "first": "第一个名字或代词 | first name or pronoun",
    }
    trunks = {
        "set": "没有位置 | without positions",
        "trunk": "主干 | trunk",
    }
    scores_of_roles = {
        "words": "全部 | all words",
        "names": "人名 | names",
        "sentences": "整句 | whole sentences",
        "F1": "宏平均 F1 | macro F1",
    }
    scores_of_agents = {
        "all": "全部 | all",
        "two names": "有两个人名 | two names",
        "both": "互换也对 | and exchanged",
    }
    return {
        "roles": table("roles", scores_of_roles, blind | of_roles | trunks),
        "agents": table(
            "agents", scores_of_agents, blind | of_agents | trunks
        ),
    }
