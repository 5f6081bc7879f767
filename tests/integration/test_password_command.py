#!/usr/bin/python3
"""source.password_command: passwords that expire, as those of RDS and Cloud SQL IAM."""

import json
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, RelayProcess, main, relay_program

FIRST, SECOND = "canary-first", "canary-second"
PART = "canary"


class PasswordCommandTest(IntegrationTest):
    postgres_options = {"password": FIRST, "tcp": True}

    def setUp(self) -> None:
        super().setUp()
        self.folder = test_folder() / f"{self.name}-command"
        self.folder.mkdir()
        self.runs = self.folder / "runs"
        self.runs.touch()
        self.password = self.folder / "password"
        self.password.write_text(FIRST + "\n")
        self.command = self.write_command(f"echo run >> {self.runs}\ncat {self.password}\n")

    def write_command(self, script: str) -> Path:
        path = self.folder / "print-password"
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        return path

    def options(self) -> dict[str, Any]:
        return super().options() | {"log.level": "debug", "source.password_command": [str(self.command), "two words"],
                                    "source.dsn": self.postgres.dsn(self.name, host="tcp")}

    def expect_hidden(self, relay: RelayProcess) -> None:
        for place, text in {"log": relay.log_text, "command line": Path(f"/proc/{relay.pid}/cmdline").read_text(),
                            "/readyz": relay.get("/readyz?verbose")[1]}.items():
            self.assertNotIn(PART, text, place)

    def rotate_to(self, password: str) -> None:
        self.sql(f"ALTER ROLE postgres PASSWORD '{password}'")
        self.addCleanup(self.sql, f"ALTER ROLE postgres PASSWORD '{FIRST}'")

    def run_count(self) -> int:
        return self.runs.read_text().count("run")

    def test_each_connection_uses_the_password_of_a_new_run(self) -> None:
        relay = self.start_relay({"source.wait_visible": True})
        self.outbox.insert(1)
        self.settle()
        runs = self.run_count()
        self.rotate_to(SECOND)
        self.password.write_text(SECOND)
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'walrelay' "
                 "AND datname = %s", self.name)
        relay.wait_for_log("streaming", count=2)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertGreater(self.run_count(), runs)
        self.assertEqual(relay.logs("disconnected", code="WR-2002"), [])
        self.expect_hidden(relay)

    def test_failing_command_is_run_again_until_it_succeeds(self) -> None:
        self.write_command(f"[ -e {self.folder}/ready ] || {{ echo {PART}; echo no credentials >&2; exit 7; }}\n"
                           f"cat {self.password}\n")
        relay = self.start_relay()
        self.outbox.insert(1)
        line = relay.wait_for_log("disconnected", code="WR-2015", count=2)
        self.assertIn("exit code 7: no credentials", line["msg"])
        (self.folder / "ready").touch()
        self.expect_published(1)
        self.expect_hidden(relay)

    def test_hanging_command_is_killed_at_its_deadline(self) -> None:
        self.write_command("sleep 1000\n")
        relay = self.start_relay({"source.connect_timeout": "1s"})
        line = relay.wait_for_log("disconnected", code="WR-2015")
        self.assertIn("did not end within 1 s", line["msg"])

    def test_hanging_command_does_not_delay_a_stop(self) -> None:
        self.write_command(f"echo $$ > {self.folder}/pid.new; mv {self.folder}/pid.new {self.folder}/pid; sleep 1000\n")
        relay = self.start_relay({"source.connect_timeout": "25s"})
        pid_file = self.folder / "pid"
        relay.wait_until(pid_file.exists, 60, "the command to run")
        relay.signal(signal.SIGTERM)
        self.assertEqual(relay.wait_exit(20), 0)
        self.assertFalse(Path(f"/proc/{pid_file.read_text().strip()}").exists())

    def test_visibility_is_queried_with_a_password_of_the_command(self) -> None:
        relay = self.start_relay({"source.wait_visible": True})
        self.outbox.insert(1)
        self.settle()
        for query in ("SELECT pg_catalog.pg_current_snapshot()%",):
            self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s "
                     "AND pid <> pg_backend_pid()", query)
        self.rotate_to(SECOND)
        self.password.write_text(SECOND)
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertEqual(len(relay.logs("streaming")), 1)


class OfflineCheckTest(IntegrationTest):
    def check(self, command: list[str], **more: str) -> subprocess.CompletedProcess:
        config = test_folder() / f"{self.name}.toml"
        extra = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
        config.write_text(f'[source]\ndsn = "host=127.0.0.1"\npassword_command = {json.dumps(command)}\n{extra}'
                          '[kafka]\nbootstrap_servers = "127.0.0.1:1"\n')
        return subprocess.run([relay_program(), "check", "--offline", "--config", config], capture_output=True,
                              text=True, check=False)

    def test_command_is_not_run(self) -> None:
        proof = test_folder() / f"{self.name}-was-run"
        done = self.check(["sh", "-c", f"touch {shlex.quote(str(proof))}"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(proof.exists())

    def test_missing_program_is_refused(self) -> None:
        done = self.check(["no-such-program"])
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn('source.password_command: "no-such-program" is not in PATH', done.stderr)

    def test_second_source_of_the_password_is_refused(self) -> None:
        done = self.check(["true"], password_file="/run/secrets/password")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("source.password_command excludes", done.stderr)


if __name__ == "__main__":
    main()
