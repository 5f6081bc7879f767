"""The command blocks of a page of docs/, and an operator who types them.

A drill brings servers into a situation and types the blocks of the runbook for it, as the page has them.
tests/lint/runbooks_test.py fails for a block that no drill types.
"""

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from walrelay_dev.paths import REPOSITORY

from .recover_case import RecoverCase
from .relay_config import relay_program

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
# What a page writes in place of the values of an incident.
_PLAN = "7f3c9a01-18204"
_GAP = "2106-5f3a9c01"
_TIME = "2026-01-31T02:10:00Z"


@dataclass(frozen=True)
class Block:
    """A block of commands, in language sh or sql."""

    page: str  # "slot-lost", "guides/moving-clusters"
    heading: str  # of its section
    language: str
    text: str

    @property
    def first(self) -> str:
        """Its first line, by which lists name it."""
        return re.split("#|-- ", self.text.splitlines()[0])[0].strip()


def blocks_of(page: str) -> list[Block]:
    """The blocks of docs/runbooks/`page`.md, or of another page with its folder, that an operator types, in their order."""
    text = (REPOSITORY / "docs" / (f"{page}.md" if "/" in page else f"runbooks/{page}.md")).read_text()
    headings = [(found.start(), found[1]) for found in _HEADING.finditer(text)]
    return [Block(page, [name for at, name in headings if at < found.start()][-1], found[2],
                  re.sub(rf"^{found[1]}", "", found[3], flags=re.MULTILINE))
            for found in _FENCE.finditer(text) if found[2] in ("sh", "sql")]


def pages() -> list[str]:
    return sorted(path.stem for path in Path(REPOSITORY / "docs/runbooks").glob("*.md") if path.stem != "README")


NOT_DRILLED = REPOSITORY / "tests/drill/not_drilled.txt"  # PAGE: FIRST LINE | WHY
_shown: set[Block] = set()
_typed: set[Block] = set()


def name_of(block: Block) -> str:
    return f"{block.page}: {block.first}"


def not_drilled() -> list[str]:
    """The names of the blocks that no drill types."""
    return [line.split(" | ")[0] for line in NOT_DRILLED.read_text().splitlines() if line and not line.startswith("#")]


def check_all_typed() -> None:
    """For tearDownModule: each block of the sections that the drills have shown was typed, or is listed."""
    left = sorted(name_of(block) for block in _shown - _typed)
    if missing := [name for name in left if name not in not_drilled()]:
        raise AssertionError(f"no drill typed {missing}")


class RunbookCase(RecoverCase):
    """Types the blocks of runbooks: commands at the host of the relay, SQL as a superuser of its database.

    `systemctl` starts and stops the relay of the test. The slot, and what a page writes in place of the plan, the gap and
    a time, are those of the test.
    """

    def setUp(self) -> None:
        super().setUp()
        self._plan = ""

    def blocks(self, page: str, heading: str = "What to type") -> list[Block]:
        """The blocks of a section. The drills of the module type each of them."""
        found = [block for block in blocks_of(page) if block.heading == heading]
        _shown.update(found)
        return found

    def type(self, block: Block, *, time: str = "", code: int = 0, only: str = "", flags: str = "",
             codes: Sequence[int] | None = None) -> str:
        """Types a block; returns what it prints. `code`: of its last command; `codes`: of each. `only`: types the commands that match this
        expression, where the block offers a choice. `flags`: added to `walrelay recover`, where the page says so."""
        _typed.add(block)
        if block.language == "sql":
            for statement in filter(None, map(str.strip, re.sub(r"--.*", "", block.text).split(";"))):
                self.sql(statement.replace("'walrelay'", f"'{self.slot}'"))
            return ""
        lines = [line for line in (line.split("#")[0].strip() for line in block.text.splitlines()) 
                 if line and re.search(only, line)]
        lines = [line.replace("walrelay recover", f"walrelay recover {flags}") for line in lines]
        expected = codes or [code if line is lines[-1] else 0 for line in lines]
        return "".join(self._command(line, time, code) for line, code in zip(lines, expected, strict=True))

    @property
    def plan_id(self) -> str:
        """Of the plan that was printed last."""
        return self._plan

    def _command(self, line: str, time: str, code: int) -> str:
        gap = self._gap() if _GAP in line else ""
        line = line.replace(" -c walrelay.toml", "")  # the configuration of the relay is added below
        program, *arguments = shlex.split(line.replace(_PLAN, self._plan).replace(_TIME, time).replace(_GAP, gap))
        if program == "systemctl":
            return self.systemctl(*arguments)
        if program == "curl":
            port = self.relays[-1].wait_for_log("listening")["port"]
            url = arguments[-1].replace("localhost:9464", f"127.0.0.1:{port}")
            return subprocess.run([program, *arguments[:-1], url], check=True, text=True, capture_output=True).stdout
        self.assertEqual(program, "walrelay", line)
        if arguments[0] == "explain":  # needs no configuration
            return subprocess.run([relay_program(), *arguments], check=True, text=True, capture_output=True).stdout
        output = self.walrelay(*arguments, code=code)
        if plan := re.search(r"^plan +(\S+)$", output, re.MULTILINE):
            self._plan = plan[1]
        return output

    def systemctl(self, verb: str, unit: str = "walrelay") -> str:
        """What systemd does with the unit, to the relay of the test."""
        self.assertEqual(unit, "walrelay")
        relay = self.relays[-1]
        if verb in ("stop", "restart") and relay.running():
            self.assertEqual(relay.stop(), 0)
        if verb in ("start", "restart"):
            relay.start()
        return ""

    def _gap(self) -> str:
        return re.search(r"gap:? +([0-9a-f]+-[0-9a-f]+)", self.run_walrelay("resume").stdout)[1]
