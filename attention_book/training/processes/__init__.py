# Made from docs/source/processes.md (b4f7dac9f9bc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.training.processes.errors import is_peer_failure
from attention_book.training.processes.failures import (
    ErrorReporter,
    process_group,
    sigterm_handler,
)
from attention_book.training.processes.locks import lock_for_all
from attention_book.training.processes.rendezvous import (
    DIST_BACKENDS,
    RANK_VARS,
    RENDEZVOUS_VARS,
    TIMEOUT,
    RankInfo,
    device_of_rank,
    get_rank_info,
)
from attention_book.training.processes.resume import (
    broadcast_bool,
    check_agreement,
    exists_on_all_ranks,
    resume,
    save,
)
from attention_book.training.processes.shards import (
    load_full,
    load_shards,
    local_shard,
    named_tensors,
    newest_shards,
    save_full,
    save_shards,
    steps_saved,
)


__all__ = [
    "DIST_BACKENDS",
    "RANK_VARS",
    "RENDEZVOUS_VARS",
    "TIMEOUT",
    "ErrorReporter",
    "RankInfo",
    "broadcast_bool",
    "check_agreement",
    "device_of_rank",
    "exists_on_all_ranks",
    "get_rank_info",
    "is_peer_failure",
    "load_full",
    "load_shards",
    "local_shard",
    "lock_for_all",
    "named_tensors",
    "newest_shards",
    "process_group",
    "resume",
    "save",
    "save_full",
    "save_shards",
    "sigterm_handler",
    "steps_saved",
]
