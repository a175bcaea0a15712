# Made from docs/source/processes.md (9a44ec58f919). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch.distributed as dist


__all__ = ["USER_ERRORS", "is_peer_failure"]


USER_ERRORS = (ArithmeticError, ImportError, OSError, ValueError)


def is_peer_failure(error: BaseException) -> bool:
    """Whether this is how the end of another process is felt."""
    return isinstance(error, dist.DistError) or "/gloo/" in str(error)
