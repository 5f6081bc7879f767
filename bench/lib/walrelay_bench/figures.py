"""Labels of the measured figures."""

# The summary of a report: workload, figure, label, and whether a higher value is better.
HEADLINES = (
    ("drain", "events_per_s", "drain of a backlog, events/s", True),
    ("drain", "cpu_s_per_million", "drain, CPU s per million events", False),
    ("drain", "peak_rss_mib", "drain, peak RSS, MiB", False),
    ("transaction", "peak_rss_mib", "one large transaction, peak RSS, MiB", False),
    ("steady-1000", "consumer_p50", "1,000 events/s, INSERT → consumer, p50, ms", False),
    ("steady-1000", "consumer_p99", "1,000 events/s, INSERT → consumer, p99, ms", False),
    ("steady-1000", "cpu_percent", "1,000 events/s, CPU, % of a core", False),
    ("start", "first_event_ms", "start → first record, ms", False),
)

# What decides whether one build is slower than another, and whether a workload has enough rounds: figure, and whether a
# higher value is better. By the first part of the workload's name.
DECISIVE = {
    "drain": (("events_per_s", True), ("cpu_s_per_million", False)),
    "transaction": (("events_per_s", True), ("cpu_s_per_million", False)),
    "steady": (("consumer_p50", False), ("consumer_p99", False), ("cpu_s_per_million", False)),
    "topics": (("new_topics_s", False), ("known_topics_s", False)),
    "recover": (("events_per_s", True), ("cpu_s_per_million", False)),
    "start": (("first_event_ms", False),),
}

# The lines of a table. A table contains the lines for which the workload's runs have a figure.
FIGURES = (
    ("first_event_ms", "first record after, ms"),
    ("new_topics_s", "until all is confirmed, with new topics, s"),
    ("known_topics_s", "until all is confirmed, with topics that exist, s"),
    ("events_per_s", "events/s"),
    ("events_per_s_running", "events/s from the first record on"),
    ("consumer_p50", "INSERT → consumer, ms: p50"),
    ("consumer_p90", "INSERT → consumer, ms: p90"),
    ("consumer_p99", "INSERT → consumer, ms: p99"),
    ("consumer_p999", "INSERT → consumer, ms: p99.9"),
    ("append_p50", "INSERT → broker's append, ms: p50"),
    ("append_p90", "INSERT → broker's append, ms: p90"),
    ("append_p99", "INSERT → broker's append, ms: p99"),
    ("append_p999", "INSERT → broker's append, ms: p99.9"),
    ("commit_p50", "the INSERT itself, ms: p50"),
    ("commit_p99", "the INSERT itself, ms: p99"),
    ("kills", "kills"),
    ("recovery_s", "time until records flow again, s"),
    ("recovery_max_s", "longest, s"),
    ("lost", "events lost"),
    ("duplicated", "events repeated"),
    ("disordered", "out of order within their key"),
    ("rows_left", "rows in the table at the end"),
    ("cpu_s_per_million", "CPU s per million events"),
    ("cpu_percent", "CPU, % of a core"),
    ("postgres_cpu_s_per_million", "Postgres' CPU s per million events"),
    ("kafka_cpu_s_per_million", "Kafka's CPU s per million events"),
    ("peak_rss_mib", "peak RSS, MiB"),
    ("steady_rss_mib", "steady RSS, MiB"),
    ("bytes_from_postgres_per_event", "bytes from Postgres per event"),
    ("bytes_to_kafka_per_event", "bytes to Kafka per event"),
    ("wal_written_mib", "WAL written, MiB"),
    ("wal_retained_mib", "WAL retained, maximum, MiB"),
    ("wal_retained_end_mib", "WAL retained at the end, MiB"),
    ("foreign_cpu_percent", "used by other processes or the host, % of all cores"),
)


def decisive(workload: str) -> tuple[tuple[str, bool], ...]:
    return DECISIVE.get(workload.split("-")[0], ())
