"""Faults of the brokers. Each one ends when all replicas are in sync again."""

import time

from fault import LONGEST_SECONDS, Context
from walrelay_dev.errors import ServerError
from walrelay_dev.process import wait_until
from walrelay_test.kafka_leaders import move_leaders
from walrelay_test.kafka_transactions import coordinator

_LONGEST_AWAY = 15.0


def kill_broker(on: Context) -> None:
    _kill_nodes(on, [on.chance.choice(on.system.kafka.node_ids)])


def kill_coordinator(on: Context) -> None:
    """Kills the broker that coordinates the relay's transactions."""
    _kill_nodes(on, [_coordinator(on)])


def kill_all_brokers(on: Context) -> None:
    _kill_nodes(on, on.system.kafka.node_ids)


def _kill_nodes(on: Context, nodes: list[int]) -> None:
    kafka = on.system.kafka
    for node in nodes:
        kafka.kill_node(node)
    on.note(f"killed nodes {nodes}")
    time.sleep(min(on.seconds, _LONGEST_AWAY))
    kafka.start()
    kafka.wait_in_sync()


def hang_broker(on: Context) -> None:
    _hang(on, on.chance.choice(on.system.kafka.node_ids))


def hang_coordinator(on: Context) -> None:
    _hang(on, _coordinator(on))


def _coordinator(on: Context) -> int:
    try:
        return coordinator(on.system.kafka, on.system.pipeline)
    except (ServerError, OSError, ValueError):  # it is moving
        return on.chance.choice(on.system.kafka.node_ids)


def _hang(on: Context, node: int) -> None:
    on.system.kafka.pause_node(node)
    on.note(f"node {node} hangs")
    time.sleep(min(on.seconds, _LONGEST_AWAY))
    on.system.kafka.resume_node(node)
    _wait_back(on)


def change_leaders(on: Context) -> None:
    for _ in range(on.chance.randint(1, 4)):
        move_leaders(on.system.kafka, on.system.topics(on.workload.type), on.chance)
        time.sleep(on.chance.uniform(0, 2))


def shrink_replicas(on: Context) -> None:
    """Kills a node while all replicas are required: brokers reject writes until it has returned."""
    kafka, topics = on.system.kafka, on.system.topics(on.workload.type)
    for topic in topics:
        kafka.alter_topic_config(topic, {"min.insync.replicas": len(kafka.node_ids)})
    node = on.chance.choice(kafka.node_ids)
    kafka.kill_node(node)
    time.sleep(min(on.seconds, _LONGEST_AWAY))
    kafka.start()
    _wait_back(on)
    for topic in topics:
        kafka.alter_topic_config(topic, {"min.insync.replicas": None})


def _wait_back(on: Context) -> None:
    """Waits for a broker that was fenced while it hung to rejoin, which takes a while."""
    wait_until(lambda: _in_sync(on), LONGEST_SECONDS, "all replicas to be in sync")


def _in_sync(on: Context) -> bool:
    try:
        on.system.kafka.wait_in_sync(10)
    except ServerError:
        return False
    return True
