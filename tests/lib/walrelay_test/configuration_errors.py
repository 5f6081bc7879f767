"""What walrelay answers to configurations and command lines that are wrong: the cases and their recorded answers.

A case in tests/integration/configuration_errors.txt is a title after "=== ", the text of walrelay.toml (or nothing), a
command after "$ ", and what it prints with its exit code. The two addresses without a default are set in the
environment, unless the case names them.

After a change of a message, `scripts/dev python -m walrelay_test.configuration_errors` records the answers again;
review the differences.
"""

import dataclasses
import shlex
import subprocess
import tempfile
from pathlib import Path

from walrelay_dev.paths import REPOSITORY

from walrelay_dev.patience import patient
from .relay_config import relay_environment, relay_program

CASES = REPOSITORY / "tests" / "integration" / "configuration_errors.txt"

# The text by which a case names an address, its variable, and the address.
ADDRESSES = [("dsn", "WALRELAY_SOURCE__DSN", "host=localhost dbname=shop"),
             ("bootstrap_servers", "WALRELAY_KAFKA__BOOTSTRAP_SERVERS", "localhost:9092")]


@dataclasses.dataclass
class Case:
    title: str
    file: str
    command: str
    answer: str

    def __str__(self) -> str:
        return f"=== {self.title}\n{self.file}$ {self.command}\n{self.answer}"

    def run(self) -> str:
        """What the command prints now, and its exit code."""
        words = shlex.split(self.command)
        program = words.index("walrelay")
        environment = relay_environment() | dict(word.split("=", 1) for word in words[:program])
        for name, variable, address in ADDRESSES:
            if name not in (self.file + self.command).lower():
                environment[variable] = address
        with tempfile.TemporaryDirectory() as folder:
            if self.file:
                Path(folder, "walrelay.toml").write_text(self.file)
            run = subprocess.run([relay_program(), *words[program + 1:]], cwd=folder, env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 timeout=patient(60))
        return f"{run.stdout}(exit code {run.returncode})\n\n"


def read_cases() -> tuple[str, list[Case]]:
    """The introduction of the file, and its cases."""
    introduction, *blocks = CASES.read_text().split("=== ")
    cases = []
    for block in blocks:
        title, rest = block.split("\n", 1)
        start = 0 if rest.startswith("$ ") else rest.index("\n$ ") + 1
        command, answer = rest[start + 2:].split("\n", 1)
        cases.append(Case(title, rest[:start], command, answer))
    return introduction, cases


def main() -> None:
    introduction, cases = read_cases()
    changed = 0
    for case in cases:
        answer = case.run()
        changed += answer != case.answer
        case.answer = answer
    CASES.write_text(introduction + "".join(str(case) for case in cases))
    print(f"{len(cases)} cases, {changed} changed")


if __name__ == "__main__":
    main()
