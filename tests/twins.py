"""The parameters of our layers, under the names of PyTorch's."""

import torch
from torch import Tensor, nn


State = dict[str, Tensor]


def randomise(module: nn.Module) -> None:
    """Move every parameter, so that no norm or bias stays at 1 or 0."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)


def prefixed(prefix: str, state: State) -> State:
    return {f"{prefix}.{name}": value for name, value in state.items()}


def attention_state(ours: nn.Module) -> State:
    """A MultiHeadAttention, as nn.MultiheadAttention names it."""
    query, key_value = (
        part.state_dict() for part in (ours.q_proj, ours.kv_proj)
    )
    stacked = {
        f"in_proj_{kind}": torch.cat([query[kind], key_value[kind]])
        for kind in query  # no bias where there is none
    }
    return stacked | prefixed("out_proj", ours.out_proj.state_dict())


def stack_state(ours: nn.Module) -> State:
    """An Encoder or Decoder, as PyTorch's own stacks name their parts."""
    state = prefixed("norm", ours.norm.state_dict())
    for i, layer in enumerate(ours.layers):
        parts = prefixed("self_attn", attention_state(layer.self_attention))
        if hasattr(layer, "cross"):
            parts |= prefixed(
                "multihead_attn", attention_state(layer.cross_attention)
            )
        network = layer.feed_forward
        parts |= prefixed("linear1", network.up_proj.state_dict())
        parts |= prefixed("linear2", network.down_proj.state_dict())
        for j, around in enumerate(layer.residuals, 1):
            parts |= prefixed(f"norm{j}", around.norm.state_dict())
        state |= prefixed(f"layers.{i}", parts)
    return state
