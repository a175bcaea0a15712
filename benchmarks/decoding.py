"""Greedy decoding against the peers': python -m benchmarks.decoding

A Transformer with d_model 256, 8 heads, d_ff 1024, 3+3 layers and a vocabulary
of 8,000 encodes 64 tokens and generates 64 or 128, for 1 or 32 sentences, in
fp32 on one thread; with --base it is the paper's base model. <eos> is
forbidden, so that all generate as much. CTranslate2 has the very weights of
ours, and before anything is timed the two must generate the same tokens. Both
run a second time with weights of int8, of which nobody asks that. What is found
goes to results/ as JSON.

Settings: Marian as its generate() does it, with its cache; x-transformers
with its cache and SDPA ("flash"); it keeps no keys of the source but makes
them again each step. torch.nn.Transformer has no cache: it computes everything
again for each token. It is shown for one sentence and 64 tokens only, as are
our model without a cache and our plain generate(). CTranslate2 chooses its
kernels itself (CT2_USE_MKL is left alone). Sentences are of equal lengths, so
that nobody pays for padding.

Two bounds are timed as well. For one sentence the weights of the decoder are
merely read, once for each token, by a dot product with themselves: in fp32
nobody can be faster. For 32 the matrix products of the steps are done and no
more, no encoder, attention or normalisation: with these kernels nobody can be.
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

from attention_book import generate
from attention_book.attention.positions import SinusoidalPositions
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.int8 import Int8Linear
from attention_book.generation.prepacked import PrepackedLinear
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS
from benchmarks.sidebyside import (
    introduce,
    keep,
    need,
    report,
    side_by_side,
)
from benchmarks.training import (
    BASE,
    SMALL,
    VOCAB_SIZE,
    NnTransformer,
    Shape,
    book,
    marian,
    x_transformers,
)


SOURCE_LENGTH = 64
Entrant = Callable[[Tensor, int], object]  # sources, how many tokens


def greedy_without_eos(logits: Tensor) -> Tensor:
    """Greedy, but never a special token: all of them come first."""
    return logits[:, EOS + 1 :].argmax(-1) + (EOS + 1)


def make_model(s: Shape = SMALL) -> Transformer:
    """Random weights, large ones in the decoder, so that tokens vary.

    The output layer is the table of embeddings. As the weights come, the
    last token would win again, for ever.
    """
    model = cast(Transformer, book(s)[0])
    with torch.no_grad():
        nn.init.normal_(model.decoder.norm.weight)
        for parameter in model.decoder.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return model.eval()


class CTranslate2:
    """The server in a process of its own, asked over a pipe."""

    def __init__(
        self, model: Transformer, compute_type: str = "float32"
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "weights.npz"
        weights = {k: v.numpy() for k, v in model.state_dict().items()}
        config = model.config
        encodings = SinusoidalPositions(config.d_model)(
            torch.zeros(512, config.d_model)
        )
        weights["positions"] = encodings.numpy()
        weights["n_layers"] = np.array(config.n_layers)
        weights["n_heads"] = np.array(config.n_heads)
        np.savez(file, **weights)
        self.server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.ctranslate2_server",
                str(file),
                compute_type,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def __call__(self, source: Tensor, n: int, show: bool = False) -> Any:
        """Let it generate; the tokens come back only if they are to be shown."""
        pipe_in = cast(IO[str], self.server.stdin)
        pipe_out = cast(IO[str], self.server.stdout)
        tokens = [
            [str(token_id) for token_id in row] for row in source.tolist()
        ]
        pipe_in.write(json.dumps([tokens, n, show]) + "\n")
        pipe_in.flush()
        if not (answer := pipe_out.readline()):
            raise SystemExit("the process of CTranslate2 has ended")
        return json.loads(answer)

    def close(self) -> None:
        if self.server.stdin:
            self.server.stdin.close()
        self.server.wait()
        self.folder.cleanup()


def hugging_face(s: Shape) -> Entrant:
    model: Any = marian(s)[0]
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


def lucidrains(s: Shape) -> Entrant:
    model: Any = x_transformers(s)[0]
    model.eval()

    def run(source: Tensor, n: int) -> object:
        start = source.new_full((len(source), 1), BOS)
        return model.generate(source, start, n, temperature=0.0)

    return run


def pytorch(s: Shape) -> Entrant:
    model = NnTransformer(s).eval()

    def run(source: Tensor, n: int) -> object:
        memory = model.transformer.encoder(model.embed(source))
        target = source.new_full((len(source), 1), BOS)
        for i in range(1, n + 1):
            hidden = torch.ones(i, i, dtype=torch.bool).triu(1)
            x = model.transformer.decoder(
                model.embed(target),
                memory,
                tgt_mask=hidden,
                tgt_is_causal=True,
            )
            logits = F.linear(x[:, -1], model.tokens.weight)
            token_ids = greedy_without_eos(logits)[:, None]
            target = torch.cat([target, token_ids], dim=1)
        return target

    return run


def recompute(model: Transformer, source: Tensor, n: int) -> list[list[int]]:
    """Generate with nothing kept but the memory."""
    lengths = torch.full((len(source),), source.shape[1])
    memory, mask = model.encode(source, lengths)
    target = source.new_full((len(source), 1), BOS)
    for _ in range(n):
        logits = model.decode(target, memory, mask)[:, -1]
        token_ids = greedy_without_eos(logits)[:, None]
        target = torch.cat([target, token_ids], dim=1)
    return target[:, 1:].tolist()


def plain(model: Transformer, source: Tensor, n: int) -> list[list[int]]:
    lengths = torch.full((len(source),), source.shape[1])
    return generate(
        model, source, lengths, max_length=n, next_token=greedy_without_eos
    )


def ours(
    decoder: IncrementalDecoder, source: Tensor, n: int
) -> list[list[int]]:
    lengths = torch.full((len(source),), source.shape[1])
    return generate(
        decoder, source, lengths, max_length=n, next_token=greedy_without_eos
    )


def make_source(rows: int) -> Tensor:
    generator = torch.Generator().manual_seed(rows)
    shape = (rows, SOURCE_LENGTH)
    return torch.randint(EOS + 2, VOCAB_SIZE, shape, generator=generator)


def check_same(
    model: Transformer, decoder: IncrementalDecoder, other: CTranslate2
) -> None:
    """Raise SystemExit unless all generate the same, and various tokens."""
    for rows, n in ((1, 128), (32, 32)):
        source = make_source(rows)
        found = ours(decoder, source, n)
        if len({token_id for row in found for token_id in row}) < n / 4:
            raise SystemExit("too few different tokens to compare anything")
        for function in recompute, plain:
            if function(model, source, n) != found:
                raise SystemExit(f"ours differs from {function.__name__}")
        if other(source, n, show=True) != found:
            raise SystemExit("ours differs from CTranslate2")
    print("ours and CTranslate2 generate the same tokens")


def compare(
    entrants: dict[str, Entrant], rows: int, n: int, rounds: int
) -> dict[str, float]:
    source = make_source(rows)
    runs = {k: partial(run, source, n) for k, run in entrants.items()}
    seconds = side_by_side(dict(runs), rounds)
    report(
        f"batch {rows}: {SOURCE_LENGTH} tokens encoded, {n} generated", seconds
    )
    return seconds


def read_weights(model: Transformer) -> Entrant:
    """Read all that a step needs, as often as there are steps."""
    needed = [
        parameter.flatten()
        for name, parameter in model.decoder.named_parameters()
        if "cross_attention.kv_proj" not in name  # of the sources, once
    ]
    output = model.target_embedding.tokens.weight.flatten()
    weights = torch.cat([*needed, output])

    def run(_: Tensor, n: int) -> None:
        for _ in range(n):
            weights.dot(weights)

    return run


def multiply(decoder: IncrementalDecoder) -> Entrant:
    """Do the matrix products of a step, as often as there are steps."""
    parts = [
        part
        for layer in decoder.layers
        for part in (
            layer.qkv_proj,
            layer.out_proj,
            layer.cross_q_proj,
            layer.cross_out_proj,
        )
    ]
    parts += [
        part
        for layer in decoder.model.decoder.layers
        for part in layer.feed_forward.modules()
        if isinstance(part, PrepackedLinear)
    ]
    parts.append(decoder.output)

    def run(source: Tensor, n: int) -> None:
        shape = len(source), decoder.model.config.d_ff
        x = torch.ones(shape)  # whose columns are as many as any part reads
        inputs = [x[:, : part.weight.shape[1]].contiguous() for part in parts]
        for _ in range(n):
            for part, rows in zip(parts, inputs, strict=True):
                part(rows)

    return run


MARIAN = "Hugging Face Marian"
CT2 = "CTranslate2"
OURS = "attention_book"
CT2_INT8 = "CTranslate2, int8"
OURS_INT8 = "attention_book, int8"
READ = "weights read, no more"
MULTIPLY = "matrix products, no more"
BOUNDS = {READ, MULTIPLY}


def rounded(
    found: dict[str, dict[str, float]], is_wanted: Callable[[str], bool]
) -> dict[str, dict[str, float]]:
    """The seconds of those wanted."""
    return {
        row: {k: round(x, 4) for k, x in seconds.items() if is_wanted(k)}
        for row, seconds in found.items()
    }


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description="Greedy decoding")
    parser.add_argument("--base", action="store_true", help="the paper's base")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    peers = need("transformers", "x-transformers", "ctranslate2")
    torch.set_num_threads(1)
    introduce()
    torch.manual_seed(0)
    s = BASE if options.base else SMALL
    model = make_model(s)
    decoder = IncrementalDecoder(model)
    ct2 = CTranslate2(model)
    ct2_int8 = CTranslate2(model, "int8")
    int8 = IncrementalDecoder(model, linear=Int8Linear)
    check_same(model, decoder, ct2)
    entrants: dict[str, Entrant] = {
        MARIAN: hugging_face(s),
        "x-transformers": lucidrains(s),
        CT2: ct2,
        OURS: partial(ours, decoder),
        CT2_INT8: ct2_int8,
        OURS_INT8: partial(ours, int8),
    }
    again: dict[str, Entrant] = {
        "torch.nn.Transformer, no cache": pytorch(s),
        f"{OURS}, no cache": partial(recompute, model),
        f"{OURS}, plain generate()": partial(plain, model),
        READ: read_weights(model),
    }
    large = {MULTIPLY: multiply(decoder)}
    found = {}
    ratios = {}
    for rows in (1, 32):
        for n in (64, 128):
            slower = large if rows > 1 else again if n == 64 else {}
            rounds = options.rounds * (3 if rows == 1 else 1)
            seconds = compare(entrants | slower, rows, n, rounds)
            found[f"batch {rows}, {n} tokens"] = seconds
            for other in (MARIAN, CT2):
                ratio = seconds[OURS] / seconds[other]
                ratios[f"batch {rows}, {n} tokens: ours / {other}"] = ratio
            for bound in BOUNDS & seconds.keys():
                ratio = seconds[bound] / seconds[OURS]
                ratios[f"batch {rows}, {n} tokens: {bound} / ours"] = ratio
            ratio = seconds[OURS_INT8] / seconds[CT2_INT8]
            ratios[f"batch {rows}, {n} tokens, int8: ours / {CT2}"] = ratio
        short, long = (found[f"batch {rows}, {n} tokens"] for n in (64, 128))
        ratios[f"batch {rows}: ours, 128 / 64 tokens"] = (
            long[OURS] / short[OURS]
        )
    ct2.close()
    ct2_int8.close()
    for what, ratio in ratios.items():
        print(f"  {what:50} {ratio:6.2f}")
    keep(
        "decoding-base-cpu" if options.base else "decoding-cpu",
        ["python -m benchmarks.decoding", *["--base"] * options.base],
        peers,
        seconds=rounded(found, lambda name: name not in BOUNDS),
        bounds=rounded(found, lambda name: name in BOUNDS),
        ratios={what: round(ratio, 3) for what, ratio in ratios.items()},
    )


if __name__ == "__main__":
    main()
