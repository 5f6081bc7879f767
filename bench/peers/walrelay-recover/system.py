"""walrelay recover, which publishes the whole table."""

import json
import subprocess

from walrelay_bench.program import Program
from walrelay_bench.system import Work, load
from walrelay_dev.errors import ServerError


class Peer(load("walrelay")):  # type: ignore[misc]
    title = "walrelay recover"
    workloads = ("recover", "recover-compared")
    plugin = None

    def prepare(self, work: Work) -> None:
        shown = subprocess.run([*self._command(), "--json"], capture_output=True, text=True)
        if shown.returncode != 0:
            raise ServerError(f"{self.name}: {shown.stderr}")
        self._plan = json.loads(shown.stdout)["plan"]

    def launch(self, work: Work) -> list[Program]:
        return [Program([*self._command(), "--apply", self._plan], self.log)]

    def caught_up(self, work: Work) -> bool:
        return not self.alive()

    def failure(self) -> str | None:
        if not any(each.exit_status() for each in self._running):
            return None
        return f"{self.name} has failed: {self.log.read_text()[-2000:]}"

    def _command(self) -> list[str]:
        return [self.executable(), "recover", *self._flags(), "--all"]
