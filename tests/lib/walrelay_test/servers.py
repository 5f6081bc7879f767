"""The servers of a test process, in one folder that is deleted with it.

The tests of a module that do no harm to its Postgres share it. Those that do no harm to Kafka share a broker: of ctest if
it has started one (`shared_broker`), else of their module.
"""

import atexit
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from walrelay_dev import connect, debezium, kafka_node, kafka_records, postgres_binaries
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.paths import scratch_folder
from walrelay_dev.postgres import Postgres
from walrelay_dev.versions import DEBEZIUM_VERSION

Server = TypeVar("Server", Postgres, KafkaCluster)

SHARED_BROKER = "WALRELAY_SHARED_BROKER"  # environment variable: the file that names the folder of ctest's broker
_POSTGRES_SETTINGS = {"max_prepared_transactions": 10, "autovacuum": False}

_numbers = itertools.count(1)
_shared: dict[type, Any] = {}


def require_servers(major: int = postgres_binaries.DEFAULT_MAJOR, *, with_connect: bool = False) -> None:
    """Raises SkipTest if a server is not installed, or fails in a CI run."""
    try:
        if with_connect:
            connect.libraries()
            debezium.plugin_folder()
        postgres_binaries.bin_folder(major)
        postgres_binaries.client_program("psql")
        kafka_node.libraries()
        kafka_records.library()
        if shutil.which("java") is None:
            raise ServerError("java is not on the PATH: apt-get install default-jre-headless")
    except ServerError as error:
        if os.environ.get("CI") == "true":
            raise
        raise unittest.SkipTest(f"servers are missing: {error}") from None


@cache
def test_folder() -> Path:
    """This process' folder, which is deleted however the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="walrelay-test-", dir=scratch_folder()))
    folder.chmod(0o755)
    reaper = subprocess.Popen([sys.executable, "-m", "walrelay_test.reaper", folder],
                              stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(reaper.wait)
    atexit.register(reaper.stdin.close)
    return folder


def new_postgres(major: int = postgres_binaries.DEFAULT_MAJOR, **options: Any) -> Postgres:
    """A cluster, not yet started; see `Postgres` for `options`."""
    settings = {**_POSTGRES_SETTINGS, **options.pop("settings", {})}
    return Postgres(major, directory=_new_folder("pg"), settings=settings, **options)


def new_kafka(**options: Any) -> KafkaCluster:
    """A cluster, not yet started; see `KafkaCluster` for `options`."""
    return KafkaCluster(directory=_new_folder("kafka"), **options)


def new_connect(kafka: KafkaCluster, *, debezium_version: str = DEBEZIUM_VERSION, **options: Any) -> ConnectWorker:
    """A worker with Debezium, not yet started; see `ConnectWorker` for `options`."""
    return ConnectWorker(kafka.bootstrap, [debezium.plugin_folder(debezium_version)],
                         directory=_new_folder("connect"), **options)


def shared_postgres() -> Postgres:
    """The Postgres of all tests of the module that do no harm to it. It also listens on TCP."""
    return _shared_in_module(Postgres, lambda: new_postgres(tcp=True))


def shared_kafka() -> KafkaCluster:
    """The broker of all tests that do no harm to it."""
    if (file := os.environ.get(SHARED_BROKER)) is None:
        return _shared_in_module(KafkaCluster, new_kafka)
    if KafkaCluster not in _shared:
        _shared[KafkaCluster] = KafkaCluster.open(_shared_folder(Path(file)) / "kafka")
    return _shared[KafkaCluster]


def check_running(server: Postgres | KafkaCluster) -> None:
    """Raises if a shared server has ended: a test must not do that."""
    running = server.running() if isinstance(server, Postgres) else server.node(1).running()
    if not running:
        raise ServerError(f"the shared server in {server.directory} has ended")


def _shared_in_module(kind: type[Server], make: Callable[[], Server]) -> Server:
    if kind not in _shared:
        _shared[kind] = make().__enter__()
        unittest.addModuleCleanup(_end, kind)
    return _shared[kind]


def _shared_folder(file: Path) -> Path:
    try:
        return Path(file.read_text().strip())
    except FileNotFoundError:
        raise ServerError(f"{file} does not exist: the test broker.start has not started the broker") from None


def _end(kind: type) -> None:
    _shared.pop(kind).__exit__(None, None, None)


def _new_folder(kind: str) -> Path:
    folder = test_folder() / f"{kind}{next(_numbers)}"
    folder.mkdir()
    return folder
