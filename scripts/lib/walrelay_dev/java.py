"""Java programs as server processes, from a folder of jars."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from .account import check_reachable
from .errors import ServerError
from .process import Process


def spawn_java(libraries: Path, arguments: Sequence[str], log: Path, *, folder: Path,
               account: str | None, options: Sequence[str] = ()) -> Process:
    """Starts a main class and its arguments in `folder`; what it prints is appended to `log`.

    `options` are the JVM's. The time zone is UTC whatever the machine's.
    """
    java = shutil.which("java")
    if java is None:
        raise ServerError("no java on the PATH: apt-get install default-jre-headless")
    check_reachable(libraries, account)
    # Nothing of a JVM may stay behind in /tmp: no performance data, no unpacked codecs.
    fixed = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}", "-Duser.timezone=UTC",
             "-Dorg.slf4j.simpleLogger.showDateTime=true",
             "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"]
    return Process.spawn([java, *options, *fixed, "-cp", f"{libraries}/*", *arguments], log,
                         account=account, cwd=folder, env={**os.environ, "LC_ALL": "C.UTF-8"})


def jvm_options(heap_mb: int, *, optimise: bool) -> list[str]:
    """A bounded heap. Unless `optimise`, the JVM stops at the C1 compiler: it starts faster."""
    options = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC"]
    return options if optimise else [*options, "-XX:TieredStopAtLevel=1"]
