# Made from docs/source/processes.md (d6ff2c73cb62). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch.distributed as dist


__all__ = ["is_peer_failure"]


def is_peer_failure(error: BaseException) -> bool:
    """Whether this is how the end of another process is felt."""
    return isinstance(error, dist.DistError) or "/gloo/" in str(error)
