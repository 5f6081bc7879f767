"""Commit, machine and versions, which are part of every result."""

import os
import platform
import re
import subprocess
from pathlib import Path

from walrelay_dev.kafka_records import library
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.postgres_binaries import DEFAULT_MAJOR, bin_folder
from walrelay_dev.versions import KAFKA_VERSION


def commit() -> str:
    """The short commit hash, with + if the tree has uncommitted changes."""
    def git(*arguments: str) -> str:
        return _output(["git", "-C", str(REPOSITORY), *arguments])
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


def machine() -> dict[str, str | int]:
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    system = re.search(r'^PRETTY_NAME="(.*)"$', Path("/etc/os-release").read_text(), re.MULTILINE)
    return {"cores": os.cpu_count() or 0, "cpu": model[1] if model else platform.machine(),
            "memory_gib": round(int(memory[1]) / (1 << 20)) if memory else 0,
            "system": system[1] if system else platform.system(), "kernel": platform.release()}


def versions() -> dict[str, str]:
    """Versions of the servers and of the components that all systems share."""
    java = re.search(r'"([^"]+)"', subprocess.run(["java", "-version"], capture_output=True, text=True).stderr)
    return {"postgres": _output([str(bin_folder(DEFAULT_MAJOR) / "postgres"), "--version"]).split()[2],
            "kafka": KAFKA_VERSION, "librdkafka": library().libversion()[0], "java": java[1] if java else "?"}


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()
