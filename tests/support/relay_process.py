"""The relay as a process: started, signalled, and watched from outside.

Everything that is known of it comes from where an operator would look: its log, its exit code,
/readyz, /metrics, and /proc.
"""

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from relay_config import Options, relay_environment, relay_program, to_toml
from walrelay_dev.errors import ServerError
from walrelay_dev.process import Process, wait_until

T = TypeVar("T")

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SECONDS = 60.0


class RelayProcess:
    """`walrelay run` with a configuration file in `folder`, made of `options` unless `config` is one.
    Each start has log files of its own.

    With `events`, it prints what was acknowledged. `environment` is added to ours, of which
    nothing that would configure a client is passed on.
    """

    def __init__(self, folder: Path, options: Options, *, config: Path | None = None,
                 events: bool = False, environment: Mapping[str, str] | None = None,
                 arguments: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.starts = 0
        self.config = config or folder / "relay.toml"
        if config is None:
            self.config.write_text(to_toml(options))
        self._arguments = ["--events", "json", *arguments] if events else list(arguments)
        self._environment = dict(environment or {})
        self._process: Process | None = None

    # --- life ---

    def start(self) -> "RelayProcess":
        assert not self.running(), "one process at a time"
        self.starts += 1
        environment = relay_environment() | self._environment
        with open(self.log_file, "wb") as log, open(self._events_file, "wb") as events:
            child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", relay_program(), "run", "--config",
                 self.config, *self._arguments],
                stdin=subprocess.DEVNULL, stdout=events, stderr=log, env=environment,
                cwd=self.folder)
        self._process = Process(child.pid, child)
        return self

    def running(self) -> bool:
        return self._process is not None and self._process.alive()

    @property
    def pid(self) -> int:
        return self._started().pid

    def signal(self, number: int) -> None:
        self._started().signal(number)

    def terminate(self) -> None:
        """SIGTERM: to drain and end."""
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, and waits for the end."""
        self._started().kill()

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def wait_exit(self, seconds: float = _SECONDS) -> int:
        """Waits for its end and returns the exit code; minus the signal that ended it."""
        code = self._started().wait(seconds, f"the relay to end; {self._tail()}")
        assert code is not None, "the relay is our child"
        return code

    def stop(self, seconds: float = _SECONDS) -> int:
        """SIGTERM, and the exit code."""
        self.terminate()
        return self.wait_exit(seconds)

    # --- what it says ---

    @property
    def log_file(self) -> Path:
        return self.folder / f"relay-{self.starts}.log"

    @property
    def log_text(self) -> str:
        return self.log_file.read_text() if self.log_file.exists() else ""

    def logs(self, event: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """The lines of this start's log, as JSON; those of an `event` and with these `fields`."""
        wanted = fields if event is None else {"event": event, **fields}
        whole = self._lines(self.log_text)
        return [line for line in map(json.loads, whole) if wanted.items() <= line.items()]

    def wait_for_log(self, event: str, seconds: float = _SECONDS, *, count: int = 1,
                     **fields: Any) -> dict[str, Any]:
        """The `count`-th line of an event with these fields; also when the relay then ends."""
        self.wait_until(lambda: len(self.logs(event, **fields)) >= count or not self.running(),
                        seconds, f"log event {event} {fields}", ended=True)
        found = self.logs(event, **fields)
        if len(found) < count:
            raise ServerError(f"the relay ended without log event {event} {fields}; {self._tail()}")
        return found[count - 1]

    def acknowledged(self) -> list[dict[str, Any]]:
        """What it printed with `events`, one acknowledged record each."""
        return [json.loads(line) for line in self._lines(self._events_file.read_text())]

    @staticmethod
    def _lines(text: str) -> list[str]:
        """Those that are complete. Not splitlines(), which takes more characters for line ends."""
        return text.split("\n")[:-1]

    # --- what it serves ---

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of one of its pages; 0 while nothing answers."""
        port = self.wait_for_log("listening")["port"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, name: str, **labels: str) -> float | None:
        """The sum of the series that have these labels; None when there is none."""
        found = [float(value) for sample, text, value in _SAMPLE.findall(self.get("/metrics")[1])
                 if sample == name and labels.items() <= dict(_LABEL.findall(text)).items()]
        return sum(found) if found else None

    def state(self) -> str:
        """As /readyz names it: streaming, blocked, …"""
        return self.get("/readyz")[1].partition("\n")[0].rpartition(": ")[2]

    def wait_for_state(self, *states: str, seconds: float = _SECONDS) -> None:
        self.wait_until(lambda: self.state() in states, seconds, f"state {' or '.join(states)}")

    def wait_ready(self, seconds: float = _SECONDS) -> None:
        """Waits until it reads the slot."""
        self.wait_for_state("streaming", "catching_up", seconds=seconds)

    # --- what it costs ---

    def memory_mb(self, name: str = "VmHWM") -> float:
        """Resident memory at its peak, or another line of /proc/PID/status, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024

    def wait_until(self, predicate: Callable[[], T], seconds: float, what: str, *,
                   ended: bool = False) -> T:
        """As the function of that name; fails at once when the relay has ended, unless `ended`."""
        def look() -> T:
            alive = self.running()
            result = predicate()
            if not result and not alive and not ended:
                raise ServerError(f"the relay ended with {self._started().exit_code} instead of "
                                  f"{what}; {self._tail()}")
            return result
        try:
            return wait_until(look, seconds, what)
        except ServerError as error:
            raise ServerError(f"{error}; {self._tail()}") from None

    @property
    def _events_file(self) -> Path:
        return self.folder / f"events-{self.starts}.jsonl"

    def _started(self) -> Process:
        assert self._process is not None, "the relay has been started"
        return self._process

    def _tail(self) -> str:
        return "its log ends:\n" + "\n".join(self.log_text.splitlines()[-15:])
