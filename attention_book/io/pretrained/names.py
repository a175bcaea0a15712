# Made from docs/language/pretrained.md (ed32e3dffe5a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
__all__ = ["GPT2_LAYER"]
GPT2_LAYER = {  # name in the file: the parts that it holds
    "ln_1": ("norm 1",),
    "attn.c_attn": ("query", "key", "value"),  # the three in one
    "attn.c_proj": ("out",),
    "ln_2": ("norm 2",),
    "mlp.c_fc": ("up",),
    "mlp.c_proj": ("down",),
}
