"""All faults, with their relative frequencies."""

from collections.abc import Callable

from fault import Context, Fault
from kafka_faults import (change_leaders, hang_broker, hang_coordinator, kill_all_brokers,
                          kill_broker, kill_coordinator, shrink_replicas)
from link_faults import disturb_broker_links, disturb_postgres_link
from postgres_faults import (change_table, checkpoints, kill_postmaster, large_transaction,
                             restart_fast, restart_immediate, terminate_walsender)
from pruning_faults import suspend_pruning, terminate_pruning
from relay_faults import kill_burst, second_relay, suspend, suspend_transaction, terminate


def _fault(inject: Callable[[Context], None], weight: int, touches: str, shortest: float = 0,
           longest: float = 0, healing: float = 2, nodes: int = 1, transactions: bool = False,
           pruning: bool = False) -> Fault:
    return Fault(inject.__name__, weight, frozenset(touches.split()), shortest, longest, inject,
                 healing, nodes, transactions, pruning)


# A fast stop of Postgres legitimately waits for a relay that is suspended or cut off, so the faults that
# cause this touch Postgres too. Weights as in the test plan.
FAULTS = [
    _fault(kill_burst, 15, "relay", healing=8),
    _fault(terminate, 5, "relay"),
    _fault(suspend, 5, "relay postgres", 1, 60),
    _fault(suspend_transaction, 4, "relay postgres kafka", 12, 25, healing=4, transactions=True),
    _fault(suspend_pruning, 6, "relay postgres", 1, 20, healing=4, pruning=True),
    _fault(terminate_pruning, 4, "postgres", pruning=True),
    _fault(second_relay, 6, "relay postgres", 1, 10, healing=10),
    _fault(restart_fast, 6, "postgres", 0, 3),
    _fault(restart_immediate, 4, "postgres"),
    _fault(kill_postmaster, 3, "postgres"),
    _fault(terminate_walsender, 4, "postgres"),
    _fault(checkpoints, 3, "postgres"),
    _fault(change_table, 4, "postgres", 0, 2),
    _fault(large_transaction, 1, "postgres", healing=8),
    _fault(kill_broker, 5, "kafka", 1, 15, healing=6, nodes=3),
    _fault(kill_all_brokers, 3, "kafka", 1, 15, healing=10),
    _fault(hang_broker, 4, "kafka", 1, 15, healing=3),
    _fault(kill_coordinator, 5, "kafka", 1, 15, healing=6, nodes=3, transactions=True),
    _fault(hang_coordinator, 4, "kafka", 1, 15, healing=3, transactions=True),
    _fault(change_leaders, 5, "kafka", healing=4, nodes=3),
    _fault(shrink_replicas, 3, "kafka", 3, 15, healing=6, nodes=3),
    _fault(disturb_postgres_link, 8, "postgres", 1, 30),
    _fault(disturb_broker_links, 8, "links", 1, 30),
]

MOVES_LEADERS = [fault.name for fault in FAULTS if fault.touches == {"kafka"}]
