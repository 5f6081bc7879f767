#!/usr/bin/python3
"""What walrelay tells an operator to type is executed as it is printed, in the situation in which it is printed.

tests/lint/printed_commands.txt lists every command, and the test that executes it.
"""

import json
import re
import subprocess
from typing import Any

from walrelay_dev.paths import REPOSITORY
from walrelay_test.database import Database
from walrelay_test.doctor_case import DoctorCase
from walrelay_test.gap_case import HELD, GapCase
from walrelay_test.outbox import Outbox
from walrelay_test.recover_case import OK, USAGE, RecoverCase
from walrelay_test.relay_config import relay_environment, relay_program, to_toml
from walrelay_test.relay_process import RelayProcess
from walrelay_test.servers import new_postgres, test_folder
from walrelay_test.testcase import IntegrationTest, main

_STATEMENT = r"(?:ALTER|SELECT|GRANT|REVOKE) [^;]*;"


def statements(text: str) -> list[str]:
    """The SQL in a text, before the comment behind it."""
    return re.findall(_STATEMENT, text.partition("  --")[0])


class RelayCase(IntegrationTest):
    def run_walrelay(self, *arguments: Any, code: int = OK) -> str:
        run = subprocess.run([relay_program(), *arguments, "--config", self.relays[-1].config], text=True, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", env=relay_environment())
        self.assertEqual(run.returncode, code, run.stdout)
        return run.stdout

    def findings(self, *, passed: bool = False) -> dict[str, dict[str, str]]:
        """What doctor finds, by check."""
        run = subprocess.run([relay_program(), "doctor", "--json", "--config", self.relays[-1].config], text=True,
                             timeout=120, stdout=subprocess.PIPE, cwd="/", env=relay_environment())
        return {each["check"]: each for each in json.loads(run.stdout)["findings"]
                if passed or each["severity"] in ("warning", "problem")}


class BesideARelayTest(RelayCase):
    def test_check_and_doctor_find_no_problem(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        for event in range(1, 16):
            self.outbox.insert(event)
            self.assertNotIn("WR-2105", self.run_walrelay("check"))
        self.assertIn("table.columns", self.findings(passed=True))
        for check, finding in self.findings().items():
            self.assertNotEqual(finding["severity"], "problem", (check, finding))
        self.sql("SELECT * FROM pg_stat_replication")
        self.sql("SELECT pid, application_name FROM pg_stat_replication")
        self.sql("SELECT pid, query FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        self.settle()
        self.assertEqual(relay.logs("gap"), [])

    def test_columns_that_are_absent_are_not_named(self) -> None:
        self.sql("ALTER TABLE outbox DROP COLUMN IF EXISTS trace_id")
        self.start_relay().wait_ready()
        text = self.findings(passed=True)["table.columns"]["text"]
        self.assertIn("topic from aggregate_type, key from aggregate_id, value from payload, header id from id", text)
        self.assertNotIn("-", text.replace(self.name, ""))


class PublishedOperationsTest(RelayCase):
    """The catalog does not show whether inserts were off while an ALTER PUBLICATION ran: an operator accepts the gap."""

    def publish(self, *tables: str) -> None:
        self.sql(f"CREATE PUBLICATION walrelay FOR TABLE {', '.join(tables)}")
        self.database.create_slot(self.slot)

    def test_remedy_names_the_gap_that_it_makes(self) -> None:
        relay = self.start_relay()
        relay.wait_ready()
        self.outbox.insert(1)
        self.settle()
        remedy = self.findings()["publication.inserts_only"]["remedy"]
        self.assertRegex(remedy, r"^ALTER .*; walrelay then holds \(WR-2110\).*: walrelay resume --accept-gap\.")
        for statement in statements(remedy):
            self.sql(statement)
        relay.wait_for_log("gap", code="WR-2110")
        self.run_walrelay("resume", "--accept-gap")
        relay.wait_ready()
        self.outbox.insert(2)
        self.expect_published(1, 2)
        self.assertNotIn("publication.inserts_only", self.findings())


class UpdatesTest(RelayCase):
    """source.on_update = "fail" needs a publication that sends updates."""

    def prepare(self) -> None:
        pass

    def options(self) -> dict[str, Any]:
        return super().options() | {"source.on_update": "fail"}

    def set_up(self) -> None:
        self.new_relay()
        self.relays[-1].config.write_text(to_toml(self.options()))
        self.assertIn("CREATE PUBLICATION", self.run_walrelay("setup", "--apply", "--create-table"))

    def insert(self) -> str:
        return self.sql("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) "
                        "VALUES (%s, 'k', 't', '{}') RETURNING id::text", self.name)[0][0]

    def expect_updates_block(self) -> None:
        id = self.insert()
        self.sql("UPDATE outbox SET event_type = 'changed' WHERE id = %s::uuid", id)
        self.relays[-1].wait_for_log("blocked", code="WR-3008")

    def test_setups_publication_sends_what_blocks(self) -> None:
        self.set_up()
        self.relays[-1].start().wait_ready()
        self.assertNotIn("publication.updates", self.findings())
        self.assertNotIn("publication.inserts_only", self.findings())
        self.expect_updates_block()

    def test_remedy_makes_updates_block(self) -> None:
        self.set_up()
        self.sql("ALTER PUBLICATION walrelay SET (publish = 'insert')")
        relay = self.relays[-1].start()
        relay.wait_ready()
        remedy = self.findings()["publication.updates"]["remedy"]
        for statement in statements(remedy):
            self.sql(statement)
        relay.wait_for_log("gap", code="WR-2110")
        self.run_walrelay("resume", "--accept-gap")
        relay.wait_ready()
        self.expect_updates_block()


class LostSlotTest(GapCase):
    """The headline and the answer of resume name the step that publishes what is missing before the one that gives it
    up."""

    def commands(self, text: str) -> list[str]:
        return re.findall(r"walrelay (?:recover|resume)(?: --[a-z-]+)*", text)

    def test_headline_leads_to_what_is_missing(self) -> None:
        self.free_slot()
        self.outbox.insert(2)
        self.sql("SELECT pg_drop_replication_slot(%s)", self.slot)
        self.relay.resume()
        self.expect_held("WR-2107")
        for text in (self.relay.get("/status.txt")[1], self.resume(code=HELD),
                     json.loads(self.relay.get("/status.json")[1])["relay"]["waits_for"]):
            self.assertEqual(self.commands(text)[0], "walrelay recover", text)
        self.outbox.insert(3)

        def recover(*arguments: str) -> str:
            run = subprocess.run([relay_program(), "recover", "--config", self.relay.config, *arguments], text=True,
                                 timeout=120, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env=relay_environment())
            self.assertEqual(run.returncode, 0, run.stdout)
            return run.stdout
        plan = re.search(r"--apply (\S+)", recover("--all"))
        assert plan is not None
        recover("--all", "--apply", plan.group(1))
        self.assertEqual(self.relay.stop(), 0)
        self.relay.start()
        self.relay.wait_ready()
        self.outbox.insert(4)
        self.expect_published(1, 2, 3, 4)
        self.assertEqual(self.relay.logs("gap"), [])


class MovedSlotTest(RecoverCase):
    """A cluster with another identity that has the slot, as pg_upgrade makes it from Postgres 17 on."""

    def move(self) -> None:
        """The relay has published row 1 of the old server, and continues with the new one."""
        self.publish_rows(1)
        other = self.enterContext(new_postgres(template=False))
        self.database.close()
        self.addCleanup(setattr, self, "database", self.database)
        self.database = Database.create(other, self.name)
        self.addCleanup(self.database.close)
        self.outbox = Outbox(self.database, self.name)
        self.publish("outbox")
        self.new_relay({"source.dsn": self.database.dsn})

    def recover_upgraded(self, code: int) -> str:
        return self.walrelay("recover", "--upgraded", code=code)

    def test_slot_that_came_along_is_kept(self) -> None:
        self.move()
        self.database.create_slot(self.slot)
        self.outbox.insert(2)
        self.sql("DELETE FROM outbox")
        relay = self.relays[-1].start()
        gap = self.expect_held(relay, "WR-2201")
        self.assertIn("walrelay resume --accept-gap", self.recover_upgraded(USAGE))
        self.assertIn(gap["id"], self.walrelay("resume", code=HELD))
        self.assertIn("is accepted", self.walrelay("resume", "--accept-gap"))
        relay.wait_ready()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)

    def test_slot_that_was_created_afterwards_is_replaced(self) -> None:
        self.move()
        self.outbox.insert(2)
        self.database.create_slot(self.slot)
        self.new_relay({"source.dsn": self.database.dsn})
        self.relays[-1].start()
        self.expect_held(self.relays[-1], "WR-2201")
        text = self.recover_upgraded(USAGE)
        for statement in statements(text):
            self.sql(statement)
        self.assertEqual(self.database.slot(self.slot, "slot_name"), None)
        self.assertIn("Recovered", self.recover("--all"))
        self.assertEqual(self.relays[-1].stop(), 0)
        self.start_again()
        self.outbox.insert(3)
        self.expect_published(1, 2, 3)


class SetupScriptTest(IntegrationTest):
    def test_script_for_the_second_database_of_a_server(self) -> None:
        """In a database of another encoding, with the role that exists because of the first one."""
        role = f"{self.name}_role"
        second = f"{self.name}_latin1"
        self.postgres.psql(f"CREATE DATABASE {second} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        database = Database(self.postgres, second)
        self.addCleanup(self.postgres.psql, f"DROP DATABASE {second} (FORCE)")
        self.addCleanup(self.postgres.psql, f"DROP ROLE {role}")
        self.addCleanup(self.sql, f"DROP OWNED BY {role}")
        self.addCleanup(database.execute, f"SELECT pg_drop_replication_slot('{self.slot}_2'); DROP OWNED BY {role}")
        config = test_folder() / f"{self.name}.toml"
        config.write_text(to_toml({"source.table": "public.größe", "source.publication": f"{self.slot}_ä"}))
        for target, slot in ((self.database, f"{self.slot}_1"), (database, f"{self.slot}_2")):
            script = subprocess.run([relay_program(), "setup", "--config", config, "--slot", slot, "--role", role],
                                    capture_output=True, text=True, check=True, timeout=60, env=relay_environment())
            psql = subprocess.run(["psql", "-v", "ON_ERROR_STOP=1", "-q", "-d", target.dsn], input=script.stdout,
                                  encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                  env=relay_environment() | {"PGCLIENTENCODING": "LATIN1"})
            self.assertEqual(psql.returncode, 0, psql.stdout)
            self.assertEqual(target.execute("SELECT tablename FROM pg_publication_tables WHERE pubname = %s",
                                            f"{self.slot}_ä"), [("größe",)])
        self.sql("SELECT pg_drop_replication_slot(%s)", f"{self.slot}_1")


class RunbooksTest(RelayCase):
    """The commands of docs/runbooks, with their examples of names and values, beside a relay that works."""
    postgres_options = {"major": 17}  # whose settings some of them name

    # Statements of a situation that is not this one, and the test of that situation.
    _ELSEWHERE = {"SELECT pg_drop_replication_slot('walrelay')": "tests/drill/test_slot_runbooks.py",
                  "ALTER PUBLICATION walrelay ADD TABLE public.outbox":
                  "test_unpublished_table_must_be_added_before_the_gap_is_accepted"}

    @staticmethod
    def blocks(language: str) -> list[tuple[str, str]]:
        """Each block of this language in a runbook, with the name of the page."""
        return [(page.name, block) for page in sorted((REPOSITORY / "docs/runbooks").glob("*.md"))
                for block in re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)]

    def expect_unharmed(self, relay: RelayProcess, event: int) -> None:
        self.outbox.insert(event)
        self.settle()
        self.assertIn(event, self.ids())
        self.assertEqual(relay.logs("gap"), [])

    def test_statements_are_valid_and_harm_no_relay(self) -> None:
        self.sql("ALTER TABLE outbox ADD COLUMN IF NOT EXISTS created_at timestamptz DEFAULT now()")
        self.addCleanup(self.postgres.psql, "ALTER SYSTEM RESET max_slot_wal_keep_size")
        relay = self.start_relay()
        relay.wait_ready()
        for page, block in self.blocks("sql"):
            text = re.sub(r"--.*", "", block)
            for statement in [text] if "BEGIN;" in text else text.split(";"):
                if statement.strip() and " ".join(statement.split()) not in self._ELSEWHERE:
                    with self.subTest(page=page, statement=statement):
                        self.sql(statement)
        self.expect_unharmed(relay, 1)

    def test_commands_are_valid_and_harm_no_relay(self) -> None:
        relay = self.start_relay({"on_error.dead_letter_topic": f"{self.name}-dead-letters"})
        relay.wait_ready()
        commands = {" ".join(command.replace("-c walrelay.toml", "").split())
                    for _, block in self.blocks("sh") for command in re.findall(r"(?m)^ *walrelay ([^#\n]*)", block)}
        self.assertGreater(len(commands), 12)
        for command in sorted(commands):
            with self.subTest(command=command):
                run = subprocess.run([relay_program(), *command.split(),
                                      *([] if command.startswith("explain") else ["--config", relay.config])],
                                     text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
                                     env=relay_environment())
                # Where there is nothing to do, some commands say that they are used wrongly: not by their flags.
                self.assertNotRegex(run.stdout, r"unknown (?:option|command|argument)|WR-5001")
                self.assertIn(run.returncode, (0, 1, 3, 4, 64, 69), run.stdout)
        self.expect_unharmed(relay, 1)


class RemedyTest(DoctorCase):
    """The SQL of a finding ends the finding."""

    def expect_remedied(self, check: str, options: dict[str, Any]) -> None:
        found = next(each for each in self.findings(check, options) if each["severity"] in ("warning", "problem"))
        executed = statements(found["remedy"])
        self.assertTrue(executed, found)
        for statement in executed:
            self.sql(statement)
        self.assertEqual([each for each in self.findings(check, options)
                          if each["severity"] in ("warning", "problem") and each["text"] == found["text"]], [])

    def test_remedies_end_their_findings(self) -> None:
        self.start_relay().wait_ready()
        for attributes, check in (("LOGIN", "postgres.connect"),
                                  ("LOGIN REPLICATION CONNECTION LIMIT 2", "postgres.connection_limit")):
            with self.subTest(check=check):
                role = f"{self.name}_{check.split('.')[1]}"
                self.sql(f"CREATE ROLE {role} {attributes}")
                self.addCleanup(self.sql, f"DROP ROLE {role}")
                self.expect_remedied(check, {"source.dsn": f"{self.database.dsn} user={role}"})
        self.sql(f"ALTER DATABASE {self.name} SET synchronous_commit = off")
        self.expect_remedied("latency.synchronous_commit", {})


class ServerSettingsTest(RelayCase):
    postgres_options = {"settings": {"synchronous_commit": "off"}}

    def test_remedies_end_their_findings(self) -> None:
        self.start_relay().wait_ready()
        before = self.findings()
        for check in ("postgres.max_slot_wal_keep_size", "latency.synchronous_commit"):
            for statement in statements(before[check]["remedy"]):
                self.sql(statement)
        self.sql("ALTER SYSTEM SET max_slot_wal_keep_size = '100GB'")
        after = self.findings()
        self.assertNotIn("postgres.max_slot_wal_keep_size", after)
        self.assertEqual(self.relays[-1].logs("gap"), [])


if __name__ == "__main__":
    main()
