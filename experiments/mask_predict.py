"""Word by word against mask-predict, for "Non-autoregressive decoding".

Both models have the same size and are trained alike, on as many batches. The
sentences that they translate are not in their training data. With oracle
lengths, mask-predict is given the length of the right translation, and word
by word may end neither before nor after it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    encode_pairs,
    translation_loss,
)
from attention_book.attention.caches import KeyValueCache
from attention_book.data.batches import pad
from attention_book.data.split import make_split
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
    refine,
)
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.mask_predict import mask_predict_loss
from experiments.record import percent


SEEDS = range(3)
ITERATIONS = (1, 2, 4, 8)
N_LENGTHS = 3
LONGEST = 40  # tokens of a translation that ends by itself


def train(
    model: nn.Module,
    loss_fn: Callable[..., Any],
    examples: list[tuple[list[int], list[int]]],
    seed: int,
) -> Any:
    config = TrainingConfig(
        max_steps=800, batch_tokens=700, learning_rate=8e-3, seed=seed
    )
    trainer = Trainer(
        model, TranslationBatches(examples, config), config, loss_fn
    )
    while len(trainer.losses) < config.max_steps:
        trainer.step()
    return model.eval()


@torch.no_grad()
def word_by_word(
    model: Transformer,
    source: Tensor,
    lengths: Tensor,
    oracle: Tensor | None = None,
) -> list[list[int]]:
    """Greedy translations without <eos>, each of its length in oracle."""
    memory, mask = model.encode(source, lengths)
    cross_kv = model.decoder.project_memory(memory)
    longest = LONGEST if oracle is None else int(oracle.max())
    caches = [KeyValueCache(longest) for _ in cross_kv]
    tokens = torch.full((len(source), 1), BOS)
    for _ in range(longest):
        logits = model.decode(tokens[:, -1:], cross_kv, mask, caches)[:, -1]
        if oracle is not None:
            logits[:, EOS] = -torch.inf
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
    rows = tokens[:, 1:].tolist()
    if oracle is not None:
        return [row[:n] for row, n in zip(rows, oracle.tolist(), strict=True)]
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def in_iterations(
    model: MaskedTransformer,
    memory: Tensor,
    mask: Tensor,
    lengths: Tensor,
    iterations: int,
) -> tuple[list[list[int]], Tensor]:
    """Translations of given lengths, and the sum of ln p of each."""
    *_, draft = refine(model, memory, mask, lengths, iterations)
    rows = zip(draft.token_ids.tolist(), lengths.tolist(), strict=True)
    return [row[:n] for row, n in rows], draft.log_probs.sum(1)


def best_of_lengths(
    found: list[list[int]], score: Tensor, n_sources: int
) -> list[list[int]]:
    """Of several translations of each source, that with the best score."""
    best = score.view(n_sources, N_LENGTHS).argmax(1).tolist()
    return [found[i * N_LENGTHS + choice] for i, choice in enumerate(best)]


def same(found: Iterable[object], wanted: Iterable[object]) -> float:
    pairs = list(zip(found, wanted, strict=True))
    return sum(a == b for a, b in pairs) / len(pairs)


def run(seed: int) -> dict[str, float]:
    split = make_split(n_train=20_000, n_test=500)
    english = WordTokenizer.train(text for text, _ in split.train)
    chinese = WordTokenizer.train(text for _, text in split.train)
    examples = encode_pairs(split.train, english, chinese)
    held_out = encode_pairs(split.sentences, english, chinese)
    source, lengths = pad([ids for ids, _ in held_out])
    wanted = [ids[1:-1] for _, ids in held_out]
    oracle = torch.tensor([len(ids) for ids in wanted])
    shape = {
        "source_vocab_size": len(english),
        "d_model": 64,
        "n_heads": 4,
        "d_ff": 256,
        "n_layers": 1,
        "dropout": 0.0,
        "norm": "pre",
    }

    torch.manual_seed(seed)
    config = TransformerConfig(target_vocab_size=len(chinese), **shape)
    rival = train(Transformer(config), translation_loss, examples, seed)
    found = word_by_word(rival, source, lengths)
    forced = word_by_word(rival, source, lengths, oracle)
    results = {
        "word by word: exact": same(found, wanted),
        "word by word: length": same(map(len, found), oracle.tolist()),
        "word by word: oracle": same(forced, wanted),
    }

    torch.manual_seed(seed)
    masked_config = MaskedTransformerConfig(
        target_vocab_size=len(chinese) + 1, **shape
    )
    model = MaskedTransformer(masked_config)
    model = train(model, mask_predict_loss, examples, seed)
    with torch.no_grad():
        memory, mask = model.encode(source, lengths)
        chances = model.score_lengths(memory, mask).log_softmax(-1)
    predicted = 1 + chances.argmax(1)
    results["mask-predict: length"] = same(predicted.tolist(), oracle.tolist())
    for t in ITERATIONS:
        found, _ = in_iterations(model, memory, mask, predicted, t)
        forced, _ = in_iterations(model, memory, mask, oracle, t)
        results[f"mask-predict, {t}: exact"] = same(found, wanted)
        results[f"mask-predict, {t}: oracle"] = same(forced, wanted)

    best = chances.topk(N_LENGTHS)
    n = 1 + best.indices.flatten()
    memory, mask = (x.repeat_interleave(N_LENGTHS, 0) for x in (memory, mask))
    for t in ITERATIONS:
        found, total = in_iterations(model, memory, mask, n, t)
        for name, score in {
            "with p(n)": (best.values.flatten() + total) / n,
            "without p(n)": total / n,
        }.items():
            chosen = best_of_lengths(found, score, len(source))
            results[f"{N_LENGTHS} lengths {name}, {t}"] = same(chosen, wanted)
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    names = {
        "word by word": "自回归 | autoregressive",
        **{
            f"mask-predict, {t}": f"mask-predict，{t} 次 | mask-predict, {t}×"
            for t in ITERATIONS
        },
    }
    quality = [
        [
            "没见过的句子 | unseen sentences",
            "全对 | exact",
            "长度对 | right length",
            "给定长度，全对 | exact, given the length",
        ]
    ]
    for name, title in names.items():
        row = [f"{name}: exact", f"{name.split(',')[0]}: length"]
        row.append(f"{name}: oracle")
        quality.append([title, *(percent(results[key]) for key in row)])

    head = ["试几个长度 | lengths tried"]
    head += [f"{t} 次迭代 | {t} iteration{'s' * (t > 1)}" for t in ITERATIONS]
    rows = {
        "1 个 | 1": "mask-predict, {}: exact",
        "3 个，算上 p(n) | 3, with p(n)": ("3 lengths with p(n), {}"),
        "3 个，不算 p(n) | 3, without p(n)": "3 lengths without p(n), {}",
    }
    several = [head]
    for title, key in rows.items():
        found = [percent(results[key.format(t)]) for t in ITERATIONS]
        several.append([title, *found])
    return {"quality": quality, "lengths": several}
