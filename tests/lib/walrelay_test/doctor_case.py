"""Base of the tests of `walrelay doctor`."""

import json
import subprocess
from typing import Any

from walrelay_dev.patience import patient
from .relay_config import relay_environment, relay_program
from .testcase import IntegrationTest


class DoctorCase(IntegrationTest):
    def call(self, *arguments: str, options: dict[str, Any] | None = None) -> tuple[int, str]:
        """Exit code and output of `walrelay doctor`; with --json without the warnings on standard error."""
        settings = self.options() | {"http.listen": "127.0.0.1:1"} | (options or {})
        flags = [f"--set={name}={value}" for name, value in settings.items()]
        run = subprocess.run([relay_program(), "doctor", *flags, *arguments], cwd="/", text=True,
                             timeout=patient(120), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE if "--json" in arguments else subprocess.STDOUT,
                             env=relay_environment())
        return run.returncode, run.stdout

    def findings(self, check: str, options: dict[str, Any] | None = None) -> list[dict[str, str]]:
        """The findings of a check."""
        return [each for each in json.loads(self.call("--json", options=options)[1])["findings"]
                if each["check"] == check]

    def expect(self, check: str, severity: str, text: str, remedy: str = "",
               options: dict[str, Any] | None = None) -> dict[str, str]:
        """Checks that one of the check's findings is this one."""
        found = self.findings(check, options)
        for each in found:
            if each["severity"] == severity and text in each["text"] and \
                    remedy in each.get("remedy", ""):
                return each
        self.fail(f"{check}: no {severity} with {text!r} and {remedy!r} in {found}")
