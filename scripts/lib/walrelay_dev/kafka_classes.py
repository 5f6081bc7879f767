"""An archive of Kafka's classes as the JVM needs them (CDS): with it a broker starts with half of the CPU time."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from .cache import cached
from .kafka_config import KafkaConfig
from .kafka_node import KafkaNode, libraries
from .ports import free_ports
from .unprivileged_user import unprivileged_user
from .versions import KAFKA_VERSION

_SECONDS = 300.0


def archive_options() -> list[str]:
    """The JVM option for the archive; creates it in the cache on first use, for each JVM."""
    if (found := shutil.which("java")) is None:
        return []  # the start of the broker reports it
    java = Path(found).resolve()
    jvm = hashlib.sha256(f"{java} {java.stat().st_mtime_ns} {libraries()}".encode()).hexdigest()[:8]
    archive = cached(f"kafka-{KAFKA_VERSION}-classes-{jvm}", _record) / "kafka.jsa"
    return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def _record(folder: Path) -> None:
    """Starts a broker and stops it again: the JVM writes the archive when it exits."""
    user = unprivileged_user("nobody")
    ports = free_ports(2)
    config = KafkaConfig(ports=ports[:1], controller_ports=ports[1:], partitions=1, heap_mb=512, optimise=False)
    with tempfile.TemporaryDirectory(prefix="walrelay-kafka-", dir="/tmp") as parent:
        Path(parent).chmod(0o755)
        node = KafkaNode(1, Path(parent) / "node1", user)
        node.format(config.node_properties(1), config.cluster_id).wait(_SECONDS, "the formatting of Kafka's storage")
        try:
            node.start([*config.jvm_options(), "-XX:ArchiveClassesAtExit=kafka.jsa"])
            node.wait_ready(_SECONDS)
            node.stop()
            node.wait_stopped(_SECONDS)
        finally:
            node.kill()
        if (node.folder / "kafka.jsa").exists():  # a JVM without an archive of its own classes cannot write one
            shutil.copyfile(node.folder / "kafka.jsa", folder / "kafka.jsa")
