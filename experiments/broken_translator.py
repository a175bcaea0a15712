"""What the book's translator loses when something in it is broken.

A reader who silences a head sees what happens to one sentence, and one
sentence is an anecdote. How much do translations of unseen sentences lose, in
chrF, and how many of them change? If the heads of a layer do one another's
work, all of them together cost more than the sum of each alone, and if one
head does what no other does, it alone costs much. If sharp weights or the
causal mask were of no use after training, a tempered softmax or a decoder
without the mask would translate as well.

There is one model. A seed draws sentences from the test set, of which the
model learnt nothing and by which nothing was chosen, 200 each way and others
for each seed. The intervals hold 95% of 1,000 resamples of these, the same
with and without the change. The baseline gives each sentence the translation
of another one, as might a model that is blind to its source.
"""

import copy
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from attention_book import Translator, without_heads
from attention_book.attention.caches import KeyValue
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.generation.scores import score
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS
from experiments.everyday import corpus, exam


SEEDS = range(3)
N_SENTENCES = 200
N_RESAMPLES = 1000
WAYS = ("en-zh", "zh-en")
TEMPERATURES = (0.25, 0.5, 2.0, 4.0)
ENCODER = [f"encoder.layers.{i}.self_attention" for i in range(6)]
DECODER = [f"decoder.layers.{i}.self_attention" for i in range(2)]
CROSS = [f"decoder.layers.{i}.cross_attention" for i in range(2)]
KINDS = {
    "编码器 | encoder": ENCODER,
    "解码器 | decoder": DECODER,
    "交叉 | cross": CROSS,
}
LAYERS = [*ENCODER, *DECODER, *CROSS]
HEADS = range(4)
OTHERS = {
    "nothing": "什么也不改 | nothing",
    **{
        f"temperature {t:g}": f"温度 {t:g} | temperature {t:g}"
        for t in TEMPERATURES
    },
    "no causal mask": "去掉因果掩码 | no causal mask",
    "another": "别句的译文 | translations of other sentences",
}

# What is broken


def tempered(model: Transformer, temperature: float) -> Transformer:
    """A copy that divides the scores of every attention."""
    changed = copy.deepcopy(model)
    for layer in changed.modules():
        if isinstance(layer, MultiHeadAttention):
            for parameter in layer.q_proj.parameters():
                parameter.data.div_(temperature)
    return changed


@dataclass
class UnmaskedState:
    """Rows of tokens so far, each of which sees all the others."""

    model: Transformer
    cross_kv: Sequence[KeyValue]
    mask: Tensor
    tokens: Tensor

    def step(self, token_ids: Tensor) -> Tensor:
        """Append a token to each row; return the logits of the next."""
        self.tokens = torch.cat([self.tokens, token_ids[:, None]], dim=1)
        embedding = self.model.target_embedding
        x = self.model.decoder(
            embedding(self.tokens), self.cross_kv, self.mask, is_causal=False
        )
        return F.linear(x[:, -1], embedding.tokens.weight)

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows."""
        index = list(rows)
        self.tokens = self.tokens[index]
        self.mask = self.mask[index]
        self.cross_kv = [
            KeyValue(*(x[index] for x in kv)) for kv in self.cross_kv
        ]


class UnmaskedDecoder:
    """Generates without a causal mask, so each step computes all anew."""

    sync_every = 1

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def prefill(
        self, source: Tensor, lengths: Tensor, max_length: int
    ) -> tuple[UnmaskedState, Tensor]:
        """Encode the sources, and read `<bos>`."""
        memory, mask = self.model.encode(source, lengths)
        cross_kv = self.model.decoder.project_memory(memory)
        nothing = source.new_empty(len(source), 0)
        state = UnmaskedState(self.model, cross_kv, mask, nothing)
        return state, state.step(torch.full_like(lengths, BOS))


def broken() -> Iterator[tuple[str, Translator]]:
    """The translator as it is, and in each way broken."""
    whole = Translator.load()

    def with_model(model: Transformer) -> Translator:
        return Translator(model, whole.source, whole.target)

    yield "nothing", whole
    for layer in LAYERS:
        for head in HEADS:
            lost = without_heads(whole.model, {layer: [head]})
            yield f"{layer}.{head}", with_model(lost)
    for layer in LAYERS:
        lost = without_heads(whole.model, {layer: HEADS})
        yield layer, with_model(lost)
    for t in TEMPERATURES:
        yield f"temperature {t:g}", with_model(tempered(whole.model, t))
    unmasked = with_model(whole.model)
    unmasked.decoder = UnmaskedDecoder(unmasked.model)
    yield "no causal mask", unmasked


# What it costs


class Resamples:
    """The same resamples of sentences, for every translator."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self.references = references
        self.metric: Any = CHRF()
        n = len(references)
        draws = np.random.default_rng(0).integers(n, size=(N_RESAMPLES, n))
        self.counts = np.stack([np.bincount(x, minlength=n) for x in draws])

    def chrf(self, outputs: Sequence[str]) -> Any:
        """The score of each resample."""
        extract = self.metric._extract_corpus_statistics
        counted = [
            extract([output], [[x] for x in known])[0]
            for output, known in zip(outputs, self.references, strict=True)
        ]
        totals = self.counts @ np.array(counted)
        compute = self.metric._compute_score_from_stats
        return np.array([compute(row.tolist()).score for row in totals])


def draw(way: str, seed: int) -> dict[str, list[str]]:
    """Test sentences with their references; other ones for each seed."""
    (test,) = corpus().tests.values()
    known = exam(test, way)
    drawn = random.Random(0).sample([*known], N_SENTENCES * len(SEEDS))
    mine = drawn[N_SENTENCES * seed :][:N_SENTENCES]
    return {source: known[source] for source in mine}


def run(seed: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for way in WAYS:
        known = draw(way, seed)
        references = [*known.values()]
        outputs = {arm: x.translate([*known]) for arm, x in broken()}
        before = outputs["nothing"]
        outputs["another"] = [*before[1:], before[0]]
        resamples = Resamples(references)
        base = resamples.chrf(before)
        for arm, texts in outputs.items():
            changes = resamples.chrf(texts) - base
            low, high = np.quantile(changes, [0.025, 0.975])
            differ = map(str.__ne__, texts, before)
            found |= {
                f"{arm}: {way}, chrf": score(texts, references).chrf,
                f"{arm}: {way}, low": float(low),  # of the change in chrF
                f"{arm}: {way}, high": float(high),
                f"{arm}: {way}, changed": sum(differ) / len(texts),
            }
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    """Means of the draws; no sentence is in two of them."""
    head = [
        "英译汉，chrF | en–zh, chrF",
        "差 | change",
        "变了的译文 | translations changed",
        "汉译英，chrF | zh–en, chrF",
        "差 | change",
        "变了的译文 | translations changed",
    ]

    def cells(arm: str) -> list[str]:
        row = []
        for way in WAYS:
            key = f"{arm}: {way}"
            chrf = statistics.fmean(results[f"{key}, chrf"])
            before = statistics.fmean(results[f"nothing: {way}, chrf"])
            ends = zip(
                results[f"{key}, low"], results[f"{key}, high"], strict=True
            )
            halves = [(high - low) / 2 for low, high in ends]
            half = math.hypot(*halves) / len(halves)  # of the mean's interval
            change = f"{chrf - before:+z.1f} ± {half:.1f}"
            changed = 100 * statistics.fmean(results[f"{key}, changed"])
            row += [
                f"{chrf:.1f}",
                "–" if arm == "nothing" else change,
                "–" if arm == "nothing" else f"{changed:.0f}%",
            ]
        return row

    heads = [["关掉的头 | silent head", *head]]
    layers = [["关掉的层 | silent layer", *head]]
    for title, names in KINDS.items():
        zh, en = title.split(" | ")
        for i, name in enumerate(names, 1):
            layers.append([f"{zh}，第 {i} 层 | {en}, layer {i}", *cells(name)])
            for h in HEADS:
                where = f"{zh} {i}.{h + 1} | {en} {i}.{h + 1}"
                heads.append([where, *cells(f"{name}.{h}")])
    others = [["改了什么 | what is changed", *head]]
    others += [[title, *cells(arm)] for arm, title in OTHERS.items()]
    return {"heads": heads, "layers": layers, "others": others}
