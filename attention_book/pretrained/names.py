# Made from docs/chapters/19-pretrained.md (9b0066afc309). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
__all__ = ["BERT_LAYER", "GPT2_LAYER"]
BERT_LAYER = {  # name in the file: the parts that it holds
    "attention.self.query": ("query",),
    "attention.self.key": ("key",),
    "attention.self.value": ("value",),
    "attention.output.dense": ("out",),
    "attention.output.LayerNorm": ("norm 1",),
    "intermediate.dense": ("up",),
    "output.dense": ("down",),
    "output.LayerNorm": ("norm 2",),
}
GPT2_LAYER = {
    "ln_1": ("norm 1",),
    "attn.c_attn": ("query", "key", "value"),  # the three in one
    "attn.c_proj": ("out",),
    "ln_2": ("norm 2",),
    "mlp.c_fc": ("up",),
    "mlp.c_proj": ("down",),
}
