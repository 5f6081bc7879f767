"""Temporary Postgres clusters of major version 13 to 18, configured for logical decoding."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from .errors import ServerError
from .ports import free_ports
from .postgres_binaries import DEFAULT_MAJOR, client_program
from .postgres_leftovers import lock_file, processes, remove_shared_memory
from .postgres_setup import Setting, copy_template, initdb, program, why_it_ended, write_configuration
from .process import Process, wait_until
from .throwaway import ThrowAway
from .unprivileged_user import claim_folder, unprivileged_user

Mode = Literal["fast", "immediate", "smart"]

_STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_USERS = ("postgres", "nobody")
_LONGEST_SOCKET_FOLDER = 90  # sun_path is 108 bytes and ends in /.s.PGSQL.54321 and a NUL
_UNIX_ONLY_PORT = 5432       # only names the socket: each cluster has a separate folder


class Postgres(ThrowAway):
    """One cluster in one folder. As a context manager it exists during the `with` block.

    Without `directory` the folder is a new one under /tmp. The server listens on a Unix socket in it,
    and if `tcp` also on 127.0.0.1, on `port` or on a free port. It uses trust authentication, unless
    `password` is given: then it is the password of user postgres, and every connection needs SCRAM.
    `settings` may be changed at any time and apply from the next start. Without `template` the cluster has
    a system identifier of its own; otherwise it is a copy of a cluster in the cache.
    """

    def __init__(self, major: int = DEFAULT_MAJOR, *, directory: Path | None = None, tcp: bool = False,
                 port: int | None = None, password: str | None = None,
                 settings: Mapping[str, Setting] | None = None, template: bool = True) -> None:
        self.major = major
        self.directory = directory.resolve() if directory else None
        self.tcp = tcp or port is not None
        self.port = port or (free_ports(1)[0] if tcp else _UNIX_ONLY_PORT)
        self.password = password
        self.settings = dict(settings or {})
        self._template = template and password is None
        self._user = unprivileged_user(*_USERS)
        self._server: Process | None = None

    @classmethod
    def open(cls, directory: Path) -> "Postgres":
        """The cluster that an earlier process started in `directory`, running or not."""
        try:
            state = json.loads((directory / "cluster.json").read_text())
        except FileNotFoundError:
            raise ServerError(f"no Postgres cluster in {directory}; start one first") from None
        return cls(state["major"], directory=directory, settings=state["settings"],
                   port=state["port"] if state["tcp"] else None)

    @property
    def data(self) -> Path:
        if self.directory is None:
            raise ServerError("this cluster does not exist yet; call create() first")
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.data.parent / "postgres.log"

    def create(self) -> None:
        """Runs initdb in a new or empty folder."""
        if len(os.fsencode(self.directory or "")) > _LONGEST_SOCKET_FOLDER:
            raise ServerError(f"the path {self.directory} is too long for a Unix socket; choose a "
                               f"folder of at most {_LONGEST_SOCKET_FOLDER} bytes")
        self.directory = claim_folder(self.directory, "walrelay-pg-", self._user)
        try:
            if self._template:
                copy_template(self.major, self.data, self._user)
            else:
                initdb(self.major, self.data, self._user, self.password)
        except BaseException:
            self.remove()
            raise

    def start(self, timeout: float = 120) -> None:
        """Starts the server with the current settings, and waits until it is ready."""
        if self.running():
            raise ServerError(f"the cluster in {self.directory} is already running")
        write_configuration(self.data, {**self.settings, **self._address()}, self._user)
        log_size = self.log.stat().st_size if self.log.exists() else 0
        server = program(self.major, "postgres", self._user)
        self._server = Process.spawn([server, "-D", self.data], self.log, user=self._user,
                                     cwd=self.directory, env={**os.environ, "LC_ALL": "C"})
        wait_until(lambda: self._is_ready(log_size), timeout, f"Postgres to start, see {self.log}")
        self._save()

    def stop(self, mode: Mode = "fast", timeout: float = 120) -> None:
        """Stops the server. `fast` waits until each walsender's client has confirmed all WAL."""
        if (postmaster := self._postmaster()) is not None:
            postmaster.signal(_STOP_SIGNALS[mode])
            postmaster.wait(timeout, f"the {mode} shutdown of Postgres, see {self.log}")

    def restart(self, mode: Mode = "fast", timeout: float = 120) -> None:
        self.stop(mode, timeout)
        self.start(timeout)

    def kill(self, timeout: float = 60) -> None:
        """Sends SIGKILL to the postmaster and waits until its children have noticed and exited, too."""
        if (postmaster := self._postmaster()) is not None:
            postmaster.kill(timeout)
            # A zombie still holds its pid, and the next start would consider the old lock file valid.
            wait_until(postmaster.reaped, timeout, "init to reap the postmaster")
        wait_until(lambda: not self.running(), timeout, f"the processes of {self.data} to exit")

    def running(self) -> bool:
        """Whether any process of the cluster exists."""
        return bool(processes(self.data))

    def remove(self) -> None:
        """Kills the server, in any state, and deletes the folder."""
        if self.directory is None or not self.directory.exists():
            return
        if self._server is not None:  # a new process may not have changed to the folder yet
            self._server.kill()
        for pid in processes(self.data):
            Process(pid).signal(signal.SIGKILL)
        wait_until(lambda: not self.running(), 60, f"the processes of {self.data} to exit")
        remove_shared_memory(self.data)
        shutil.rmtree(self.directory)

    def dsn(self, dbname: str = "postgres", user: str = "postgres",
            host: Literal["socket", "tcp"] = "socket") -> str:
        """A libpq connection string without the password; pass the password in PGPASSWORD."""
        if host == "tcp" and not self.tcp:
            raise ServerError("this cluster has no TCP port; create it with tcp=True")
        address = "127.0.0.1" if host == "tcp" else str(self.data.parent)
        words = {"host": address, "port": str(self.port), "user": user, "dbname": dbname}
        return " ".join(f"{key}={_quote_word(value)}" for key, value in words.items())

    def psql(self, sql: str, dbname: str = "postgres", timeout: float = 120) -> str:
        """Runs a script without a transaction and returns its rows: one line per row, fields separated by |.

        The first error ends the script; the exception carries psql's message.
        """
        argv = [str(client_program("psql")), "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(dbname),
                "-f", "-"]
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        if self.password is not None:
            env["PGPASSWORD"] = self.password
        run = subprocess.run(argv, input=sql, capture_output=True, text=True, env=env,
                             timeout=timeout)
        if run.returncode != 0:
            raise ServerError(run.stderr.strip())
        return run.stdout.removesuffix("\n")

    def _address(self) -> dict[str, Setting]:
        return {"unix_socket_directories": str(self.directory), "port": self.port,
                "listen_addresses": "127.0.0.1" if self.tcp else ""}

    def _save(self) -> None:
        """Stores the state for `open` after a successful start."""
        state = {"major": self.major, "tcp": self.tcp, "port": self.port,
                 "settings": self.settings}
        (self.data.parent / "cluster.json").write_text(json.dumps(state) + "\n")

    def _is_ready(self, log_size: int) -> bool:
        if self._server is None or not self._server.alive():
            raise ServerError(f"Postgres did not start: {why_it_ended(self.log, log_size)}")
        lines = lock_file(self.data)
        return len(lines) > 7 and int(lines[0]) == self._server.pid and lines[7].strip() == "ready"

    def _postmaster(self) -> Process | None:
        """The postmaster that this process or an earlier command started."""
        if self._server is None or not self._server.alive():
            lines = lock_file(self.data)
            pid = int(lines[0]) if lines else 0
            self._server = Process(pid) if pid in processes(self.data) else None
        return self._server


def _quote_word(value: str) -> str:
    """Quotes a value of a libpq connection string if needed."""
    if value and not set(value) & set(" '\\"):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
