# Made from docs/language/pretrained.md (ed4bbee3650b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""GPT-2, as transformers saves it.

Explained in the chapter "Pretrained weights".
"""

from typing import Any

from torch import nn

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layers import map_layer, map_weights
from attention_book.io.pretrained.layout import Layout, WeightSlot
from attention_book.models.config import TextConfig
from attention_book.models.language import CausalLanguageModel


__all__ = ["GPT2", "GPT2_CONFIG", "GPT2_LAYER", "gpt2_layout"]


GPT2_LAYER = {  # name in the file: the parts that it holds
    "ln_1": ("norm 1",),
    "attn.c_attn": ("query", "key", "value"),  # the three in one
    "attn.c_proj": ("out",),
    "ln_2": ("norm 2",),
    "mlp.c_fc": ("up",),
    "mlp.c_proj": ("down",),
}


def gpt2_layout(model: CausalLanguageModel) -> Layout:
    """Return where the tensors of transformers' GPT2LMHeadModel stand.

    Its Conv1D keeps matrices as (in, out): each is transposed.
    """
    trunk = model.encoder
    layout = {
        "transformer.wte.weight": WeightSlot((trunk.tokens.weight,)),
        "transformer.wpe.weight": WeightSlot((trunk.positions.table,)),
        **map_weights("transformer.ln_f", trunk.encoder.norm),
    }
    for i, layer in enumerate(trunk.encoder.layers):
        stem = f"transformer.h.{i}"
        layout |= map_layer(stem, layer, GPT2_LAYER, is_transposed=True)
    return layout


GPT2_CONFIG: dict[str, tuple[str, Any]] = {  # entry: our field, its default
    "vocab_size": ("vocab_size", 50_257),
    "n_positions": ("max_length", 1024),
    "n_embd": ("d_model", 768),
    "n_head": ("n_heads", 12),
    "n_inner": ("d_ff", lambda fields: 4 * fields["d_model"]),
    "n_layer": ("n_layers", 12),
    "resid_pdrop": ("dropout", 0.1),
    "layer_norm_epsilon": ("epsilon", 1e-5),
    "activation_function": ("activation", "gelu_new"),
}


def _build(fields: dict[str, Any]) -> nn.Module:
    """Make the book's model."""
    return CausalLanguageModel(TextConfig(**fields))


def _written(config: TextConfig) -> dict[str, Any]:
    """Return the dropout rates that the book has no names for."""
    return {"embd_pdrop": config.dropout, "attn_pdrop": 0.0}


GPT2 = Family(
    architecture="GPT2LMHeadModel",
    model_type="gpt2",
    model_class=CausalLanguageModel,
    build=_build,
    entries=GPT2_CONFIG,
    fixed={  # GPT-2 has switches that change the function; ours has none
        "add_cross_attention": False,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "tie_word_embeddings": True,
    },
    fields={"norm": "pre", "n_segments": 0},
    layout=gpt2_layout,
    renamed={r"^(wte|wpe|h|ln_f)\.": r"transformer.\1."},
    unused=r"transformer\.h\.\d+\.attn\.(bias|masked_bias)",
    tied={"lm_head.weight": "transformer.wte.weight"},
    written=_written,
)
