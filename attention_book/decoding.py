# Made from docs/chapters/13-decoding.md (b5512ff3fd87). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book.corpus import END, START, Tokens, pad
from attention_book.decoder import DecoderLayer
from attention_book.encoder import PostNorm, PreNorm
from attention_book.gpu import (
    ON_CPU,
    Engine,
    StaticDecoder,
    check_lengths,
    computing,
    deploy,
    has_tiles,
)
from attention_book.multi_head import (
    MultiHeadAttention,
    attention_weights,
)
from attention_book.training import load_model
from attention_book.transformer import Transformer

Table = Int[Tensor, "rows words"]
Lengths = Int[Tensor, " rows"]
Rows = list[list[int]]
KeyValues = Sequence[Tensor]  # two of (rows, heads, words, d_k)
Who = TypeVar("Who")


class LaidOut(nn.Module):
    """A linear layer for few rows, its weights laid out for them.

    Args:
        weight: Of shape (out, in), as in nn.Linear.
        bias: Of shape (out,), or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach(), bias
        self.transposed = self.weight.t().contiguous()
        self.tiles: Tensor | None = None
        if has_tiles(weight):
            self.tiles = torch.ops.mkldnn._reorder_linear_weight(self.weight)

    def forward(
        self, x: Float[Tensor, "*batch n_in"]
    ) -> Float[Tensor, "*batch n_out"]:
        """Return x Wᵀ + b."""
        if x.ndim == 2 and len(x) == 1:  # a single row
            y = torch.mm(x, self.transposed)
            return y if self.bias is None else y.add_(self.bias)
        if self.tiles is None:
            return F.linear(x, self.weight, self.bias)
        tiles: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.tiles, self.bias, "none", [], ""
        )
        return tiles

    __call__ = forward  # skips nn.Module's __call__, which looks for hooks


def lay_out(module: nn.Module) -> None:
    """Put a LaidOut in the place of each nn.Linear; take out dropout."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, LaidOut(child.weight, child.bias))
        elif isinstance(child, nn.Dropout):
            setattr(module, name, nn.Identity())
        else:
            lay_out(child)


class Writing:
    """Translations under way: what was read, and what has been written.

    Args:
        sources: Keys and values of the sources, in all layers.
        mask: Which words of the sources are real, or None for all.
        places: What to add to the embeddings, place by place; as many words
            as there are places can be written.
    """

    def __init__(
        self,
        sources: Float[Tensor, "layers 2 rows heads source d_k"],
        mask: Bool[Tensor, "rows 1 1 source"] | None,
        places: Float[Tensor, "1 words d_model"],
    ) -> None:
        self.sources, self.mask, self.places = sources, mask, places
        self.length, capacity = 0, places.shape[1]
        shape = (*sources.shape[:4], capacity, sources.shape[-1])
        self.words = sources.new_empty(shape)

    def __len__(self) -> int:
        return self.words.shape[2]

    @torch.inference_mode()
    def copy(self, rows: list[int], into: list[int]) -> None:
        """Write the state of some rows over that of others."""
        if rows:
            n = self.length
            self.sources[:, :, into] = self.sources[:, :, rows]
            self.words[:, :, into, :, :n] = self.words[:, :, rows, :, :n]
            if self.mask is not None:
                self.mask[into] = self.mask[rows]

    def repeat(self, n: int) -> None:
        """Make n rows of each, before anything is written."""
        self.sources = self.sources.repeat_interleave(n, dim=2)
        self.words = self.words.repeat_interleave(n, dim=2)
        if self.mask is not None:
            self.mask = self.mask.repeat_interleave(n, dim=0)

    def keep(self, n: int) -> None:
        """Keep the first n rows only."""
        self.sources, self.words = self.sources[:, :, :n], self.words[:, :, :n]
        self.mask = None if self.mask is None else self.mask[:n]


FEW = 4  # rows up to which the fused kernel is the faster one


def look(
    q: Float[Tensor, "rows heads 1 d_k"],
    key: Float[Tensor, "rows heads keys d_k"],
    value: Float[Tensor, "rows heads keys d_k"],
    mask: Bool[Tensor, "rows 1 1 keys"] | None = None,
) -> Float[Tensor, "rows d_model"]:
    """Attend with a single query of each head: softmax(qKᵀ/√d_k)V."""
    if len(q) <= FEW:
        heads = F.scaled_dot_product_attention(q, key, value, mask)
    else:
        scores = (q * q.shape[-1] ** -0.5) @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        heads = scores.softmax(-1) @ value
    return heads.reshape(len(q), -1)


class LayerStep:
    """A decoder layer, cut down to one more word a row."""

    def __init__(self, layer: DecoderLayer) -> None:
        own, cross = layer.attention, layer.cross
        into = own.project_query, own.project_key_value
        weight = torch.cat([linear.weight for linear in into])
        self.take_in = LaidOut(weight, torch.cat([x.bias for x in into]))
        self.turn = getattr(own, "rotary", None)
        self.shape, self.give = (own.n_heads, 1, own.d_k), own.project_out
        self.ask, self.tell = cross.project_query, cross.project_out
        self.think = layer.feed_forward.forward
        arounds = cast(Sequence[PostNorm], layer.around)
        self.norms = [around.norm.forward for around in arounds]
        self.pre = isinstance(arounds[0], PreNorm)

    def among_words(self, x: Tensor, words: KeyValues) -> Tensor:
        """Take up the last word, and look at all words so far."""
        new = self.take_in(x).view(len(x), 3, *self.shape)
        q, key, value = new.unbind(1)
        n = words[0].shape[2] - 1
        if self.turn is not None:
            q, key = self.turn(q, n), self.turn(key, n)
        words[0][:, :, n:], words[1][:, :, n:] = key, value
        return cast(Tensor, self.give(look(q, words[0], words[1])))

    def at_the_source(
        self, x: Tensor, source: KeyValues, mask: Tensor | None
    ) -> Tensor:
        """Look at the source."""
        q = self.ask(x).view(len(x), *self.shape)
        return cast(Tensor, self.tell(look(q, source[0], source[1], mask)))

    def __call__(
        self, x: Tensor, words: KeyValues, source: KeyValues, mask: Any
    ) -> Float[Tensor, "rows d_model"]:
        """Do what the layer does, for the last word of each row alone."""
        parts: Sequence[Callable[[Tensor], Tensor]] = (
            lambda y: self.among_words(y, words),
            lambda y: self.at_the_source(y, source, mask),
            self.think,
        )
        for norm, part in zip(self.norms, parts, strict=True):
            x = x + part(norm(x)) if self.pre else norm(x + part(x))
        return x


class IncrementalDecoder:
    """A copy of a model that writes one word a step, for many rows at once.

    Args:
        model: Is copied: what changes in it later is not seen here.
        engine: Says to where and how exact; by default as it is.
    """

    def __init__(self, model: Transformer, engine: Engine | None = None):
        self.model = deploy(model, engine)
        self.output = LaidOut(self.model.target.words.weight)
        lay_out(self.model)
        layers = cast(Iterable[DecoderLayer], self.model.decoder.layers)
        self.layers = [LayerStep(layer) for layer in layers]

    @torch.inference_mode()
    def start(self, source: Table, lengths: Lengths, capacity: int) -> Writing:
        """Read the sources, of 1 word or more; make room to write."""
        target, device = self.model.target, self.output.weight.device
        full = check_lengths(lengths, source.shape[1])
        memory, mask = self.model.encode(source.to(device), lengths.to(device))
        kept = [x for kv in self.model.decoder.remember(memory) for x in kv]
        sources = torch.stack(kept)
        sources = sources.view(-1, 2, *sources.shape[1:])
        places = memory.new_zeros(1, capacity, memory.shape[-1])
        if target.positions is not None:
            places = target.positions(places)
        return Writing(sources, None if full else mask, places)

    @torch.inference_mode()
    def step(self, writing: Writing, words: Lengths) -> Tensor:
        """Take up the last word of each row; return scores of the next."""
        n, target = writing.length, self.model.target
        if n == writing.places.shape[1]:
            raise ValueError(f"there is room for {n} words, no more")
        x = target.words(words) * target.scale + writing.places[:, n]
        so_far = writing.words[..., : n + 1, :].flatten(0, 1).unbind()
        sources = writing.sources.flatten(0, 1).unbind()
        for i, layer in enumerate(self.layers):
            both = slice(2 * i, 2 * i + 2)  # keys and values
            x = layer(x, so_far[both], sources[both], writing.mask)
        writing.length = n + 1
        return self.output(self.model.decoder.norm(x))


Choose = Callable[[Tensor], Tensor]  # (rows, n_words) scores to (rows,) words


def greedy(
    scores: Float[Tensor, "rows n_words"],
) -> Int[Tensor, " rows"]:
    """Choose the word with the highest score."""
    return scores.argmax(-1)


def sampler(
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Choose:
    """Make what draws words by their probability.

    Args:
        generator: Where chance comes from.
        temperature: What scores are divided by.
        top_k: How many words take part, or None for all.
        top_p: The share of probability that takes part; at least one word.

    Source: Fan et al. (2018), §5.4, for top-k; Holtzman et al. (2020), §3.1,
        for top-p.
    """
    k = 1 if top_k is None else top_k
    if not temperature > 0 or not 0 < top_p <= 1 or k < 1:
        raise ValueError(
            "wanted temperature > 0, 0 < top_p <= 1 and top_k >= 1, "
            f"got {temperature}, {top_p} and {top_k}"
        )

    def draw(scores: Tensor) -> Tensor:
        best, words = (scores / temperature).sort(-1, descending=True)
        shares = best[:, :top_k].softmax(-1)
        before = shares.cumsum(-1) - shares
        shares = shares.masked_fill(before >= top_p, 0)
        place = torch.multinomial(shares, 1, generator=generator)
        return words.gather(1, place)[:, 0]

    return draw


def dismiss(writing: Writing, going: list[bool], who: list[Who]) -> list[Who]:
    """Keep the rows that are going on; return who sits in each row."""
    n, who = sum(going), list(who)
    seats = [row for row in range(n) if not going[row]]
    movers = [row for row in range(n, len(going)) if going[row]]
    writing.copy(movers, into=seats)
    writing.keep(n)
    for seat, row in zip(seats, movers, strict=True):
        who[seat] = who[row]
    return who[:n]


@torch.inference_mode()
def write(
    decoder: IncrementalDecoder,
    source: Table,
    lengths: Lengths,
    *,
    max_words: int,
    choose: Choose = greedy,
) -> list[list[int]]:
    """Write the translation of each source, up to <end> or max_words."""
    writing = decoder.start(source, lengths, max_words)
    who = list(range(len(source)))
    written: list[list[int]] = [[] for _ in who]
    words = torch.full((len(who),), START, device=decoder.output.weight.device)
    while who and writing.length < max_words:
        words = choose(decoder.step(writing, words))
        chosen = words.tolist()
        for row, word in zip(who, chosen, strict=True):
            written[row].append(word)
        going = [word != END for word in chosen]
        if not all(going):
            who = dismiss(writing, going, who)
            words = torch.tensor([written[row][-1] for row in who])
            words = words.to(decoder.output.weight.device)
    return written


def per_length(score: float, n: int, alpha: float) -> float:
    """Make scores of n words comparable; Wu et al. (2016), eq. 14."""
    return float(score / ((5 + n) / 6) ** alpha)


class Beam:
    """The best beginnings of one translation, and the best that has ended."""

    def __init__(self, size: int, alpha: float, max_words: int) -> None:
        self.size, self.alpha, self.max_words = size, alpha, max_words
        self.words: list[list[int]] = [[] for _ in range(size)]
        self.scores = [0.0] + [-math.inf] * (size - 1)  # all alike at first
        self.best: tuple[float, list[int]] = (-math.inf, [])
        self.n_ended = 0

    def is_done(self) -> bool:
        """Whether size have ended, or no beginning can become better."""
        hope = per_length(max(self.scores), self.max_words, self.alpha)
        return self.n_ended >= self.size or self.best[0] >= hope

    def extend(
        self, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[int, int]]:
        """Go on with the best candidates: score, row, next word; best first.

        Returns which row is to be copied into which: a beginning stays in
        its row, and where it forks, the others go to rows that died.
        """
        children: list[tuple[float, int, list[int]]] = []
        for place, (score, row, word) in enumerate(candidates):
            words = [*self.words[row], word]
            if word == END or len(words) == self.max_words:
                if place < self.size:  # so that one is greedy
                    ended = per_length(score, len(words), self.alpha)
                    self.best = max(self.best, (ended, words))
                    self.n_ended += 1
            elif len(children) < self.size and score > -math.inf:
                children.append((score, row, words))
        parents = {row for _, row, _ in children}
        free = [row for row in range(self.size) if row not in parents]
        self.scores, copies = [-math.inf] * self.size, []
        for score, row, words in children:
            seat = row
            if self.scores[row] > -math.inf:  # an elder child sits here
                seat = free.pop()
                copies.append((row, seat))
            self.scores[seat], self.words[seat] = score, words
        return copies


@torch.inference_mode()
def beam_search(
    decoder: IncrementalDecoder,
    source: Table,
    lengths: Lengths,
    *,
    max_words: int,
    size: int = 4,
    alpha: float = 0.6,
) -> list[list[int]]:
    """Write the best translation of each source that is found.

    size beginnings are kept; a larger alpha favours longer ones.

    Source: Wu et al. (2016), §7, without their coverage penalty.
    """
    if size < 1 or alpha < 0:
        raise ValueError(
            f"wanted size > 0 and alpha >= 0, got {size} and {alpha}"
        )
    writing = decoder.start(source, lengths, max_words)
    writing.repeat(size)
    home = writing.words.device
    beams = [Beam(size, alpha, max_words) for _ in lengths]
    going = beams
    words = torch.full((len(writing),), START)
    while going:
        scores = decoder.step(writing, words.to(home)).float().log_softmax(-1)
        candidates = best_candidates(scores, going)
        copies = [
            (i * size + row, i * size + seat)
            for i, (beam, best) in enumerate(
                zip(going, candidates, strict=True)
            )
            for row, seat in beam.extend(best)
        ]
        writing.copy([row for row, _ in copies], [seat for _, seat in copies])
        rows = [beam for beam in going for _ in range(size)]
        stay = [not beam.is_done() for beam in rows]
        going = dismiss(writing, stay, rows)[::size]
        last = [[START, *w][-1] for beam in going for w in beam.words]
        words = torch.tensor(last)
    return [beam.best[1] for beam in beams]


def best_candidates(
    scores: Float[Tensor, "rows n_words"], beams: list[Beam]
) -> list[list[tuple[float, int, int]]]:
    """Return each beam's best next words: score so far, row, word.

    Twice its size of them: as many may be <end>, one from each row.
    """
    size, n_words = beams[0].size, scores.shape[-1]
    before = torch.tensor([beam.scores for beam in beams]).to(scores.device)
    scores = before[..., None] + scores.view(len(beams), size, n_words)
    best, places = scores.flatten(1).topk(min(2 * size, size * n_words))
    rows, words = places // n_words, places % n_words
    return [
        list(zip(*row, strict=True))
        for row in zip(
            best.tolist(), rows.tolist(), words.tolist(), strict=True
        )
    ]


GRAMMAR = Path(__file__).with_name("models") / "grammar.safetensors"


def of_like_length(sources: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield the numbers of sources to read together, at most 32."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for start in range(0, len(order), 32):
        yield order[start : start + 32]


def write_some(
    translator: "Translator", sources: list[list[int]], beam: int
) -> Rows:
    """Write the translations of sources that are read together."""
    table, lengths = pad(sources)
    most = min(2 * table.shape[1] + 16, translator.most)
    with computing(translator.engine):
        if beam == 1 and translator.recorded:
            return translator.recorded.write(table, lengths, max_words=most)
        decoder = translator.decoder
        if beam == 1:
            return write(decoder, table, lengths, max_words=most)
        return beam_search(decoder, table, lengths, max_words=most, size=beam)


class Translator:
    """A model, copied to where it computes, with its two vocabularies."""

    def __init__(
        self,
        model: Transformer,
        source: Tokens,
        target: Tokens,
        engine: Engine = ON_CPU,
    ) -> None:
        self.model, self.source, self.target = model, source, target
        self.engine, self.decoder = engine, IncrementalDecoder(model, engine)
        self.recorded = engine.records and StaticDecoder(model, engine)
        learnt = model.config.positions == "learned"
        self.most = model.config.max_words if learnt else 10_000

    @classmethod
    def load(
        cls, path: str | Path = GRAMMAR, engine: Engine = ON_CPU
    ) -> "Translator":
        """Read a file of save_model; by default the model of the grammar."""
        return cls(*load_model(path), engine)

    def read(self, text: str) -> list[int]:
        """Return the words of a text; ValueError if they will not do."""
        words = self.source.encode(text)
        if 0 < len(words) <= self.most:
            return words
        wanted = f"wanted a text of 1 to {self.most} words"
        raise ValueError(f"{wanted}, got {len(words)}: {text[:40]!r}")

    def write(self, sources: Sequence[list[int]], beam: int = 1) -> Rows:
        """Write translations as word numbers, at most 32 at a time."""
        outputs = [list[int]() for _ in sources]
        for rows in of_like_length(sources):
            found = write_some(self, [sources[row] for row in rows], beam)
            for row, words in zip(rows, found, strict=True):
                outputs[row] = words
        return outputs

    def translate(self, texts: Sequence[str], *, beam: int = 1) -> list[str]:
        """Translate texts, greedily or with a beam of that size."""
        written = self.write([self.read(text) for text in texts], beam=beam)
        return [self.target.decode(words) for words in written]


class Scores(NamedTuple):
    """How good translations are, each from 0 to 100."""

    exact: float  # share that equals the reference
    bleu: float
    chrf: float


def score(outputs: Sequence[str], references: Sequence[str]) -> Scores:
    """Compare Chinese translations with one reference each.

    Source: Papineni et al. (2002) for BLEU, Popović (2015) for chrF, both as
        sacrebleu counts them (Post, 2018).
    """
    try:
        import sacrebleu
    except ImportError:
        raise ImportError("run first: pip install sacrebleu") from None
    if not outputs or len(outputs) != len(references):
        raise ValueError(
            "wanted one reference for each of one or more outputs, "
            f"got {len(references)} for {len(outputs)}"
        )
    pairs = zip(outputs, references, strict=True)
    same = sum(output == reference for output, reference in pairs)
    others = [list(references)]
    return Scores(
        100 * same / len(outputs),
        sacrebleu.corpus_bleu(outputs, others, tokenize="zh").score,
        sacrebleu.corpus_chrf(outputs, others).score,
    )


@torch.no_grad()
def cross_weights(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> Float[Tensor, "layers heads target source"]:
    """Return where each head of each layer looks before each target word.

    target begins without <start>: row j is where the model looked when it
    wrote target[j].
    """
    device, found = model.target.words.weight.device, list[Tensor]()

    def keep(attention: MultiHeadAttention, inputs: tuple[Any, ...]) -> None:
        found.append(attention_weights(attention, *inputs)[0])

    layers = cast(list[DecoderLayer], list(model.decoder.layers))
    hooks = [layer.cross.register_forward_pre_hook(keep) for layer in layers]
    try:
        model(
            torch.tensor([source], device=device),
            torch.tensor([len(source)], device=device),
            torch.tensor([[START, *target[:-1]]], device=device),
        )
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)
