"""Programs, initdb and configuration of a cluster."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .cache import cached
from .errors import ServerError
from .postgres_binaries import bin_folder
from .unprivileged_user import check_reachable, run_as, set_owner, write_file

Setting = str | int | bool

# fsync stays on, because many tests check the position of a slot after a crash. Dynamic shared memory
# is in the data folder, because files in /dev/shm would remain after a SIGKILL.
_DEFAULTS: dict[str, Setting] = {
    "wal_level": "logical",
    "shared_buffers": "32MB",
    "dynamic_shared_memory_type": "mmap",
    "max_wal_senders": 20,
    "max_replication_slots": 20,
    "log_line_prefix": "%m [%p] %a ",
    "log_replication_commands": True,
}


def program(major: int, name: str, user: str | None) -> Path:
    """The path of a server program; raises if `user` cannot run it."""
    path = bin_folder(major) / name
    check_reachable(path, user)
    return path


def copy_template(major: int, data: Path, user: str | None) -> None:
    """Like `initdb` without a password, as a copy of a cluster in the cache: initdb takes two seconds of CPU time.

    All copies have the same system identifier.
    """
    program(major, "initdb", user)  # which may download it, and a build must not be within another
    template = cached(f"postgres-{major}-template", lambda folder: _create_template(major, folder, user))
    _run(["cp", "-r", template / "data", data], user)
    data.chmod(0o700)


def _create_template(major: int, folder: Path, user: str | None) -> None:
    with tempfile.TemporaryDirectory(prefix="walrelay-pg-", dir="/tmp") as parent:
        set_owner(Path(parent), user)
        initdb(major, Path(parent) / "data", user, None)
        shutil.copytree(Path(parent) / "data", folder / "data")


def initdb(major: int, data: Path, user: str | None, password: str | None) -> None:
    """Creates the cluster with superuser postgres, and trust authentication unless `password` is given."""
    argv: list[str | Path] = [
        program(major, "initdb", user), "-D", data, "-U", "postgres", "-E", "UTF8",
        "--locale=C", "--no-sync"]
    if password is None:
        _run([*argv, "-A", "trust"], user)
    else:
        secret = data.parent / "password"
        write_file(secret, password + "\n", user, mode=0o600)
        _run([*argv, "-A", "scram-sha-256", f"--pwfile={secret}"], user)
        secret.unlink()
    with open(data / "postgresql.conf", "a", encoding="utf-8") as conf:
        conf.write("include 'testbed.conf'\n")


def write_configuration(data: Path, settings: Mapping[str, Setting], user: str | None) -> None:
    """Replaces the settings of an earlier start; settings of ALTER SYSTEM take precedence over these."""
    lines = [f"{name} = {_quote(value)}\n" for name, value in {**_DEFAULTS, **settings}.items()]
    write_file(data / "testbed.conf", "".join(lines), user)


def why_it_ended(log: Path, offset: int) -> str:
    """The FATAL message in a server's log after `offset`, and the message before it, often the reason."""
    text = log.read_bytes()[offset:].decode(errors="replace")
    messages = re.findall(r"(?:LOG|WARNING|FATAL|PANIC):  (.*)", text.partition("FATAL:")[0])
    fatal = re.findall(r"(?:FATAL|PANIC):  (.*)", text)
    return "; ".join([*messages[-1:], *fatal[:1]]) or f"see {log}"


def _run(argv: Sequence[str | Path], user: str | None) -> None:
    run = subprocess.run(argv, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env={**os.environ, "LC_ALL": "C"},
                         **run_as(user))
    if run.returncode != 0:
        raise ServerError(" ".join(run.stdout.split()))


def _quote(value: Setting) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "'" + str(value).replace("'", "''") + "'"
