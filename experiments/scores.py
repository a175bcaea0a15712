"""Decoders compared, for "Scoring translations".

The texts are what the programs of a Debian system say, with the translations
into Chinese that lie beside them. Three models are trained from
English to Chinese, alike but for the seed, and each decodes the same test
messages in several ways. Models and translations are kept in .cache/, so that
a run that is cut off goes on.
"""

import hashlib
import json
import math
import random
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    load_checkpoint,
    sampler,
    save_checkpoint,
    validation_loss,
)
from attention_book.data.batches import pad
from attention_book.data.cleaning import clean, split_pairs
from attention_book.data.readers import Pair
from attention_book.data.similarity import dedup_key
from attention_book.generation.beam import beam_search
from attention_book.generation.generate import NextToken, generate, greedy
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import BOS
from attention_book.training.chunked_loss import chunked_translation_loss
from experiments.catalogues import CATALOGUES, read_catalogues
from experiments.record import percent, spread


SEEDS = range(3)
CACHE = Path(__file__).parents[1] / ".cache/experiments/scores"
N_TEST = 1000
N_VALIDATION = 500
NEAR = 0.7  # so similar that one counts as a duplicate of the other
VOCAB_SIZE = 8000
MODEL = {
    "d_model": 128,
    "n_heads": 4,
    "d_ff": 512,
    "n_layers": 3,
    "dropout": 0.1,
    "norm": "pre",
    "share_embeddings": True,
}
TRAINING = {
    "max_steps": 4000,
    "batch_tokens": 1000,
    "learning_rate": 2e-3,
    "warmup_steps": 100,
    "label_smoothing": 0.1,
}
BEAM_SIZES = (1, 4, 16)
LENGTH_PENALTIES = (0.0, 0.6)
N_CANDIDATES = 16  # of minimum Bayes risk decoding
TOP_P = 0.9
BANDS = {"low": (0.0, 0.35), "middle": (0.35, 0.5), "high": (0.5, NEAR)}
N_SHOWN = 8
COLUMNS = {"bleu": "BLEU", "chrf": "chrF2"}  # as sacrebleu names them

Parts = dict[str, list[Pair]]
Systems = dict[str, list[str]]


# The texts


def trigrams(text: str) -> set[str]:
    """The groups of three characters in a text's deduplication key."""
    key = dedup_key(text)
    return {key[i : i + 3] for i in range(max(1, len(key) - 2))}


class Index:
    """Finds texts similar to a text: the Jaccard index of their trigrams."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.sizes: list[int] = []
        self.where: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            groups = trigrams(text)
            self.sizes.append(len(groups))
            for group in groups:
                self.where[group].append(number)

    def similarities(self, text: str) -> dict[int, float]:
        """The similarity of each text that shares a trigram with this one."""
        groups = trigrams(text)
        shared = Counter(n for g in groups for n in self.where.get(g, ()))
        return {
            n: count / (len(groups) + self.sizes[n] - count)
            for n, count in shared.items()
        }

    def nearest(self, text: str) -> tuple[int | None, float]:
        """The number of the most similar text, and its similarity."""
        found = self.similarities(text)
        best = max(found, key=lambda n: (found[n], -n), default=None)
        return best, 0.0 if best is None else found[best]


def drop_near(train: Sequence[Pair], held_out: Sequence[Pair]) -> list[Pair]:
    """The pairs neither of whose sides is nearly that of a held-out pair."""
    near: set[int] = set()
    for side in (0, 1):
        index = Index(pair[side] for pair in train)
        for pair in held_out:
            found = index.similarities(pair[side])
            near |= {n for n, x in found.items() if x >= NEAR}
    return [pair for n, pair in enumerate(train) if n not in near]


def split_texts() -> tuple[Parts, dict[str, int]]:
    """Training, validation and test pairs; and how many are left each time."""
    found = read_catalogues()
    pairs = clean(found)
    rest, test = split_pairs(pairs, N_TEST)
    rest, validation = split_pairs(rest, N_VALIDATION, seed=1)
    train = drop_near(rest, [*validation, *test])
    counts = {
        "found": len(found),
        "clean": len(pairs),
        "unlike": len(rest),
        "train": len(train),
    }
    return {"train": train, "validation": validation, "test": test}, counts


@cache
def texts() -> tuple[Parts, dict[str, Any]]:
    """The texts and facts about them, read once and kept.

    So an update of the system between two seeds changes nothing.
    """
    path = CACHE / "texts.json"
    if not path.exists():
        parts, counts = split_texts()
        kept = {"parts": parts, "counts": counts, "packages": packages()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, ensure_ascii=False), "utf-8")
    kept = json.loads(path.read_text("utf-8"))
    parts = {
        name: [(source, target) for source, target in pairs]
        for name, pairs in kept.pop("parts").items()
    }
    return parts, kept


def packages() -> str:
    """The Debian packages that the catalogues belong to, with versions."""
    paths = [
        str(path)
        for folder in CATALOGUES
        for path in sorted(Path(folder).glob("zh_CN/*/*.mo"))
    ]
    names = {
        line.partition(":")[0]
        for line in _output("dpkg", "-S", *paths).splitlines()
        if not line.startswith("diversion")
    }
    shown = "${Package} ${Version}\n"
    lines = _output("dpkg-query", "-W", "-f", shown, *sorted(names))
    return ", ".join(lines.splitlines())


def _output(*command: str) -> str:
    found = subprocess.run(  # noqa: S603 - the commands stand above
        command, capture_output=True, text=True, check=False
    )
    return found.stdout


# The models


def train(seed: int) -> tuple[Transformer, BPETokenizer, dict[str, float]]:
    """Train a model, or go on from its last checkpoint.

    Returns:
        The model, the subwords of both languages, and how it went.
    """
    parts, _ = texts()
    tokens = BPETokenizer.train(
        (text for pair in parts["train"] for text in pair), VOCAB_SIZE
    )
    training: Any = TRAINING | {"seed": seed}
    config = TrainingConfig(**training)
    sizes = {name: len(tokens) for name in ("source", "target")}
    shape: Any = MODEL | {f"{k}_vocab_size": n for k, n in sizes.items()}
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**shape))
    batches = TranslationBatches(
        encode_pairs(parts["train"], tokens, tokens), config
    )
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    checkpoint = CACHE / f"seed-{seed}.safetensors"
    clock = CACHE / f"seed-{seed}.json"  # processor seconds so far
    seconds = 0.0
    if checkpoint.exists():
        load_checkpoint(checkpoint, trainer)
        seconds = json.loads(clock.read_text("utf-8"))
    while len(trainer.losses) < config.max_steps:
        start = time.process_time()
        for _ in range(100):
            trainer.step()
        seconds += time.process_time() - start
        clock.write_text(json.dumps(seconds), "utf-8")
        save_checkpoint(checkpoint, trainer, (tokens, tokens))
        print(len(trainer.losses), trainer.losses[-1], seconds, flush=True)
    validation = encode_pairs(parts["validation"], tokens, tokens)
    return (
        model.eval(),
        tokens,
        {
            "training seconds": seconds,
            "validation loss": validation_loss(
                trainer, TranslationBatches(validation, config)
            ),
            "epochs": config.max_steps / len(batches),
            "parameters": sum(p.numel() for p in model.parameters()),
        },
    )


# Decoding


class Decoding:
    """Translates the test messages in one way after another, and keeps them."""

    def __init__(
        self, model: Transformer, tokens: BPETokenizer, seed: int
    ) -> None:
        self.model = model
        self.tokens = tokens
        self.seed = seed
        self.seconds: dict[str, float] = {}  # of a processor
        self.decoder = IncrementalDecoder(model)
        self.test = texts()[0]["test"]
        self.sources = [tokens.encode(source) for source, _ in self.test]
        weights = b"".join(
            p.numpy().tobytes() for p in model.state_dict().values()
        )
        self.digest = hashlib.sha256(weights).hexdigest()

    def kept(
        self, name: str, make: Callable[[], list[list[int]]]
    ) -> list[list[int]]:
        """What make returns, or returned when it was called before."""
        path = CACHE / f"seed-{self.seed}-{name}.json"
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            if found["model"] == self.digest:
                self.seconds[name] = found["seconds"]
                return list(found["generated"])
        start = time.process_time()
        generated = make()
        seconds = time.process_time() - start
        print(name, seconds, flush=True)
        found = {"model": self.digest, "seconds": seconds}
        path.write_text(json.dumps(found | {"generated": generated}), "utf-8")
        self.seconds[name] = seconds
        return generated

    def _in_batches(
        self, decode: Callable[..., Sequence[list[int]]], **options: Any
    ) -> list[list[int]]:
        """Decode sources of like length together, as a Translator does."""
        generated: list[list[int]] = [[] for _ in self.sources]
        order = sorted(
            range(len(generated)), key=lambda i: len(self.sources[i])
        )
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            source, lengths = pad([self.sources[row] for row in rows])
            found = decode(
                self.decoder,
                source,
                lengths,
                max_length=2 * source.shape[1] + 16,
                **options,
            )
            for row, token_ids in zip(rows, found, strict=True):
                generated[row] = token_ids
        return generated

    def beam(self, beam_size: int, length_penalty: float) -> list[list[int]]:
        """The translations of beam search; a beam of 1 is greedy search."""
        return self.kept(
            f"beam-{beam_size}-{length_penalty}",
            lambda: (
                self._in_batches(generate, next_token=greedy)
                if beam_size == 1
                else self._in_batches(
                    beam_search,
                    beam_size=beam_size,
                    length_penalty=length_penalty,
                )
            ),
        )

    def sample(self, number: int, top_p: float) -> list[list[int]]:
        """A translation of each message, drawn at random."""

        def make() -> list[list[int]]:
            generator = torch.Generator().manual_seed(
                1000 * self.seed + number
            )
            strategy: NextToken = sampler(generator, top_p=top_p)
            return self._in_batches(generate, next_token=strategy)

        return self.kept(f"sample-{top_p}-{number}", make)

    def decode(self, generated: list[list[int]]) -> list[str]:
        """The texts of token ids."""
        return [self.tokens.decode(token_ids) for token_ids in generated]

    @torch.no_grad()
    def log_probability(self, generated: list[list[int]]) -> float:
        """The mean log-probability of the translations, <eos> included."""
        total = 0.0
        for start in range(0, len(generated), 32):
            rows = slice(start, start + 32)
            source, lengths = pad(self.sources[rows])
            target, ends = pad([[BOS, *row] for row in generated[rows]])
            logits = self.model(source, lengths, target[:, :-1])
            labels = target[:, 1:, None]
            found = logits.log_softmax(-1).gather(2, labels)[..., 0]
            real = torch.arange(found.shape[1]) < (ends - 1)[:, None]
            total += (found * real).sum().item()
        return total / len(generated)


def minimum_bayes_risk(candidates: Sequence[Sequence[str]]) -> list[str]:
    """Of each message's candidates the one most like the others, by chrF.

    Args:
        candidates: For each candidate number, the texts of all messages.
    """
    metric = CHRF()
    chosen = []
    for options in zip(*candidates, strict=True):
        counts = Counter(options)

        def gain(text: str, counts: Counter[str] = counts) -> float:
            likeness = {
                other: metric.sentence_score(text, [other]).score
                for other in counts
                if other != text
            }
            others = sum(n * likeness.get(x, 0.0) for x, n in counts.items())
            return others + 100.0 * counts[text]

        chosen.append(max(counts, key=gain))
    return chosen


# The scores


def nearest() -> tuple[list[str], list[float]]:
    """The translation of the most similar training message, for each test
    message, and how similar it is."""
    parts, _ = texts()
    index = Index(source for source, _ in parts["train"])
    found = [index.nearest(source) for source, _ in parts["test"]]
    return (
        ["" if n is None else parts["train"][n][1] for n, _ in found],
        [similarity for _, similarity in found],
    )


def compare(systems: Systems, references: list[str]) -> dict[str, Any]:
    """Score systems, each with intervals and against greedy search.

    The intervals hold 95% of 1,000 resamples of the test messages.
    """
    first = "greedy"
    ordered = [first, *(name for name in systems if name != first)]
    metrics: dict[str, Metric] = {}
    metrics["bleu"] = BLEU(tokenize="zh", references=[references])
    metrics["chrf"] = CHRF(references=[references])
    test = PairedTest(
        [(name, systems[name]) for name in ordered],
        metrics,
        references=None,
        test_type="bs",
        n_samples=1000,
    )
    signatures, results = test()
    found: dict[str, Any] = {}
    for i, name in enumerate(ordered):
        pairs = zip(systems[name], references, strict=True)
        n_exact = sum(output == reference for output, reference in pairs)
        found[f"{name}: exact"] = 100 * n_exact / len(references)
        for key, column in COLUMNS.items():
            result: Any = results[column][i]
            found[f"{name}: {key}"] = result.score
            found[f"{name}: {key} low"] = result.mean - result.ci
            found[f"{name}: {key} high"] = result.mean + result.ci
            if name != first:
                found[f"{name}: {key} p"] = result.p_value
    for key, column in COLUMNS.items():
        found[f"{key} signature"] = signatures[column].format()
    return found


def length_ratio(outputs: list[str], references: list[str]) -> float:
    """How long the outputs are, in units of the references, in characters."""
    lengths = [sum(map(len, texts)) for texts in (outputs, references)]
    return lengths[0] / lengths[1]


def shown(outputs: list[str], test: list[Pair]) -> dict[str, str]:
    """Some good translations and some bad ones, chosen by a rule.

    Of the messages with five words or more, the fifth with the best chrF and
    the fifth with the worst; eight are drawn of each, with the seed 0.
    """
    metric = CHRF()
    rows = [i for i, (source, _) in enumerate(test) if len(source.split()) > 4]
    score = {
        i: metric.sentence_score(outputs[i], [test[i][1]]).score for i in rows
    }
    rows.sort(key=lambda i: (score[i], i))
    fifth = len(rows) // 5
    found = {}
    for name, part in {"good": rows[-fifth:], "bad": rows[:fifth]}.items():
        drawn = random.Random(0).sample(part, N_SHOWN)
        for n, i in enumerate(sorted(drawn, key=lambda i: -score[i])):
            found[f"{name} {n} source"] = test[i][0]
            found[f"{name} {n} reference"] = test[i][1]
            found[f"{name} {n} output"] = outputs[i]
            found[f"{name} {n} chrf"] = f"{score[i]:.0f}"
    return found


def run(seed: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    parts, facts = texts()
    model, tokens, trained = train(seed)
    found: dict[str, Any] = dict(trained)
    decoding = Decoding(model, tokens, seed)
    test = parts["test"]
    references = [target for _, target in test]
    neighbours, similarities = nearest()
    drawn = [
        decoding.decode(decoding.sample(number, 1.0))
        for number in range(N_CANDIDATES)
    ]
    systems = {
        "greedy": decoding.decode(decoding.beam(1, 0.0)),
        "copy": [source for source, _ in test],
        "nearest": neighbours,
        "beam": decoding.decode(decoding.beam(4, 0.6)),
        "sample": drawn[0],
        "top-p": decoding.decode(decoding.sample(0, TOP_P)),
        "mbr": minimum_bayes_risk(drawn),
    }
    found |= {f"pairs {name}": n for name, n in facts["counts"].items()}
    found |= compare(systems, references)
    metrics: dict[str, Metric] = {"bleu": BLEU(tokenize="zh")}
    metrics["chrf"] = CHRF()
    for beam_size in BEAM_SIZES:
        for penalty in LENGTH_PENALTIES if beam_size > 1 else (0.0,):
            generated = decoding.beam(beam_size, penalty)
            outputs = decoding.decode(generated)
            name = f"beam {beam_size}, {penalty}"
            for key, metric in metrics.items():
                scored = metric.corpus_score(outputs, [references])
                found[f"{name}: {key}"] = scored.score
            found[f"{name}: length"] = length_ratio(outputs, references)
            found[f"{name}: log p"] = decoding.log_probability(generated)
            same = map(str.__eq__, outputs, systems["greedy"])
            found[f"{name}: as greedy"] = sum(same) / len(outputs)
    for band, (low, high) in BANDS.items():
        rows = [i for i, x in enumerate(similarities) if low <= x < high]
        found[f"{band}: messages"] = len(rows)
        chosen = [references[i] for i in rows]
        for name in ("nearest", "beam"):
            outputs = [systems[name][i] for i in rows]
            for key, metric in metrics.items():
                scored = metric.corpus_score(outputs, [chosen])
                found[f"{band}: {name} {key}"] = scored.score
    found["decoding seconds"] = sum(decoding.seconds.values())
    found |= shown(systems["beam"], test)
    found["packages"] = facts["packages"]
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    bleu = "BLEU"
    chrf = "chrF"
    interval = "种子 0（区间） | seed 0 (interval)"
    titles = {
        "copy": "照抄原文 | copy the source",
        "nearest": "最像的一条的译文 | nearest neighbour",
        "greedy": "贪心 | greedy",
        "beam": "束搜索，束宽 4 | beam of 4",
        "sample": "采样，T = 1 | sampling, T = 1",
        "top-p": "采样，top-p 0.9 | sampling, top-p 0.9",
        "mbr": "MBR，16 个采样 | MBR of 16 samples",
    }

    def with_sign(values: list[float], digits: int, sign: str = "") -> str:
        """As spread, for numbers of which some are negative."""
        ordered = (sum(values) / len(values), min(values), max(values))
        mean, least, most = (
            f"{value:{sign}.{digits}f}".replace("-", "−") for value in ordered
        )
        return f"{mean} ({least} … {most})"

    def score(name: str, key: str, unit: str = "") -> str:
        """A result of all seeds; where they do not differ, one number."""
        values = results[f"{name}: {key}"]
        if min(values) == max(values):
            return f"{values[0]:.1f}{unit}"
        return spread(values, 1, unit)

    def limits(name: str, key: str) -> str:
        low, high = (
            results[f"{name}: {key} {end}"][0] for end in ("low", "high")
        )
        middle = results[f"{name}: {key}"][0]
        return f"{middle:.1f} ({low:.1f}–{high:.1f})"

    def without_penalty(name: str) -> list[float]:
        """BLEU over its brevity penalty, from the ratio of characters.

        That of sacrebleu's tokens was not recorded and may differ a little.
        """
        pairs = zip(
            results[f"{name}: bleu"], results[f"{name}: length"], strict=True
        )
        return [x / min(1.0, math.exp(1 - 1 / ratio)) for x, ratio in pairs]

    decoders = [
        [
            "解码 | decoding",
            "全对 | exact",
            bleu,
            interval,
            chrf,
            interval,
        ]
    ]
    for name, title in titles.items():
        row = [title, score(name, "exact", "%")]
        for key in ("bleu", "chrf"):
            row.append(score(name, key))
            row.append(limits(name, key))
        decoders.append(row)

    against = [
        [
            "与贪心相比 | against greedy",
            "BLEU 之差 | difference in BLEU",
            "p 值 | p-values",
            "chrF 之差 | difference in chrF",
            "p 值 | p-values",
        ]
    ]
    for name, title in titles.items():
        if name in ("copy", "nearest", "greedy"):
            continue
        row = [title]
        for key in ("bleu", "chrf"):
            pairs = zip(
                results[f"{name}: {key}"],
                results[f"greedy: {key}"],
                strict=True,
            )
            row.append(with_sign([x - y for x, y in pairs], 1, "+"))
            p = results[f"{name}: {key} p"]
            row.append(", ".join(f"{x:.3f}" for x in p))
        against.append(row)

    lengths = [
        [
            "束宽 | beam size",
            "α",
            "长度比 | length ratio",
            "平均对数概率 | mean log-probability",
            "与贪心相同 | same as greedy",
            bleu,
            "BLEU ÷ 短句惩罚，约 | BLEU ÷ brevity penalty, about",
        ]
    ]
    for beam_size in (1, 4, 16):
        for penalty in (0.0, 0.6):
            if beam_size == 1 and penalty:
                continue  # greedy search has no choice of lengths
            name = f"beam {beam_size}, {penalty}"
            lengths.append(
                [
                    str(beam_size),
                    "–" if beam_size == 1 else f"{penalty:g}",
                    spread(results[f"{name}: length"], 3),
                    with_sign(results[f"{name}: log p"], 2),
                    "100%"
                    if beam_size == 1
                    else percent(results[f"{name}: as greedy"]),
                    spread(results[f"{name}: bleu"], 1),
                    spread(without_penalty(name), 1),
                ]
            )

    bands = {
        "low": "低于 0.35 | below 0.35",
        "middle": "0.35–0.5",
        "high": "0.5–0.7",
    }
    similarity = [
        [
            "与最像的训练原文的相似度 | similarity of the nearest source",
            "条数 | messages",
            "最像那一条的译文，chrF | its translation, chrF",
            "束搜索，chrF | beam of 4, chrF",
        ]
    ]
    for band, title in bands.items():
        similarity.append(
            [
                title,
                f"{results[f'{band}: messages'][0]:.0f}",
                f"{results[f'{band}: nearest chrf'][0]:.1f}",
                spread(results[f"{band}: beam chrf"], 1),
            ]
        )

    def samples(name: str) -> list[list[str]]:
        rows = [["chrF", "原文 | source", "参考 | reference", "译文 | output"]]
        for n in range(8):
            texts = (
                _escape(results[f"{name} {n} {part}"][0])
                for part in ("source", "reference", "output")
            )
            rows.append([results[f"{name} {n} chrf"][0], *texts])
        return rows

    signatures = [["分数 | score", "sacrebleu 签名 | sacrebleu signature"]]
    for key, title in {"bleu": bleu, "chrf": chrf}.items():
        signatures.append([title, f"`{results[f'{key} signature'][0]}`"])
    return {
        "decoders": decoders,
        "against-greedy": against,
        "lengths": lengths,
        "similarity": similarity,
        "good": samples("good"),
        "bad": samples("bad"),
        "signatures": signatures,
    }


def _escape(text: str) -> str:
    """The text with no letter that Markdown or a table could misread."""
    special = r"\`*_<>[]$|&~^#"
    return "".join(f"&#{ord(x)};" if x in special else x for x in text) or "–"
