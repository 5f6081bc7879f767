#!/usr/bin/python3
"""Tests of scripts/lib/walrelay_dev with real servers: the behaviour that other tests rely on.

Run with Debian's /usr/bin/python3; needs postgresql-15, maven, default-jre-headless and
python3-confluent-kafka. The first run downloads Kafka and the Postgres majors (120 MB).
"""

import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from walrelay_dev.errors import ServerError
from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.kafka_records import library
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.ports import free_ports
from walrelay_dev.postgres import Postgres
from walrelay_dev.postgres_binaries import MAJORS
from walrelay_dev.process import wait_until

PEEK = """SELECT lsn, get_byte(data, 0), length(data) FROM pg_logical_slot_peek_binary_changes(
    's', NULL, NULL, 'proto_version', '1', 'publication_names', 'p')"""


def make_slot_with_one_insert(pg: Postgres) -> str:
    """Commits one transaction and returns the slot's messages for it."""
    pg.psql("""CREATE TABLE outbox (id bigserial PRIMARY KEY, payload jsonb);
        CREATE PUBLICATION p FOR TABLE outbox;
        SELECT pg_create_logical_replication_slot('s', 'pgoutput');
        INSERT INTO outbox (payload) VALUES ('{"a": 1}');""")
    return pg.psql(PEEK)


class PostgresTest(unittest.TestCase):
    def test_every_major_decodes_with_pgoutput(self) -> None:
        for major in MAJORS:
            with self.subTest(major=major), Postgres(major) as pg:
                self.assertTrue(pg.psql("SHOW server_version_num").startswith(str(major)))
                kinds = [row.split("|")[1] for row in make_slot_with_one_insert(pg).splitlines()]
                self.assertEqual([chr(int(kind)) for kind in kinds], ["B", "R", "I", "C"])

    def test_slot_survives_every_kind_of_stop(self) -> None:
        with Postgres() as pg:
            changes = make_slot_with_one_insert(pg)
            for mode in ("fast", "smart", "immediate"):
                pg.restart(mode)
                self.assertEqual(pg.psql(PEEK), changes, mode)
            pg.kill()
            self.assertFalse(pg.running())
            pg.start()
            self.assertEqual(pg.psql(PEEK), changes)

    def test_psql_runs_statements_one_by_one_until_the_first_error(self) -> None:
        with Postgres() as pg:
            self.assertEqual(pg.psql("SELECT 1, NULL, 'a b'; SELECT 2;"), "1||a b\n2")
            with self.assertRaisesRegex(ServerError, 'relation "nowhere" does not exist'):
                pg.psql("CREATE TABLE first (); SELECT * FROM nowhere; CREATE TABLE last ();")
            self.assertEqual(pg.psql("SELECT relname FROM pg_stat_user_tables"), "first")

    def test_settings_take_effect_at_the_next_start(self) -> None:
        with Postgres(settings={"max_slot_wal_keep_size": "64MB", "jit": False}) as pg:
            self.assertEqual(pg.psql("SHOW max_slot_wal_keep_size; SHOW jit"), "64MB\noff")
            pg.settings["max_slot_wal_keep_size"] = "1GB"
            pg.restart()
            self.assertEqual(pg.psql("SHOW max_slot_wal_keep_size; SHOW fsync"), "1GB\non")

    def test_password_is_required_over_tcp_and_socket(self) -> None:
        with Postgres(tcp=True, password="it's") as pg:
            self.assertEqual(pg.psql("SHOW password_encryption"), "scram-sha-256")
            for host in ("socket", "tcp"):
                run = subprocess.run(["psql", "-w", "-d", pg.dsn(host=host)], capture_output=True)
                self.assertIn(b"no password supplied", run.stderr)

    def test_nothing_is_left_after_a_crash(self) -> None:
        segments = Path("/proc/sysvipc/shm").read_text().count("\n")
        with Postgres() as pg:
            pg.kill()
        self.assertFalse(pg.running())
        self.assertFalse(pg.data.parent.exists())
        self.assertLessEqual(Path("/proc/sysvipc/shm").read_text().count("\n"), segments)

    def test_failed_start_reports_the_cause_and_leaves_no_files(self) -> None:
        pg = Postgres(settings={"no_such_setting": 1})
        with self.assertRaisesRegex(ServerError, "no_such_setting"), pg:
            pass
        self.assertFalse(pg.data.parent.exists())


class FolderTest(unittest.TestCase):
    def test_nonempty_folder_is_rejected_and_kept(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            precious = Path(folder) / "precious"
            precious.touch()
            for server in (Postgres(directory=Path(folder)), KafkaCluster(directory=Path(folder))):
                with self.assertRaisesRegex(ServerError, "not empty"), server:
                    pass
            self.assertTrue(precious.exists())


class PortsTest(unittest.TestCase):
    def test_port_is_reserved_for_one_process_only(self) -> None:
        mine = free_ports(50)
        self.assertEqual(len(set(mine)), 50)
        program = f"from walrelay_dev import ports; print(ports._reserve({mine[0]}))"
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                             cwd=REPOSITORY / "scripts" / "lib", check=True)
        self.assertEqual(run.stdout, "False\n")


class KafkaStartTest(unittest.TestCase):
    def test_node_starts_once_another_process_has_released_its_port(self) -> None:
        cluster = KafkaCluster()
        self.addCleanup(cluster.remove)
        cluster.create()
        log = cluster.node(1).log
        with socket.socket() as other:
            other.bind(("127.0.0.1", cluster.config.ports[0]))
            other.listen()
            starting = threading.Thread(target=cluster.start)
            starting.start()
            wait_until(lambda: log.exists() and "Address already in use" in log.read_text(), 60,
                       "the node to find its port taken")
        starting.join()
        self.assertEqual(cluster.topics(), {})


class KafkaTest(unittest.TestCase):
    kafka: KafkaCluster

    @classmethod
    def setUpClass(cls) -> None:
        cls.kafka = cls.enterClassContext(KafkaCluster(partitions=3))

    def produce(self, topic: str, **record: object) -> None:
        failures: list[object] = []
        producer = library().Producer({"bootstrap.servers": self.kafka.bootstrap})
        producer.produce(topic, **record, on_delivery=lambda error, _: failures.append(error))
        self.assertEqual(producer.flush(60), 0)
        self.assertEqual(failures, [None])

    def test_every_byte_survives_the_round_trip(self) -> None:
        every_byte = bytes(range(256))
        headers = [("null", None), ("empty", b""), ("twice", b"a=b,c"), ("twice", every_byte),
                   ("", b"no name"), ("\u00e9", "\u00e9".encode())]
        sent = [(None, None, []), (b"", b"", []), (None, b"v", []), (b"k", None, []),
                (every_byte, every_byte, headers)]
        for key, value, headers in sent:
            self.produce("bytes", partition=1, key=key, value=value, headers=headers,
                         timestamp=1234)
        records = self.kafka.consume("bytes")
        self.assertEqual([(r.key, r.value, r.headers) for r in records], sent)
        self.assertEqual([r.offset for r in records], list(range(len(sent))))
        self.assertEqual({(r.topic, r.partition, r.timestamp_ms) for r in records},
                         {("bytes", 1, 1234)})

    def test_topic_is_created_configured_and_deleted(self) -> None:
        self.kafka.create_topic("made", 2, config={"retention.ms": 60000})
        self.kafka.alter_topic_config("made", {"max.message.bytes": 1000})
        self.assertEqual(self.kafka.topics()["made"], 2)
        self.assertEqual(self.kafka.leader("made", 1), 1)
        self.assertEqual(self.kafka.topic_config("made"),
                         {"retention.ms": "60000", "max.message.bytes": "1000"})
        with self.assertRaisesRegex(ServerError, "already exists"):
            self.kafka.create_topic("made")
        self.kafka.delete_topic("made")
        self.assertEqual(self.kafka.consume("made"), [])

    def test_reader_follows_new_records_and_new_topics(self) -> None:
        self.produce("followed.1", value=b"before")
        with self.kafka.reader(r"^followed\.") as reader:
            reader.wait_for(1, 60)
            self.produce("followed.1", value=b"after")
            self.produce("followed.2", value=b"late")
            self.assertEqual({r.value for r in reader.wait_for(3, 60)},
                             {b"before", b"after", b"late"})
            self.assertEqual(len(reader.take()), 3)
            self.assertEqual(reader.take(), [])
        self.assertEqual(self.kafka.topics()["followed.2"], 3)

    def test_records_survive_stop_and_kill(self) -> None:
        self.produce("durable", partition=0, value=b"1")
        self.kafka.stop()
        self.kafka.start()
        self.produce("durable", partition=0, value=b"2")
        self.kafka.kill_node(1)
        self.assertFalse(self.kafka.node(1).running())
        self.kafka.start_node(1)
        self.assertEqual([r.value for r in self.kafka.consume("durable")], [b"1", b"2"])

    def test_paused_broker_answers_once_it_is_resumed(self) -> None:
        self.produce("paused", value=b"1")
        self.kafka.pause_node(1)
        with self.assertRaisesRegex(ServerError, "no Kafka broker answers"):
            self.kafka.topics(timeout=1)
        self.kafka.resume_node(1)
        self.assertEqual(len(self.kafka.consume("paused")), 1)


class ThreeNodesTest(unittest.TestCase):
    def test_writes_continue_without_the_leader(self) -> None:
        with KafkaCluster(3) as kafka:
            kafka.create_topic("t")
            producer = library().Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all",
                                           "log_level": 0})
            for value in (b"1", b"2"):
                producer.produce("t", value=value)
                self.assertEqual(producer.flush(120), 0)
                if value == b"1":
                    killed = kafka.leader("t")
                    kafka.kill_node(killed)
            wait_until(lambda: kafka.leader("t") not in (-1, killed), 60, "another leader")
            kafka.start_node(killed)
            kafka.wait_in_sync()
            self.assertEqual([r.value for r in kafka.consume("t")], [b"1", b"2"])
        self.assertFalse(kafka.node(killed).folder.parent.exists())


if __name__ == "__main__":
    unittest.main()
