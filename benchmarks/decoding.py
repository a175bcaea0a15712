"""Greedy decoding against the peers': python -m benchmarks.decoding

A Transformer with d_model 256, 8 heads, d_ff 1024, 3+3 layers and 8,000 words
reads 64 words and writes 64 or 128, for 1 or 32 sentences, in fp32 on one
thread. <eos> is forbidden, so that all write as much. CTranslate2 has the
very weights of ours, and before anything is timed the two must write the same
words. What is found goes to results/ as JSON.

Settings: Marian as its generate() does it, with its cache; x-transformers
with its cache and SDPA ("flash"); it keeps no keys of the source but makes
them again each step. torch.nn.Transformer has no cache: it computes everything
again for each word, as our model does without IncrementalDecoder, and these
two are only shown for one sentence and 64 words. CTranslate2 chooses its
kernels itself (CT2_USE_MKL is left alone). Sentences are of equal lengths, so
that nobody pays for padding.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.corpus import BOS, EOS
from attention_book.fast_decoding import IncrementalDecoder, write
from attention_book.positions import SinusoidalPositions
from attention_book.transformer import Transformer
from benchmarks.sidebyside import (
    introduce,
    keep,
    need,
    report,
    side_by_side,
)
from benchmarks.training import (
    N_WORDS,
    SMALL,
    NnTransformer,
    book,
    marian,
    x_transformers,
)


N_SOURCE = 64
Entrant = Callable[[Tensor, int], object]  # sources, how many words to write


def best_but_end(scores: Tensor) -> Tensor:
    """Greedy, but never a mark: all of them come first."""
    return scores[:, EOS + 1 :].argmax(-1) + (EOS + 1)


def make_model() -> Transformer:
    """Random weights, large ones in the decoder, so that it writes variedly.

    The scores come from the table of embeddings. As the weights come, the
    word that was read last would win, for ever.
    """
    model = cast(Transformer, book(SMALL)[0])
    with torch.no_grad():
        cast(nn.LayerNorm, model.decoder.norm).weight.normal_()
        for parameter in model.decoder.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return model.eval()


class CTranslate2:
    """The server in a process of its own, asked over a pipe."""

    def __init__(self, model: Transformer) -> None:
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "weights.npz"
        weights = {k: v.numpy() for k, v in model.state_dict().items()}
        add_places = cast(
            SinusoidalPositions, model.target_embedding.positions
        )
        places = add_places(torch.zeros(512, SMALL.d_model))
        weights["positions"] = places.numpy()
        weights["n_layers"] = np.array(SMALL.n_layers)
        weights["n_heads"] = np.array(SMALL.n_heads)
        np.savez(file, **weights)
        self.server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ctranslate2_server", str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def __call__(self, source: Tensor, n: int, show: bool = False) -> Any:
        """Let it write; the words come back only if they shall be shown."""
        pipe_in = cast(IO[str], self.server.stdin)
        pipe_out = cast(IO[str], self.server.stdout)
        words = [[str(word) for word in row] for row in source.tolist()]
        pipe_in.write(json.dumps([words, n, show]) + "\n")
        pipe_in.flush()
        if not (answer := pipe_out.readline()):
            raise SystemExit("the process of CTranslate2 has ended")
        return json.loads(answer)

    def close(self) -> None:
        if self.server.stdin:
            self.server.stdin.close()
        self.server.wait()
        self.folder.cleanup()


def hugging_face() -> Entrant:
    model: Any = marian(SMALL)[0]
    model.eval()

    def run(source: Tensor, n: int) -> object:
        return model.generate(
            input_ids=source,
            attention_mask=torch.ones_like(source),
            do_sample=False,
            num_beams=1,
            min_new_tokens=n,
            max_new_tokens=n,
        )

    return run


def lucidrains() -> Entrant:
    model: Any = x_transformers(SMALL)[0]
    model.eval()

    def run(source: Tensor, n: int) -> object:
        start = source.new_full((len(source), 1), BOS)
        return model.generate(source, start, n, temperature=0.0)

    return run


def pytorch() -> Entrant:
    model = NnTransformer(SMALL).eval()

    def run(source: Tensor, n: int) -> object:
        memory = model.transformer.encoder(model.embed(source))
        written = source.new_full((len(source), 1), BOS)
        for i in range(1, n + 1):
            hidden = torch.ones(i, i, dtype=torch.bool).triu(1)
            x = model.transformer.decoder(
                model.embed(written),
                memory,
                tgt_mask=hidden,
                tgt_is_causal=True,
            )
            scores = F.linear(x[:, -1], model.words.weight)
            words = best_but_end(scores)[:, None]
            written = torch.cat([written, words], dim=1)
        return written

    return run


def all_over(model: Transformer, source: Tensor, n: int) -> list[list[int]]:
    """Write with nothing kept but the memory."""
    lengths = torch.full((len(source),), source.shape[1])
    memory, mask = model.encode(source, lengths)
    written = source.new_full((len(source), 1), BOS)
    for _ in range(n):
        scores = model.decode(written, memory, mask)[:, -1]
        words = best_but_end(scores)[:, None]
        written = torch.cat([written, words], dim=1)
    rows: list[list[int]] = written[:, 1:].tolist()
    return rows


def ours(
    decoder: IncrementalDecoder, source: Tensor, n: int
) -> list[list[int]]:
    lengths = torch.full((len(source),), source.shape[1])
    return write(decoder, source, lengths, max_length=n, choose=best_but_end)


def make_source(rows: int) -> Tensor:
    generator = torch.Generator().manual_seed(rows)
    shape = (rows, N_SOURCE)
    return torch.randint(EOS + 2, N_WORDS, shape, generator=generator)


def check_same(
    model: Transformer, decoder: IncrementalDecoder, other: CTranslate2
) -> None:
    """Raise SystemExit unless all three ways write the same, and varied."""
    for rows, n in ((1, 128), (32, 32)):
        source = make_source(rows)
        book_words = ours(decoder, source, n)
        if len({word for row in book_words for word in row}) < n / 4:
            raise SystemExit("too few different words to compare anything")
        if all_over(model, source, n) != book_words:
            raise SystemExit("ours differs from compute_context all again")
        if other(source, n, show=True) != book_words:
            raise SystemExit("ours differs from CTranslate2")
    print("ours and CTranslate2 write the same words")


def compare(
    entrants: dict[str, Entrant], rows: int, n: int, rounds: int
) -> dict[str, float]:
    source = make_source(rows)
    runs = {k: partial(run, source, n) for k, run in entrants.items()}
    seconds = side_by_side(dict(runs), rounds)
    report(f"batch {rows}: {N_SOURCE} words read, {n} written", seconds)
    return seconds


MARIAN = "Hugging Face Marian"
CT2 = "CTranslate2"
OURS = "attention_book"


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description="Greedy decoding")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    peers = need("transformers", "x-transformers", "ctranslate2")
    torch.set_num_threads(1)
    introduce()
    torch.manual_seed(0)
    model = make_model()
    decoder = IncrementalDecoder(model)
    ct2 = CTranslate2(model)
    check_same(model, decoder, ct2)
    entrants: dict[str, Entrant] = {
        MARIAN: hugging_face(),
        "x-transformers": lucidrains(),
        CT2: ct2,
        OURS: partial(ours, decoder),
    }
    again: dict[str, Entrant] = {
        "torch.nn.Transformer, no cache": pytorch(),
        f"{OURS}, no cache": partial(all_over, model),
    }
    found = {}
    ratios = {}
    for rows in (1, 32):
        for n in (64, 128):
            most = again if (rows, n) == (1, 64) else {}
            rounds = options.rounds * (3 if rows == 1 else 1)
            seconds = compare(entrants | most, rows, n, rounds)
            found[f"batch {rows}, {n} words"] = seconds
            for other in (MARIAN, CT2):
                ratio = seconds[OURS] / seconds[other]
                ratios[f"batch {rows}, {n} words: ours / {other}"] = ratio
        short, long = (found[f"batch {rows}, {n} words"] for n in (64, 128))
        ratios[f"batch {rows}: ours, 128 / 64 words"] = (
            long[OURS] / short[OURS]
        )
    ct2.close()
    for what, ratio in ratios.items():
        print(f"  {what:50} {ratio:6.2f}")
    keep(
        "decoding-cpu",
        ["python -m benchmarks.decoding"],
        peers,
        seconds={
            row: {name: round(value, 4) for name, value in seconds.items()}
            for row, seconds in found.items()
        },
        ratios={what: round(ratio, 3) for what, ratio in ratios.items()},
    )


if __name__ == "__main__":
    main()
