"""Runs the code blocks of a Markdown page as a user would: in one shell, in the order of the page."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from walrelay_dev.errors import ServerError
from walrelay_dev.patience import patient
from walrelay_dev.unprivileged_user import run_as

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = re.compile(rb"\n--- end of block: (\d+)\n")


@dataclass
class Block:
    language: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(language, text) for language, text in _BLOCK.findall(page.read_text())]


class Shell:
    """A bash of `user` in `folder`, with nothing but `environment`. As a context manager it exists during the `with` block.

    With job control, as at a terminal, so that a page may use %1. Every process of its session is killed at the end.
    """

    def __init__(self, folder: Path, user: str | None, environment: Mapping[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, **run_as(user))
        self.run("set -m; trap 'failed=$?' ERR")

    def __enter__(self) -> "Shell":
        return self

    def __exit__(self, *_: object) -> None:
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == self._shell.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
        self._shell.communicate()

    def run(self, text: str, seconds: float = 60) -> tuple[int, str]:
        """0, or the exit code of the last command that failed; and the output of all."""
        self._shell.stdin.write(f"failed=0\n{text}\nprintf '\\n--- end of block: %d\\n' $failed\n".encode())
        self._shell.stdin.flush()
        output, deadline = b"", time.monotonic() + patient(seconds)
        while (end := _END.search(output)) is None:
            ready, _, _ = select.select([self._shell.stdout], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self._shell.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise ServerError(f"{'the shell ended in' if ready else 'time-out of'} the block\n{text}\n"
                                  f"output:\n{output.decode(errors='replace')}")
            output += data
        return int(end[1]), output[:end.start()].decode(errors="replace")
