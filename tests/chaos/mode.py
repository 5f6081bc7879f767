"""The modes of delivery (docs/delivery.md): how the relay is configured for each, and what the judge expects of it.

No mode promises anything for a WAL that is rewritten (restores, failovers to a standby that lacks commits), a progress
record that is deleted or set, or a partition that loses all its replicas. No fault does that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The least that walrelay accepts, so that most suspensions outlast it.
_TRANSACTION_TIMEOUT = "10s"


@dataclass(frozen=True)
class Mode:
    """`most_per_kill`: how many records each SIGKILL may repeat, if no other fault is near.

    `once`: readers of committed records see no event twice, and in the end no transaction is open.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    added_headers: frozenset[str] = frozenset()  # by walrelay; not compared with the row
    most_per_kill: int | None = None
    once: bool = False


MODES = {mode.name: mode for mode in [
    Mode("slot"),
    Mode("topics", {"pipeline.mode": "topics"}, frozenset({"wr-pos"}), most_per_kill=2),
    Mode("exactly_once", {"pipeline.mode": "exactly_once", "kafka.transaction_timeout": _TRANSACTION_TIMEOUT}, once=True)]}
