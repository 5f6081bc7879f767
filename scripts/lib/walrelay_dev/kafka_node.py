"""One Kafka server: a KRaft broker, controller or both in one JVM, on loopback."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import ServerError
from .java import spawn_java
from .maven import resolve
from .process import Process, wait_until
from .unprivileged_user import claim_folder, write_file
from .versions import KAFKA_VERSION

_COORDINATES = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
_READY = "Kafka Server started"  # logged after the controllers have unfenced the broker
_PORT_TAKEN = "Address already in use"
_STARTS = 5


def libraries() -> Path:
    """The folder of Kafka's jars; downloaded on first use."""
    return resolve(f"kafka-{KAFKA_VERSION}", _COORDINATES, transitive=True)


class KafkaNode:
    """A node's folder: its properties, data, log and, while it runs, its pid file.

    The folder is sufficient to control the node, so that a later command can find it again.
    """

    def __init__(self, node_id: int, folder: Path, user: str | None) -> None:
        self.node_id = node_id
        self.folder = folder
        self.log = folder / "kafka.log"
        self._user = user
        self._process: Process | None = None
        self._log_size = 0
        self._jvm_options: Sequence[str] = ()
        self._starts_left = 0

    def format(self, properties: Mapping[str, str | int], cluster_id: str,
               jvm_options: Sequence[str] = ()) -> Process:
        """Starts to format the node's storage; the caller waits for the process."""
        claim_folder(self.folder, "", self._user)
        self.configure(properties)
        return self._java(["kafka.tools.StorageTool", "format", "--ignore-formatted",
                           "--cluster-id", cluster_id, "--config", "server.properties"], jvm_options)

    def configure(self, properties: Mapping[str, str | int]) -> None:
        """Replaces the properties; they apply from the next start."""
        lines = [f"{name}={value}\n" for name, value in properties.items()]
        write_file(self.folder / "server.properties", "".join(lines), self._user)

    def start(self, jvm_options: Sequence[str]) -> None:
        """Starts the JVM; `wait_ready` waits until it is ready."""
        if self.running():
            raise ServerError(f"Kafka node {self.node_id} is already running")
        self._jvm_options = jvm_options
        self._starts_left = _STARTS
        self._launch()

    def wait_ready(self, timeout: float) -> None:
        """Waits until the node has joined the cluster after its start."""
        wait_until(self._is_ready, timeout, f"Kafka node {self.node_id} to start, see {self.log}")

    def stop(self) -> None:
        """Requests a clean stop, also of a paused node; `wait_stopped` waits for it."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def wait_stopped(self, timeout: float) -> None:
        if (process := self._find()) is not None:
            process.wait(timeout, f"Kafka node {self.node_id} to stop, see {self.log}")

    def kill(self) -> None:
        """Sends SIGKILL and waits until the process has exited."""
        if (process := self._find()) is not None:
            process.kill()

    def pause(self) -> None:
        """Sends SIGSTOP and waits until no thread runs."""
        if (process := self._find()) is not None:
            process.pause()

    def signal(self, number: int) -> None:
        if (process := self._find()) is not None:
            process.signal(number)

    def running(self) -> bool:
        """Whether the process exists, even if it is paused."""
        return self._find() is not None

    def last_error(self) -> str:
        """The last error in the log since the latest start, or a reference to the log."""
        errors = [line for line in self._new_log().splitlines()
                  if " ERROR " in line or "Exception: " in line]
        return errors[-1] if errors else f"see {self.log}"

    @property
    def _pid_file(self) -> Path:
        return self.folder / "pid"

    def _find(self) -> Process | None:
        if self._process is None or not self._process.alive():
            self._process = Process.load(self._pid_file)
        return self._process

    def _new_log(self) -> str:
        return self.log.read_bytes()[self._log_size:].decode(errors="replace")

    def _launch(self) -> None:
        self._starts_left -= 1
        self._log_size = self.log.stat().st_size if self.log.exists() else 0
        self._process = self._java(["kafka.Kafka", "server.properties"], self._jvm_options)
        self._process.save(self._pid_file)

    def _is_ready(self) -> bool:
        if self.running():
            return _READY in self._new_log()
        # An outgoing connection of a client may temporarily occupy the port.
        if self._starts_left > 0 and _PORT_TAKEN in self._new_log():
            self._launch()
            return False
        raise ServerError(f"Kafka node {self.node_id} did not start: {self.last_error()}")

    def _java(self, arguments: Sequence[str], options: Sequence[str]) -> Process:
        return spawn_java(libraries(), arguments, self.log, folder=self.folder,
                          user=self._user, options=options)
