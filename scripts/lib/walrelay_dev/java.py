"""Java programs as server processes, from a folder of jars."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from .errors import ServerError
from .process import Process
from .unprivileged_user import check_reachable


def spawn_java(libraries: Path, arguments: Sequence[str], log: Path, *, folder: Path,
               user: str | None, options: Sequence[str] = ()) -> Process:
    """Starts a main class with arguments in `folder`; appends its output to `log`.

    `options` go to the JVM. The time zone is always UTC.
    """
    java = shutil.which("java")
    if java is None:
        raise ServerError("java is not on the PATH; run: apt-get install default-jre-headless")
    check_reachable(libraries, user)
    # A JVM must leave nothing in /tmp: no performance data, no unpacked codecs.
    fixed = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}", "-Duser.timezone=UTC",
             "-Dorg.slf4j.simpleLogger.showDateTime=true",
             "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"]
    return Process.spawn([java, *options, *fixed, "-cp", f"{libraries}/*", *arguments], log,
                         user=user, cwd=folder, env={**os.environ, "LC_ALL": "C.UTF-8"})


def jvm_options(heap_mb: int, *, optimise: bool) -> list[str]:
    """Options for a bounded heap. Unless `optimise`, the JVM uses only the C1 compiler and starts faster."""
    options = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC"]
    return options if optimise else [*options, "-XX:TieredStopAtLevel=1"]
