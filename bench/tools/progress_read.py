#!/usr/bin/python3
"""Measures how long an exactly-once relay takes to start with many markers of transactions in its progress topic.

    scripts/dev python bench/tools/progress_read.py [--markers 1000000,5000000,15000000]

The topic gets copies of a commit marker, as compaction leaves them for a day where delete.retention.ms is not set: while
the broker is stopped, they are appended to its segment, with a time some hours ago. Then a relay publishes a row, so that
the newest versions of the record are behind the markers, and the time of the next start is measured.
"""

import argparse
import struct
import tempfile
import time
from pathlib import Path

from walrelay_dev.kafka import KafkaCluster
from walrelay_dev.postgres import Postgres
from walrelay_dev.process import wait_until
from walrelay_test.database import Database
from walrelay_test.outbox import Outbox
from walrelay_test.relay_process import RelayProcess

_TOPIC = "walrelay.progress.markers"
# A batch has its first offset at 0, its length without these two at 8, its CRC at 17, attributes at 21, its last offset
# relative to the first one at 23, its first and last time at 27, and producer and records behind them.
_HEADER = 61
_CONTROL = 0x20
_HOUR_MS = 3_600_000
_STEP_HOURS = 6  # more than the markers of one step take
_CHUNK = 1 << 24
_SAME_TIME = 100  # markers; they are a millisecond apart


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def moved(batch: bytes, millis: int) -> bytes:
    """The batch with later times."""
    first, last = (time + millis for time in struct.unpack_from(">qq", batch, 27))
    content = batch[21:27] + struct.pack(">qq", first, last) + batch[43:]
    return batch[:17] + struct.pack(">I", crc32c(content)) + content


def batches(data: bytes) -> list[bytes]:
    found, position = [], 0
    while position + _HEADER <= len(data):
        length = struct.unpack_from(">i", data, position + 8)[0] + 12
        if length <= 12:
            break  # the rest is preallocated
        found.append(data[position:position + length])
        position += length
    return found


class Segment:
    """The only segment of the topic; the broker is stopped while it is changed."""

    def __init__(self, folder: Path) -> None:
        self._log, = folder.glob("*.log")
        self._done = 0  # bytes that were changed
        self._hours = 48

    def change(self, markers: int) -> None:
        """Makes the new batches older, but less than those before, and appends copies of the last marker."""
        with self._log.open("r+b") as file:
            file.seek(self._done)
            new = [moved(each, -self._hours * _HOUR_MS) for each in batches(file.read())]
            self._hours -= _STEP_HOURS
            file.seek(self._done)
            file.write(b"".join(new))
            marker = next(each for each in reversed(new) if struct.unpack_from(">h", each, 21)[0] & _CONTROL)
            offset, last = struct.unpack_from(">q", new[-1], 0)[0], struct.unpack_from(">i", new[-1], 23)[0]
            chunk = bytearray()
            for number in range(markers):
                if number % _SAME_TIME == 0:  # the broker has an index of times
                    marker = moved(marker, _SAME_TIME)
                chunk += struct.pack(">q", offset + last + 1 + number) + marker[8:]
                if len(chunk) > _CHUNK:
                    file.write(chunk)
                    chunk.clear()
            file.write(chunk)
            file.truncate()
            self._done = file.tell()
        for ending in ("index", "timeindex", "txnindex", "snapshot"):
            for index in self._log.parent.glob(f"*.{ending}"):
                index.unlink()


def start(relay: RelayProcess) -> str:
    begun = time.monotonic()
    relay.start()
    relay.wait_ready(600)
    seconds = time.monotonic() - begun
    read = relay.wait_for_log("progress_read")
    return (f"{seconds:6.2f} s; offsets {read['from_offset']:,} to {read['end_offset']:,}, {read['records']} records, "
            f"{read['fetched_bytes']:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markers", default="1000000,5000000,15000000")
    options = parser.parse_args()
    # Nothing is compacted: the cleaner would remove the markers.
    with tempfile.TemporaryDirectory() as folder, Postgres(15, settings={"wal_level": "logical"}) as postgres, \
            KafkaCluster(heap_mb=1024, properties={"log.cleaner.enable": "false"}) as kafka:
        Path(folder).chmod(0o755)
        database = Database.create(postgres, "markers")
        outbox = Outbox(database, "markers")
        database.execute("CREATE PUBLICATION walrelay FOR TABLE outbox WITH (publish = 'insert')")
        relay = RelayProcess(Path(folder) / "relay", {
            "source.dsn": database.dsn, "source.create_slot": True, "kafka.bootstrap_servers": kafka.bootstrap,
            "http.listen": "127.0.0.1:0", "pipeline.id": "markers", "pipeline.mode": "exactly_once",
            "pipeline.progress": "required", "log.level": "debug"})
        kafka.create_topic(_TOPIC, config={"cleanup.policy": "compact", "segment.bytes": 2**31 - 1,
                                           "segment.ms": 2**31 - 1})
        published = 0

        def publish() -> None:
            nonlocal published
            published += 1
            outbox.insert(published)
            end = database.log_end()
            wait_until(lambda: database.confirmed("walrelay") >= end, 60, "the slot to be confirmed")
            relay.stop()

        relay.start()
        relay.wait_ready()
        publish()
        segment = Segment(kafka.directory / "node1" / "data" / f"{_TOPIC}-0")
        markers = 0
        for total in sorted(int(each) for each in options.markers.split(",")):
            kafka.stop()
            segment.change(total - markers)
            kafka.start()
            markers = total
            print(f"{markers:10,} markers, none is followed by a record: {start(relay)}", flush=True)
            publish()
            kafka.stop()
            segment.change(0)
            kafka.start()
            print(f"{markers:10,} markers before the record:             {start(relay)}", flush=True)
            publish()
            print(f"{markers:10,} markers, and a second start:           {start(relay)}", flush=True)
            publish()


if __name__ == "__main__":
    main()
