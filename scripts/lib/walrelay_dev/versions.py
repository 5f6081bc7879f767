"""The versions of the servers that the tests, the benchmark and `scripts` get from Maven Central.

tests/lint/versions_test.py compares the pages that name one of them.
"""

POSTGRES_VERSIONS = {13: "13.23.0", 14: "14.24.0", 15: "15.19.0", 16: "16.15.0", 17: "17.11.0", 18: "18.6.0"}
KAFKA_VERSION = "4.4.0"
DEBEZIUM_VERSION = "3.7.0.Final"
OLDER_DEBEZIUM_VERSION = "3.6.0.Final"  # of the differential test with format.debezium_version = "3.6"
