"""A temporary Kafka Connect: one worker, standalone or of a cluster, and its connectors through REST."""

import json
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import ServerError
from .java import jvm_options, spawn_java
from .maven import resolve
from .ports import free_ports
from .process import Process, wait_until
from .throwaway import ThrowAway
from .unprivileged_user import check_reachable, claim_folder, unprivileged_user, write_file
from .versions import KAFKA_VERSION

_COORDINATES = (f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}",
                f"org.apache.kafka:connect-json:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
_SECONDS = 60.0

Property = str | int | bool


def libraries() -> Path:
    """The folder of Connect's jars; downloaded on first use."""
    return resolve(f"connect-{KAFKA_VERSION}", _COORDINATES, transitive=True)


class ConnectWorker(ThrowAway):
    """A worker that writes to the Kafka cluster at `bootstrap`; `plugins` are folders of jars.

    As a context manager it exists during the `with` block, in a new folder under /tmp unless
    `directory` names another. `properties` override the worker's defaults. It runs any number of
    connectors, each a mapping of properties; `producer.override.*` properties are allowed. It keeps
    their offsets in its folder, but not the connectors themselves when it stops.
    `optimise=True` enables full JIT compilation, for benchmarks. With `cluster`, the worker is the only one of a
    distributed cluster of that name, which keeps connectors and offsets in topics CLUSTER-*: exactly-once delivery
    needs that.
    """

    def __init__(self, bootstrap: str, plugins: Sequence[Path], *, directory: Path | None = None,
                 properties: Mapping[str, Property] | None = None, heap_mb: int = 512,
                 optimise: bool = False, cluster: str | None = None) -> None:
        self.directory = directory.resolve() if directory else None
        self.properties = dict(properties or {})
        self._bootstrap = bootstrap
        self._cluster = cluster
        self._plugins = list(plugins)
        self._jvm_options = jvm_options(heap_mb, optimise=optimise)
        self._port = free_ports(1)[0]
        self._user = unprivileged_user("nobody")
        self._process: Process | None = None

    # --- the worker ---

    @property
    def log(self) -> Path:
        return self._folder / "connect.log"

    @property
    def pid(self) -> int:
        return self._started().pid

    def create(self) -> None:
        """Claims the folder, which must be new or empty."""
        self.directory = claim_folder(self.directory, "walrelay-connect-", self._user)

    def start(self, timeout: float = 180) -> None:
        """Starts the worker with the current properties, and waits until it answers."""
        if self.running():
            raise ServerError("the Connect worker is already running")
        for plugin in self._plugins:
            check_reachable(plugin, self._user)
        lines = [f"{name}={_text(value)}\n" for name, value in self._worker_properties().items()]
        write_file(self._folder / "worker.properties", "".join(lines), self._user)
        self._process = spawn_java(
            libraries(), [f"org.apache.kafka.connect.cli.Connect{'Distributed' if self._cluster else 'Standalone'}",
                          "worker.properties"], self.log, folder=self._folder, user=self._user, options=self._jvm_options)
        wait_until(self._answers, timeout, f"Kafka Connect to start, see {self.log}")

    def running(self) -> bool:
        return self._process is not None and self._process.alive()

    def stop(self, timeout: float = 120) -> None:
        """Sends SIGTERM: the connectors stop, and the worker writes their offsets."""
        process = self._started()
        process.signal(15)
        process.wait(timeout, f"Kafka Connect to stop, see {self.log}")

    def kill(self) -> None:
        """Sends SIGKILL and waits until the process has exited."""
        self._started().kill()

    def remove(self) -> None:
        """Kills the worker and deletes the folder."""
        if self._process is not None:
            self._process.kill()
        if self.directory is not None and self.directory.exists():
            shutil.rmtree(self.directory)

    def memory_mb(self, name: str = "VmHWM") -> float:
        """Peak resident memory, or another line of /proc/PID/status, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
        if found is None:
            raise ServerError(f"process {self.pid} has no {name}")
        return int(found[1]) / 1024

    # --- connectors ---

    def create_connector(self, name: str, config: Mapping[str, Property]) -> None:
        """POST; Connect validates the configuration and reports errors in it."""
        words = {key: _text(value) for key, value in config.items()}
        self._ask("POST", "/connectors", {"name": name, "config": words})

    def delete_connector(self, name: str) -> None:
        """Stops its tasks, which flush what they have sent; its offsets remain."""
        self._ask("DELETE", f"/connectors/{name}")

    def stop_connector(self, name: str, seconds: float = _SECONDS) -> None:
        """Stops its tasks and waits for it; the configuration and the offsets remain."""
        self._ask("PUT", f"/connectors/{name}/stop")
        wait_until(lambda: self._is_stopped(name), seconds, f"connector {name} to stop, see {self.log}")

    def forget_offsets(self, name: str) -> None:
        """Deletes the offsets of a stopped connector."""
        self._ask("DELETE", f"/connectors/{name}/offsets")

    def resume_connector(self, name: str) -> None:
        """Restarts a stopped connector; `wait_running` waits for it."""
        self._ask("PUT", f"/connectors/{name}/resume")

    def connectors(self) -> list[str]:
        return list(self._ask("GET", "/connectors"))

    def status(self, name: str) -> dict[str, Any]:
        """Connect's status: `connector` and `tasks`, each with `state` and possibly `trace`."""
        return dict(self._ask("GET", f"/connectors/{name}/status"))

    def failure(self, name: str) -> str | None:
        """The stack trace of the failed connector or task; None if nothing has failed."""
        status = self.status(name)
        traces = [str(part.get("trace", "no trace")) for part in [status["connector"], *status["tasks"]]
                  if part["state"] == "FAILED"]
        return traces[0] if traces else None

    def wait_running(self, name: str, seconds: float = _SECONDS) -> None:
        """Waits until the connector and at least one task run; raises at once if one has failed.

        A running task does not necessarily have its slot: check pg_replication_slots.
        """
        wait_until(lambda: self._runs(name), seconds, f"connector {name} to run, see {self.log}")

    @property
    def _folder(self) -> Path:
        if self.directory is None:
            raise ServerError("the Connect worker does not exist yet; call create() first")
        return self.directory

    def _worker_properties(self) -> Mapping[str, Property]:
        converter = "org.apache.kafka.connect.storage.StringConverter"
        return {
            "bootstrap.servers": self._bootstrap,
            "listeners": f"http://127.0.0.1:{self._port}",
            "plugin.path": ",".join(map(str, self._plugins)),
            **self._storage(),
            "offset.flush.interval.ms": 1000,
            "key.converter": converter,
            "value.converter": converter,
            "connector.client.config.override.policy": "All",
            **self.properties,
        }

    def _storage(self) -> Mapping[str, Property]:
        if self._cluster is None:
            return {"offset.storage.file.filename": str(self._folder / "offsets")}
        topics = {f"{kind}.storage.{key}": value for kind in ("config", "offset", "status")
                  for key, value in (("topic", f"{self._cluster}-{kind}"), ("replication.factor", 1))}
        return {"group.id": self._cluster, **topics, "offset.storage.partitions": 1, "status.storage.partitions": 1}

    def _is_stopped(self, name: str) -> bool:
        status = self.status(name)
        return status["connector"]["state"] == "STOPPED" and not status["tasks"]

    def _runs(self, name: str) -> bool:
        status = self._ask("GET", f"/connectors/{name}/status", missing={})
        if not status:
            return False
        parts = [status["connector"], *status["tasks"]]
        for part in parts:
            if part["state"] == "FAILED":
                raise ServerError(f"connector {name} failed: {part.get('trace', 'no trace')}")
        return len(parts) > 1 and all(part["state"] == "RUNNING" for part in parts)

    def _answers(self) -> bool:
        if not self.running():
            raise ServerError(f"Kafka Connect did not start, see {self.log}")
        return self._ask("GET", "/connectors", missing=None) is not None

    def _ask(self, method: str, path: str, body: object = None, **answers: Any) -> Any:
        """The JSON of the response. If `missing` is given, returns it instead of an error for 404, 503 or no answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            if "missing" in answers and error.code in (404, 503):
                return answers["missing"]
            raise ServerError(f"Kafka Connect rejected {method} {path}: {_message(error)}") from None
        except OSError as error:
            if "missing" in answers:
                return answers["missing"]
            raise ServerError(f"Kafka Connect does not answer: {error}") from error

    def _started(self) -> Process:
        if self._process is None:
            raise ServerError("the Connect worker has not been started")
        return self._process


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {text[:500]}"
