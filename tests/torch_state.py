"""The parameters of our layers, under the names of PyTorch's."""

import torch
from torch import Tensor, nn

from attention_book.models.decoder import DecoderLayer


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
    query = ours.q_proj.state_dict()
    key_value = ours.kv_proj.state_dict()
    stacked = {
        f"in_proj_{kind}": torch.cat([query[kind], key_value[kind]])
        for kind in query  # no bias where there is none
    }
    return stacked | prefixed("out_proj", ours.out_proj.state_dict())


def stack_state(ours: nn.Module) -> State:
    """An Encoder or Decoder, as PyTorch's own name their parameters."""
    state = prefixed("norm", ours.norm.state_dict())
    for i, layer in enumerate(ours.layers):
        own = prefixed("self_attn", attention_state(layer.self_attention))
        if isinstance(layer, DecoderLayer):
            cross = attention_state(layer.cross_attention)
            own |= prefixed("multihead_attn", cross)
        network = layer.feed_forward
        own |= prefixed("linear1", network.up_proj.state_dict())
        own |= prefixed("linear2", network.down_proj.state_dict())
        for j, residual in enumerate(layer.residuals, 1):
            own |= prefixed(f"norm{j}", residual.norm.state_dict())
        state |= prefixed(f"layers.{i}", own)
    return state
