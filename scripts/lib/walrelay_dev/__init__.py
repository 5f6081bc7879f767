"""Real servers for development, tests and benchmarks.

This package starts Postgres and Kafka on loopback, from Debian's packages and Maven Central, as an
unprivileged user. It needs Debian 12's /usr/bin/python3 and the standard library; only
`kafka_client` needs another package, and reports it if it is missing.

To use it, put scripts/lib on the path: scripts/dev python does.

    from walrelay_dev.postgres import Postgres
    from walrelay_dev.kafka import KafkaCluster
"""
