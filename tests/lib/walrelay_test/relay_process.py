"""The relay as a process: starts it, signals it, and observes it from outside.

All information comes from the sources that an operator has: its log, its exit code, /readyz, /metrics, and
/proc.
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

from walrelay_dev.errors import ServerError
from walrelay_dev.patience import patient
from walrelay_dev.process import Process, wait_until

from .relay_config import Options, relay_environment, relay_program, to_toml

T = TypeVar("T")

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SECONDS = 60.0


class RelayProcess:
    """`walrelay run` with the configuration file `config`, by default one created in `folder` from `options`; or with
    the directory `config_dir`. Each start writes new log files.

    With `events`, it prints acknowledged events. `environment` is added to this process' environment, of which
    variables that configure a client are not passed on.
    """

    def __init__(self, folder: Path, options: Options, *, config: Path | None = None, config_dir: Path | None = None,
                 events: bool = False, environment: Mapping[str, str] | None = None,
                 arguments: Sequence[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.starts = 0
        self.config = config or folder / "relay.toml"
        if config_dir is not None:
            self._source = ["--config-dir", config_dir]
        else:
            self._source = ["--config", self.config]
            if config is None:
                self.config.write_text(to_toml(options))
        self._arguments = ["--events", "json", *arguments] if events else list(arguments)
        self._environment = dict(environment or {})
        self._process: Process | None = None

    # --- start and stop ---

    def start(self) -> "RelayProcess":
        assert not self.running(), "one process at a time"
        self.starts += 1
        environment = relay_environment() | self._environment
        with open(self.log_file, "wb") as log, open(self._events_file, "wb") as events:
            child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", relay_program(), "run", *self._source,
                 *self._arguments],
                stdin=subprocess.DEVNULL, stdout=events, stderr=log, env=environment,
                cwd=self.folder)
        self._process = Process(child.pid, child)
        return self

    @property
    def configuration(self) -> str:
        """The text of its configuration file; "" with a directory."""
        return self.config.read_text() if self.config.exists() else ""

    def running(self) -> bool:
        return self._process is not None and self._process.alive()

    @property
    def pid(self) -> int:
        return self._started().pid

    def signal(self, number: int) -> None:
        self._started().signal(number)

    def terminate(self) -> None:
        """Sends SIGTERM: the relay drains and exits."""
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL, and waits for the exit."""
        self._started().kill()

    def pause(self) -> None:
        self._started().pause()

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def wait_exit(self, seconds: float = _SECONDS) -> int:
        """Waits for the exit and returns the exit code, or minus the signal that killed the relay."""
        code = self._started().wait(seconds, f"the relay to exit; {self._tail()}")
        assert code is not None, "the relay is a child process"
        return code

    def stop(self, seconds: float = _SECONDS) -> int:
        """Sends SIGTERM, and returns the exit code."""
        self.terminate()
        return self.wait_exit(seconds)

    # --- output ---

    @property
    def log_file(self) -> Path:
        return self.folder / f"relay-{self.starts}.log"

    @property
    def log_text(self) -> str:
        return self.log_file.read_text() if self.log_file.exists() else ""

    def logs(self, event: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """The log lines since the last start, parsed from JSON; only those with this `event` and these `fields`."""
        wanted = fields if event is None else {"event": event, **fields}
        whole = self._lines(self.log_text)
        # An invalid configuration is reported as text, before there is a log.
        lines = (json.loads(line) for line in whole if line.startswith("{"))
        return [line for line in lines if wanted.items() <= line.items()]

    def wait_for_log(self, event: str | None = None, seconds: float = _SECONDS, *, count: int = 1,
                     **fields: Any) -> dict[str, Any]:
        """Waits for the `count`-th line with this event and these fields; the relay may exit after it.

        A thread of its own writes the log: a line may come later than the state that it describes.
        """
        self.wait_until(lambda: len(self.logs(event, **fields)) >= count or not self.running(),
                        seconds, f"log event {event} {fields}", ended=True)
        found = self.logs(event, **fields)
        if len(found) < count:
            raise ServerError(f"the relay exited without log event {event} {fields}; {self._tail()}")
        return found[count - 1]

    def acknowledged(self) -> list[dict[str, Any]]:
        """The acknowledged records that it printed with `events`."""
        return [json.loads(line) for line in self._lines(self._events_file.read_text())]

    @staticmethod
    def _lines(text: str) -> list[str]:
        """The complete lines. Not splitlines(), which treats more characters as line ends."""
        return text.split("\n")[:-1]

    # --- HTTP endpoints ---

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of an HTTP endpoint; status 0 if there is no response."""
        port = self.wait_for_log("listening")["port"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=patient(30)) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def status(self) -> dict[str, Any]:
        """The status as JSON; empty while there is no response."""
        body = self.get("/status.json")[1]
        return json.loads(body) if body.startswith("{") else {}

    def metric(self, name: str, **labels: str) -> float | None:
        """The sum of the series with these labels; None if there is none."""
        found = [float(value) for sample, text, value in _SAMPLE.findall(self.get("/metrics")[1])
                 if sample == name and labels.items() <= dict(_LABEL.findall(text)).items()]
        return sum(found) if found else None

    def state(self) -> str:
        """The state as reported by /readyz: streaming, blocked, …"""
        return self.get("/readyz")[1].partition("\n")[0].rpartition(": ")[2]

    def wait_for_state(self, *states: str, seconds: float = _SECONDS) -> None:
        self.wait_until(lambda: self.state() in states, seconds, f"state {' or '.join(states)}")

    def wait_ready(self, seconds: float = _SECONDS) -> None:
        """Waits until the relay reads the slot."""
        self.wait_for_state("streaming", "catching_up", seconds=seconds)

    # --- resources ---

    def processes(self) -> list[int]:
        """The process, and the worker of several pipelines."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def memory_mb(self, name: str = "VmHWM") -> float:
        """Peak resident memory, or another line of /proc/PID/status, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024

    def wait_until(self, predicate: Callable[[], T], seconds: float, what: str, *,
                   ended: bool = False) -> T:
        """Like process.wait_until; fails at once if the relay has exited, unless `ended`."""
        def check() -> T:
            alive = self.running()
            result = predicate()
            if not result and not alive and not ended:
                raise ServerError(f"the relay exited with {self._started().exit_code} while waiting for "
                                  f"{what}; {self._tail()}")
            return result
        try:
            return wait_until(check, seconds, what)
        except ServerError as error:
            raise ServerError(f"{error}; {self._tail()}") from None

    @property
    def _events_file(self) -> Path:
        return self.folder / f"events-{self.starts}.jsonl"

    def _started(self) -> Process:
        assert self._process is not None, "the relay was started"
        return self._process

    def _tail(self) -> str:
        return "end of its log:\n" + "\n".join(self.log_text.splitlines()[-15:])
