"""The servers of a test process, in one folder that is deleted with it.

All tests of a module that do not damage Postgres and Kafka share them.
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
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from walrelay_dev import connect, debezium, kafka_node, kafka_records, postgres_binaries
from walrelay_dev.connect import ConnectWorker
from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres

Server = TypeVar("Server", bound=AbstractContextManager)

_POSTGRES_SETTINGS = {"max_prepared_transactions": 10, "autovacuum": False}

_numbers = itertools.count(1)
_shared: dict[Callable, Any] = {}


def require_servers(major: int = 15, *, with_connect: bool = False) -> None:
    """Raises SkipTest if a server is not installed, or fails in a CI run."""
    try:
        if with_connect:
            connect.libraries()
            debezium.plugin_folder()
        postgres_binaries.bin_folder(major)
        postgres_binaries.psql_program()
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
    folder = Path(tempfile.mkdtemp(prefix="walrelay-test-", dir="/tmp"))
    folder.chmod(0o755)
    reaper = subprocess.Popen([sys.executable, Path(__file__).with_name("reaper.py"), folder],
                              stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(reaper.wait)
    atexit.register(reaper.stdin.close)
    return folder


def new_postgres(major: int = 15, **options: Any) -> Postgres:
    """A cluster, not yet started; see `Postgres` for `options`."""
    settings = {**_POSTGRES_SETTINGS, **options.pop("settings", {})}
    return Postgres(major, directory=_new_folder("pg"), settings=settings, **options)


def new_kafka(**options: Any) -> KafkaCluster:
    """A cluster, not yet started; see `KafkaCluster` for `options`."""
    return KafkaCluster(directory=_new_folder("kafka"), **options)


def new_connect(kafka: KafkaCluster, **options: Any) -> ConnectWorker:
    """A worker with Debezium, not yet started; see `ConnectWorker` for `options`."""
    return ConnectWorker(kafka.bootstrap, [debezium.plugin_folder()],
                         directory=_new_folder("connect"), **options)


def shared(make: Callable[[], Server]) -> Server:
    """The server that `make` creates: shared by the tests of this module, and stopped after them."""
    if make not in _shared:
        server = make()
        _shared[make] = server.__enter__()
        unittest.addModuleCleanup(_end, make)
    return _shared[make]


def _end(make: Callable) -> None:
    _shared.pop(make).__exit__(None, None, None)


def _new_folder(kind: str) -> Path:
    folder = test_folder() / f"{kind}{next(_numbers)}"
    folder.mkdir()
    return folder
