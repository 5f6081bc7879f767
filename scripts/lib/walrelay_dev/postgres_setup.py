"""What a cluster needs besides its life cycle: its programs, initdb, configuration."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .account import check_reachable, run_as, write_file
from .errors import ServerError
from .postgres_binaries import bin_folder

Setting = str | int | bool

# fsync stays on, because where a slot stands after a crash is what many a test is about. Dynamic
# shared memory is in the data folder, because what is in /dev/shm would outlive a SIGKILL.
_DEFAULTS: dict[str, Setting] = {
    "wal_level": "logical",
    "shared_buffers": "32MB",
    "dynamic_shared_memory_type": "mmap",
    "max_wal_senders": 20,
    "max_replication_slots": 20,
    "log_line_prefix": "%m [%p] %a ",
    "log_replication_commands": True,
}


def program(major: int, name: str, account: str | None) -> Path:
    """One of the server's programs, which `account` can run."""
    path = bin_folder(major) / name
    check_reachable(path, account)
    return path


def initdb(major: int, data: Path, account: str | None, password: str | None) -> None:
    """Creates the cluster; superuser postgres, who is trusted unless there is a password."""
    argv: list[str | Path] = [
        program(major, "initdb", account), "-D", data, "-U", "postgres", "-E", "UTF8",
        "--locale=C", "--no-sync"]
    if password is None:
        _run([*argv, "-A", "trust"], account)
    else:
        secret = data.parent / "password"
        write_file(secret, password + "\n", account, mode=0o600)
        _run([*argv, "-A", "scram-sha-256", f"--pwfile={secret}"], account)
        secret.unlink()
    with open(data / "postgresql.conf", "a", encoding="utf-8") as conf:
        conf.write("include 'testbed.conf'\n")


def write_configuration(data: Path, settings: Mapping[str, Setting], account: str | None) -> None:
    """Replaces the settings of an earlier start; what ALTER SYSTEM has set goes before these."""
    lines = [f"{name} = {_quote(value)}\n" for name, value in {**_DEFAULTS, **settings}.items()]
    write_file(data / "testbed.conf", "".join(lines), account)


def why_it_ended(log: Path, offset: int) -> str:
    """The FATAL message in a server's log after `offset`, and the one before, which often says why.
    """
    text = log.read_bytes()[offset:].decode(errors="replace")
    messages = re.findall(r"(?:LOG|WARNING|FATAL|PANIC):  (.*)", text.partition("FATAL:")[0])
    fatal = re.findall(r"(?:FATAL|PANIC):  (.*)", text)
    return "; ".join([*messages[-1:], *fatal[:1]]) or f"see {log}"


def _run(argv: Sequence[str | Path], account: str | None) -> None:
    run = subprocess.run(argv, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env={**os.environ, "LC_ALL": "C"},
                         **run_as(account))
    if run.returncode != 0:
        raise ServerError(" ".join(run.stdout.split()))


def _quote(value: Setting) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "'" + str(value).replace("'", "''") + "'"
