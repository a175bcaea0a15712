# Made from docs/chapters/39-processes.md (c617846d0c74). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.processes.errors import USER_ERRORS, is_peer_failure
from attention_book.processes.failures import (
    ErrorReporter,
    joined,
    listening,
)
from attention_book.processes.rendezvous import (
    DIST_BACKENDS,
    RankInfo,
    get_rank_info,
    device_of_rank,
)
from attention_book.processes.resume import (
    check_agreement,
    resume,
    keep,
    exists_on_all_ranks,
)
from attention_book.processes.shards import (
    load_shards,
    newest_shards,
    save_shards,
    steps_saved,
)


__all__ = [
    "DIST_BACKENDS",
    "USER_ERRORS",
    "RankInfo",
    "ErrorReporter",
    "check_agreement",
    "get_rank_info",
    "resume",
    "joined",
    "keep",
    "listening",
    "load_shards",
    "newest_shards",
    "device_of_rank",
    "save_shards",
    "exists_on_all_ranks",
    "steps_saved",
]
