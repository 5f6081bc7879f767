#!/usr/bin/python3
"""The programs of docs/examples, each where its tools are installed: the event is in the transaction of the order, and a
consumer applies each event exactly once."""

import importlib.util
import json
import re
import shutil
import signal
import subprocess
import unittest
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
from walrelay_dev.paths import REPOSITORY
from walrelay_dev.patience import patient
from walrelay_test.relay_config import relay_environment
from walrelay_test.servers import test_folder
from walrelay_test.testcase import IntegrationTest, main, relay_program, wait_until

EXAMPLES = REPOSITORY / "docs" / "examples"
GROUP = "customer-totals"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"  # as in walrelay_dev.maven


def require_program(*names: str) -> None:
    for name in names:
        if shutil.which(name) is None:
            raise unittest.SkipTest(f"{name} is not installed")


def build(*command: object, folder: Path, failed_download: str) -> str:
    """Runs a command that downloads and builds. If the output has the words of a failed download, the test is skipped."""
    run = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=patient(600), env=relay_environment())
    if run.returncode != 0 and re.search(failed_download, run.stdout):
        raise unittest.SkipTest(f"{command[0]} cannot download: {run.stdout[-300:]}")
    if run.returncode != 0:
        raise AssertionError(run.stdout)
    return run.stdout


def maven(example: str) -> Path:
    """A copy of a Maven project, compiled, with its dependencies in the folder lib."""
    require_program("javac", "mvn")
    folder = shutil.copytree(EXAMPLES / example, test_folder() / example)
    build("mvn", "-q", "-B", "compile", f"{_COPY}:copy-dependencies", "-DoutputDirectory=lib", folder=folder,
          failed_download="Could not (resolve|transfer|find)")
    return folder


class ExampleTest(IntegrationTest):
    def uri(self, scheme: str = "postgresql", user: str = "postgres@") -> str:
        return f"{scheme}://{user}127.0.0.1:{self.postgres.port}/{self.name}"

    def jdbc(self) -> str:
        return self.uri("jdbc:postgresql", user="") + "?user=postgres"

    def environment(self) -> dict[str, str]:
        return relay_environment() | {
            "DATABASE_URL": self.uri() + "?sslmode=disable", "JDBC_URL": self.jdbc(), "KAFKA": self.kafka.bootstrap,
            "CONNECTION_STRING": f"Host=127.0.0.1;Port={self.postgres.port};Username=postgres;Database={self.name}"}


class InsertTest(ExampleTest):
    def prepare(self) -> None:
        subprocess.run([relay_program(), "setup", "--apply", "--create-table", "--dsn", self.database.dsn, "--slot",
                        self.slot], cwd="/", check=True, capture_output=True, env=relay_environment())
        self.postgres.psql((EXAMPLES / "insert.sql").read_text(), self.name)

    def expect_order(self, *command: object) -> None:
        """The program inserts order 2 and its event in one transaction."""
        run = subprocess.run([str(part) for part in (*command, "customer-8", 1250)], cwd="/", capture_output=True,
                             text=True, timeout=patient(120), env=self.environment())
        self.assertEqual((run.returncode, run.stdout.strip()), (0, "2"), run.stderr)
        self.expect_event(2, "customer-8", 1250)

    def expect_event(self, order: int, customer: str, total: int) -> None:
        (row,) = self.sql(
            "SELECT aggregate_type, aggregate_id, event_type, payload, orders.customer, orders.total "
            "FROM outbox JOIN orders ON orders.xmin = outbox.xmin WHERE orders.id = %s", order)
        self.assertEqual(row, ("order", customer, "OrderPlaced", {"order": order, "customer": customer, "total": total},
                               customer, total))

    def test_sql(self) -> None:
        self.expect_event(1, "customer-7", 4200)

    def test_python(self) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise unittest.SkipTest("psycopg is not installed: apt-get install python3-psycopg")
        self.expect_order("/usr/bin/python3", EXAMPLES / "insert.py")

    def test_java(self) -> None:
        folder = maven("insert-java")
        self.expect_order("java", "-cp", f"{folder}/target/classes:{folder}/lib/*", "shop.PlaceOrder")

    def test_go(self) -> None:
        require_program("go")
        folder, program = EXAMPLES / "insert-go", test_folder() / "insert-go"
        build("go", "build", "-o", program, folder=folder, failed_download="dial tcp|proxy|toolchain not available")
        self.assertEqual(subprocess.run(["gofmt", "-l", "."], cwd=folder, capture_output=True, text=True).stdout, "")
        self.expect_order(program)

    def test_typescript(self) -> None:
        require_program("node", "npm")
        folder = shutil.copytree(EXAMPLES / "insert-typescript", test_folder() / "insert-typescript")
        build("npm", "install", "--no-audit", "--no-fund", folder=folder, failed_download="network|ENOTFOUND|ETIMEDOUT|E403")
        build("npm", "run", "--silent", "build", folder=folder, failed_download="^$")
        self.expect_order("node", folder / "insert.js")

    def test_dotnet(self) -> None:
        require_program("dotnet")
        folder = shutil.copytree(EXAMPLES / "insert-dotnet", test_folder() / "insert-dotnet")
        build("dotnet", "build", "-o", folder / "out", folder=folder, failed_download="NU1301")
        self.expect_order("dotnet", folder / "out" / "insert.dll")


_KILLED_PYTHON = """
import os, signal, sys
import consumer

class Killed:
    '''A consumer whose process is killed when it commits an offset for the n-th time.'''
    def __init__(self, real, commits):
        self.poll, self.real, self.commits = real.poll, real, commits
    def commit(self, *arguments, **named):
        self.commits -= 1
        if self.commits == 0:
            self.real.close()  # leaves the group, so that the next process need not wait; commits nothing
            os.kill(os.getpid(), signal.SIGKILL)
        self.real.commit(*arguments, **named)

consumer.run(Killed(consumer.new_consumer(sys.argv[1]), int(sys.argv[2])), consumer.new_database())
"""

_KILLED_JAVA = """
package inbox;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A consumer whose process is killed when it commits an offset for the n-th time. */
public class Killed extends KafkaConsumer<String, String> {
  private int commits;

  Killed(int commits) {
    super(InboxConsumer.properties());
    this.commits = commits;
  }

  @Override
  public void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
    if (--commits == 0) {
      close();  // leaves the group, so that the next process need not wait; commits nothing
      Runtime.getRuntime().halt(137);
    }
    super.commitSync(offsets);
  }

  public static void main(String[] arguments) throws Exception {
    try (var database = InboxConsumer.connect(); var consumer = new Killed(Integer.parseInt(arguments[1]))) {
      consumer.subscribe(List.of(arguments[0]));
      InboxConsumer.run(consumer, database);
    }
  }
}
"""


class ConsumerTest(ExampleTest):
    """Events of three customers. The totals are right only if each event is applied exactly once."""

    def add_events(self, *totals: int) -> None:
        start = self.database.value("SELECT count(*) FROM outbox")
        for number, total in enumerate(totals, start=start):
            self.outbox.insert(number, key=f"customer-{number % 3}", payload=json.dumps({"total": total}))
        self.settle()

    def totals(self) -> dict[str, int]:
        if self.database.value("SELECT to_regclass('customer_totals')") is None:
            return {}
        return dict(self.sql("SELECT customer, total FROM customer_totals"))

    def expected(self) -> dict[str, int]:
        return dict(self.sql("SELECT aggregate_id, sum((payload ->> 'total')::int)::bigint FROM outbox GROUP BY 1"))

    def prepare(self) -> None:
        super().prepare()
        self.group = confluent_kafka.Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": GROUP})
        self.addCleanup(self.group.close)

    def offset(self) -> int:
        """The group's offset: how many records it has committed."""
        return self.group.committed([confluent_kafka.TopicPartition(self.topic, 0)], 30)[0].offset

    def rewind(self) -> None:
        """Sets the group's offset to 0, which Kafka allows when the last member has left or timed out."""
        def is_set() -> bool:
            try:
                self.group.commit(offsets=[confluent_kafka.TopicPartition(self.topic, 0, 0)], asynchronous=False)
            except confluent_kafka.KafkaException:
                return False
            return self.offset() == 0
        wait_until(is_set, 60, "the group's offset to be 0")

    def run_killed(self, commits: int) -> None:
        """The process is killed after it has committed this many transactions, before it commits the last offset."""
        before = len(self.sql("SELECT 1 FROM inbox")) if self.totals() else 0
        process = subprocess.Popen(self.killed(commits), env=self.environment(), cwd="/")
        self.addCleanup(process.kill)
        self.assertIn(process.wait(60), (-9, 137))
        self.assertGreaterEqual(len(self.sql("SELECT 1 FROM inbox")), before + commits - 1)

    def run_to_the_end(self) -> None:
        """Runs the example as it is until it has committed the offset of the last record."""
        end = self.database.value("SELECT count(*) FROM outbox")
        process = subprocess.Popen(self.command(), env=self.environment(), cwd="/", stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: process.poll() is not None or self.offset() == end, 60, "the last offset to be committed")
            self.assertIsNone(process.poll(), "the consumer ended")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)

    def check_effects(self, command: Callable[[], list[str]], killed: Callable[[int], list[str]]) -> None:
        self.command, self.killed = command, killed
        self.start_relay()
        self.add_events(*range(1, 13))
        self.run_killed(4)
        self.assertEqual(self.offset(), 3)  # the fourth is applied, and will be repeated
        self.run_killed(3)
        self.run_to_the_end()
        self.assertEqual(self.totals(), self.expected())
        self.rewind()
        self.add_events(100)
        self.run_to_the_end()
        self.assertEqual(self.totals(), self.expected())

    def test_python_applies_each_event_once(self) -> None:
        def killed(commits: int) -> list[str]:
            return ["/usr/bin/env", f"PYTHONPATH={EXAMPLES}", "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-c",
                    _KILLED_PYTHON, self.topic, str(commits)]
        self.check_effects(lambda: ["/usr/bin/python3", str(EXAMPLES / "consumer.py"), self.topic], killed)

    def test_java_applies_each_event_once(self) -> None:
        folder = maven("consumer-java")
        (folder / "Killed.java").write_text(_KILLED_JAVA)
        classes = f"{folder}/target/classes:{folder}/lib/*"
        subprocess.run(["javac", "-cp", classes, "-d", "target/classes", "Killed.java"], cwd=folder, check=True)
        run = ["java", "-cp", classes]
        self.check_effects(lambda: [*run, "inbox.InboxConsumer", self.topic],
                           lambda commits: [*run, "inbox.Killed", self.topic, str(commits)])


if __name__ == "__main__":
    main()
