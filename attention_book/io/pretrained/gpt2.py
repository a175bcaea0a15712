# Made from docs/language/pretrained.md (e10c6fd1da90). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""GPT-2, as transformers saves it.

Explained in the chapter "Pretrained weights".
"""

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layout import Layout, WeightSlot, map_weights
from attention_book.models.config import TextConfig
from attention_book.models.language import CausalLanguageModel


__all__ = ["GPT2", "gpt2_layout"]


_LAYER = {  # name in the file: the parts of our layer that it joins
    "ln_1": "residuals.0.norm",
    "attn.c_attn": "self_attention.q_proj + self_attention.kv_proj",
    "attn.c_proj": "self_attention.out_proj",
    "ln_2": "residuals.1.norm",
    "mlp.c_fc": "feed_forward.up_proj",
    "mlp.c_proj": "feed_forward.down_proj",
}


def gpt2_layout(model: CausalLanguageModel) -> Layout:
    """Return where the tensors of transformers' GPT2LMHeadModel stand.

    Its Conv1D keeps matrices as (in, out): each is transposed.
    """
    trunk = model.encoder
    layout = {
        "transformer.wte.weight": WeightSlot((trunk.tokens.weight,)),
        "transformer.wpe.weight": WeightSlot((trunk.positions.table,)),
        **map_weights("transformer.", trunk.encoder, {"ln_f": "norm"}),
    }
    for i, layer in enumerate(trunk.encoder.layers):
        stem = f"transformer.h.{i}."
        layout |= map_weights(stem, layer, _LAYER, is_transposed=True)
    return layout


GPT2 = Family(
    architecture="GPT2LMHeadModel",
    model_class=CausalLanguageModel,
    build=lambda fields, _: CausalLanguageModel(TextConfig(**fields)),
    layout=gpt2_layout,
    entries={  # entry: our field, its default
        "vocab_size": ("vocab_size", 50_257),
        "n_positions": ("max_length", 1024),
        "n_embd": ("d_model", 768),
        "n_head": ("n_heads", 12),
        "n_inner": ("d_ff", lambda fields: 4 * fields["d_model"]),
        "n_layer": ("n_layers", 12),
        "resid_pdrop": ("dropout", 0.1),
        "layer_norm_epsilon": ("eps", 1e-5),
        "activation_function": ("activation", "gelu_new"),
    },
    fixed={  # GPT-2 has switches that change the function; ours has none
        "model_type": "gpt2",
        "add_cross_attention": False,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "tie_word_embeddings": True,
    },
    fields={"norm": "pre", "n_segments": 0},
    written=lambda config: {"embd_pdrop": config.dropout, "attn_pdrop": 0.0},
    renamed={r"^(wte|wpe|h|ln_f)\.": r"transformer.\1."},
    unused=r"transformer\.h\.\d+\.attn\.(bias|masked_bias)",
    tied={"lm_head.weight": "transformer.wte.weight"},
)
