"""A masked language model, fine-tuned on two tasks.

The model is that of "BERT and GPT", the tasks are from "Three shapes of task".
It begins with nothing, with what it learnt from help pages, or with what it
learnt from these and then from sentences of the grammar without labels. The
tasks are to tag the words of such sentences, and to tell their construction.
"""

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_book.data.batches import pad
from attention_book.models.language import MaskedLanguageModel
from attention_book.models.text import SequenceClassifier, TokenClassifier
from attention_book.tokenizers.special_tokens import BOS, EOS
from corpora.help_pages import make_rows
from corpora.tasks.sentences import LabelledSentence, draw_sentences
from corpora.tasks.tags import UPOS
from corpora.wide.grammar import CONSTRUCTIONS
from experiments.help_pages import RATE, STEPS, cells, make, text
from experiments.record import percent


SEEDS = range(3)
IGNORED = -100  # the label that cross_entropy leaves out
LABELLED = (30, 100, 300, 1000)
N_CHOSEN_ON = 500
N_TESTED_ON = 1_000
N_UNLABELLED = 8_000
STEPS_UNLABELLED = 1_000
TUNING_STEPS = 150
TUNING_RATES = (1e-3, 3e-3)
TASKS = {
    "tags": (TokenClassifier, len(UPOS)),
    "constructions": (SequenceClassifier, len(CONSTRUCTIONS)),
}
STARTS = {
    "nothing": "不预训练 | nothing",
    "help": "帮助文档 | help pages",
    "both": "帮助文档，再读没有标签的句子 | "
    "help pages, then unlabelled sentences",
}
Examples = list[tuple[list[int], list[int]]]


def encode(sentence: LabelledSentence, task: str) -> tuple[Any, Any]:
    """The tokens, and the labels of those that have one.

    A word's tag is that of its first token.
    """
    tokenizer, *_ = text()
    ids, labels = [BOS], [IGNORED]
    words = sentence.english.split()
    for i, (word, tag) in enumerate(zip(words, sentence.tags, strict=True)):
        pieces = tokenizer.encode(f" {word}" if i else word)
        ids += pieces
        labels += [UPOS.index(tag), *[IGNORED] * (len(pieces) - 1)]
    if task == "constructions":
        labels = [CONSTRUCTIONS.index(sentence.construction)]
    return [*ids, EOS], [*labels, IGNORED] if task == "tags" else labels


def draw(n: int, seed: int, task: str) -> Examples:
    """Different sentences; those too long for the models are left out."""
    found = [encode(x, task) for x in draw_sentences(2 * n, seed)]
    return [x for x in found if len(x[0]) <= cells()["LENGTH"]][:n]


def collate(examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    labels = [torch.tensor(y) for _, y in examples]
    padded = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
    return *pad([ids for ids, _ in examples]), padded.squeeze(-1)


def fine_tune(
    start: MaskedLanguageModel,
    task: str,
    examples: Examples,
    rate: float,
    seed: int,
) -> nn.Module:
    """A classifier whose trunk begins as that of a language model."""
    kind, n_labels = TASKS[task]
    torch.manual_seed(seed)
    model = kind(start.config, n_labels)
    model.encoder.load_state_dict(start.encoder.state_dict())

    def loss(model: nn.Module, chosen: Tensor, _: torch.Generator) -> Tensor:
        *inputs, labels = collate([examples[i] for i in chosen.flatten()])
        logits = model(*inputs)
        return F.cross_entropy(logits.view(-1, n_labels), labels.flatten())

    numbers = torch.arange(len(examples))[:, None]
    trained: nn.Module = cells()["train"](
        model, numbers, loss, seed, TUNING_STEPS, rate
    )
    return trained


@torch.no_grad()
def accuracy(model: nn.Module, examples: Examples) -> float:
    *inputs, labels = collate(examples)
    is_right = model(*inputs).argmax(-1) == labels
    return is_right[labels != IGNORED].double().mean().item()


def pretrain(seed: int) -> dict[str, MaskedLanguageModel]:
    """The masked model before, after help pages, and after sentences too."""
    tokenizer, rows, _ = text()
    page = cells()
    starts = {"nothing": make(MaskedLanguageModel, seed)}
    model = starts["help"] = make(MaskedLanguageModel, seed)
    page["train"](model, rows, page["masked_loss"], seed, STEPS, RATE)
    model = starts["both"] = copy.deepcopy(model)
    sentences = [x.english for x in draw_sentences(N_UNLABELLED, 100 + seed)]
    rows = make_rows(sentences, tokenizer, page["LENGTH"])
    steps, rate = STEPS_UNLABELLED, RATE / 3
    page["train"](model, rows, page["masked_loss"], seed, steps, rate)
    return starts


def run(seed: int) -> dict[str, float]:
    """Accuracy by task, start and number of labelled sentences.

    The rate is the one that is best on sentences that are not tested on.
    """
    starts = pretrain(seed)
    found = {}
    for task in TASKS:
        n_held = N_CHOSEN_ON + N_TESTED_ON
        drawn = draw(max(LABELLED) + n_held, seed, task)
        held = drawn[-n_held:]
        chosen_on, tested_on = held[:N_CHOSEN_ON], held[N_CHOSEN_ON:]
        for name, start in starts.items():
            for n in LABELLED:
                models = [
                    fine_tune(start, task, drawn[:n], rate, seed)
                    for rate in TUNING_RATES
                ]
                scores = [accuracy(model, chosen_on) for model in models]
                best = models[scores.index(max(scores))]
                score = accuracy(best, tested_on)
                found[f"{task}, {name}, {n} labelled"] = score
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "从哪里开始 | start",
        *(f"{n} 句 | {n} labelled" for n in LABELLED),
    ]
    return {
        task: [
            head,
            *(
                [
                    title,
                    *(
                        percent(results[f"{task}, {start}, {n} labelled"])
                        for n in LABELLED
                    ),
                ]
                for start, title in STARTS.items()
            ),
        ]
        for task in TASKS
    }
