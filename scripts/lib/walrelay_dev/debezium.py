"""Debezium's Postgres connector, from Maven Central, and a base configuration for it."""

import tarfile
from pathlib import Path

from .cache import cached
from .connect import Property
from .maven import fetch
from .postgres import Postgres
from .versions import DEBEZIUM_VERSION


def plugin_folder(version: str = DEBEZIUM_VERSION) -> Path:
    """The folder for a worker's `plugins`; downloaded on first use."""
    return cached(f"debezium-{version}", lambda folder: _download(folder, version))


def outbox_connector(postgres: Postgres, database: str, *, slot: str, publication: str,
                     prefix: str = "walrelay", router: str = "outbox") -> dict[str, Property]:
    """A connector with the EventRouter and default settings; it neither creates the slot nor takes a snapshot.

    Publication and slot must exist; `postgres` needs a TCP port.
    """
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": 1,
        "database.hostname": "127.0.0.1",
        "database.port": postgres.port,
        "database.user": "postgres",
        "database.password": postgres.password or "trusted",
        "database.dbname": database,
        "topic.prefix": prefix,
        "plugin.name": "pgoutput",
        "slot.name": slot,
        "publication.name": publication,
        "publication.autocreate.mode": "disabled",
        "snapshot.mode": "no_data",
        "tombstones.on.delete": False,
        "transforms": router,
        f"transforms.{router}.type": "io.debezium.transforms.outbox.EventRouter",
    }


def _download(folder: Path, version: str) -> None:
    fetch([f"io.debezium:debezium-connector-postgres:{version}:tar.gz:plugin"], folder, transitive=False)
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    archive.unlink()
