"""Real servers for development, tests and benchmarks.

Everything here starts Postgres and Kafka on loopback, from Debian's packages and Maven Central, as
an unprivileged account. It needs Debian 12's /usr/bin/python3 and its standard library; only
`kafka_client` needs one more package, and says so when it is missing.

To use it, put scripts/lib on sys.path:

    from walrelay_dev.postgres import Postgres
    from walrelay_dev.kafka import KafkaCluster
"""
