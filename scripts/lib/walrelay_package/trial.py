"""Runs a command in a clone of the last commit, on a bare system of a Debian release.

What the machine has downloaded for tests (servers, Java libraries) is shared with the system. The packages that
`scripts/dev package` has built are in /packages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from walrelay_dev.paths import REPOSITORY, cache_folder
from walrelay_package.chroot import Chroot, checked, compiler_cache
from walrelay_package.debian import OUTPUT

# What a user has who has cloned the repository.
TOOLS = ["git", "ca-certificates"]


def run(release: str, command: Sequence[str]) -> int:
    """Prints the output of the command, and returns its exit code."""
    with Chroot(release) as system:
        shared = {cache_folder(): "/var/cache/walrelay", Path.home() / ".m2": "/root/.m2", OUTPUT / release: "/packages",
                  compiler_cache(): "/root/.cache/ccache"}
        for folder, inside in shared.items():
            folder.mkdir(parents=True, exist_ok=True)
            system.binds[folder] = inside
        system.install(TOOLS)
        checked(["git", "clone", "-q", REPOSITORY, system.path("/walrelay")])
        sys.stdout.flush()
        return system.attempt(command, folder="/walrelay", shown=True).returncode
