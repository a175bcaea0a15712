"""CTranslate2 with a Transformer of this book, in a process of its own.

python -m benchmarks.ctranslate2_server WEIGHTS.npz [int8]: reads from stdin one
JSON request a line, [sources, how many tokens, whether to show], and answers with a
line: the token ids generated, or null. No torch here: their two OpenMP runtimes
would be in each other's way. While nothing is asked, the process sleeps.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec


BOS = "1"
EOS = "2"  # tokens are called by their ids
Weights = Mapping[str, np.ndarray]


def fill_linear(spec: Any, weights: Weights, *names: str) -> None:
    """One linear layer, of one or of several that read the same."""
    spec.weight = np.concatenate([weights[f"{n}.weight"] for n in names])
    spec.bias = np.concatenate([weights[f"{n}.bias"] for n in names])


def fill_norm(spec: Any, weights: Weights, name: str) -> None:
    spec.gamma = weights[f"{name}.weight"]
    spec.beta = weights[f"{name}.bias"]


def fill_layer(spec: Any, weights: Weights, layer: str) -> None:
    own = spec.self_attention
    inner = f"{layer}.self_attention"
    both = f"{inner}.q_proj", f"{inner}.kv_proj"
    fill_linear(own.linear[0], weights, *both)
    fill_linear(own.linear[1], weights, f"{inner}.out_proj")
    fill_norm(own.layer_norm, weights, f"{layer}.residuals.0.norm")
    last = 1
    if layer.startswith("decoder"):
        cross = spec.attention
        last = 2
        names = "q_proj", "kv_proj", "out_proj"
        for linear, name in zip(cross.linear, names, strict=True):
            fill_linear(linear, weights, f"{layer}.cross_attention.{name}")
        fill_norm(cross.layer_norm, weights, f"{layer}.residuals.1.norm")
    fill_linear(spec.ffn.linear_0, weights, f"{layer}.feed_forward.up_proj")
    fill_linear(spec.ffn.linear_1, weights, f"{layer}.feed_forward.down_proj")
    fill_norm(spec.ffn.layer_norm, weights, f"{layer}.residuals.{last}.norm")


def make_spec(weights: Weights, n_layers: int, n_heads: int) -> Any:
    """CTranslate2's description of a pre-norm Transformer with ReLU."""
    spec = transformer_spec.TransformerSpec.from_config(
        (n_layers, n_layers),
        n_heads,
        pre_norm=True,
        activation=common_spec.Activation.RELU,
    )
    table = weights["target_embedding.tokens.weight"]
    for side, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        several = isinstance(side.embeddings, list)
        embeddings = side.embeddings[0] if several else side.embeddings
        embeddings.weight = table
        side.scale_embeddings = True
        side.position_encodings.encodings = weights["positions"]
        fill_norm(side.layer_norm, weights, f"{name}.norm")
        for i, layer in enumerate(side.layer):
            fill_layer(layer, weights, f"{name}.layers.{i}")
    spec.decoder.projection.weight = table
    tokens = [str(token_id) for token_id in range(len(table))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token = spec.config.decoder_start_token = BOS
    spec.config.eos_token = EOS
    spec.config.add_source_bos = spec.config.add_source_eos = False
    return spec


def load(path: str, compute_type: str = "float32") -> ctranslate2.Translator:
    weights = dict(np.load(path))
    n_layers, n_heads = (int(weights.pop(n)) for n in ("n_layers", "n_heads"))
    spec = make_spec(weights, n_layers, n_heads)
    spec.validate()
    spec.optimize()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        model.mkdir()
        spec.save(str(model))
        return ctranslate2.Translator(
            str(model),
            device="cpu",
            compute_type=compute_type,
            inter_threads=1,
            intra_threads=1,
        )


def main() -> None:
    translator = load(*sys.argv[1:])
    for line in sys.stdin:
        sources, n, show = json.loads(line)
        found = translator.translate_batch(
            sources,
            beam_size=1,
            max_batch_size=0,
            min_decoding_length=n,
            max_decoding_length=n,
        )
        rows = [[int(token) for token in row.hypotheses[0]] for row in found]
        print(json.dumps(rows if show else None), flush=True)


if __name__ == "__main__":
    main()
