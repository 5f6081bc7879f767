#!/usr/bin/python3
"""Draws the pictures of docs/architecture.md from the source tree; `scripts/dev docs` calls it.

  layers.svg       the folders of src/ and the #includes between them
  event-path.svg   the path of an event to Kafka, and of its acknowledgement back to the slot

Fails if a step of the path names a file or a class that does not exist, or if the folders described below are
not those of src/.

  generate.py [FOLDER]   writes both pictures; default: next to this script
"""

import itertools
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from walrelay_dev.layers import LAYERS, PURE_LAYERS, layer_of

ROOT = Path(__file__).resolve().parents[2]


class Mismatch(Exception):
    """A table below does not fit the source tree."""


# The steps of an event's path: name, file, class, what it does. The name is the place in the picture.
STEPS = [
    ("source", "src/postgres/pg_replication_source.h", "PgReplicationSource",
     "the replication connection: reads CopyData, sends status updates"),
    ("session", "src/relay/session.h", "Session",
     "reads while the in-flight window has room; otherwise does not read"),
    ("pipeline", "src/relay/pipeline.h", "Pipeline", "handles a message completely or not at all"),
    ("decoder", "src/pgoutput/decoder.h", "Decoder", "bytes to a message"),
    ("order", "src/stream/transaction_order_check.h", "TransactionOrderCheck", "order: BEGIN, rows, COMMIT"),
    ("router", "src/route/router.h", "Router", "row to topic, key, value, headers"),
    ("producer", "src/sinks/kafka/producer/kafka_producer.h", "KafkaProducer",
     "hands records to librdkafka, receives its delivery reports"),
    ("sender", "src/publish/record_sender.h", "RecordSender", "takes each delivery report"),
    ("tracker", "src/stream/ack_tracker.h", "AckTracker", "frontier of complete transactions"),
    ("feedback", "src/stream/feedback.h", "Feedback", "decides when an update is due"),
    ("loop", "src/relay/event_loop.h", "EventLoop", "one thread, which sleeps in ppoll()"),
]

# The folders of src/, with the text in their boxes.
FOLDERS = {
    "cli": "main, and one file per command",
    "recover": "replaces a lost slot",
    "dryrun": "print, verify",
    "republish": "republish, retry",
    "demo": "walrelay demo",
    "doctor": "doctor, check",
    "daemon": "pipelines, reload",
    "runner": "assembles a pipeline",
    "admin": "pages, resume",
    "http": "server and client",
    "relay": "streaming, failures",
    "status": "report, history",
    "sinks": "kinds of sinks",
    "sinks/kafka/mock": "brokers for demo",
    "sinks/kafka/factory": "makes sinks",
    "sinks/kafka/diagnosis": "doctor's checks",
    "sinks/kafka/admin": "settings, probes",
    "sinks/kafka/producer": "librdkafka",
    "sinks/kafka/topics": "readers, creation",
    "sinks/kafka/client": "logins, errors",
    "setup": "roles, publication",
    "prune": "deletes published rows",
    "postgres": "libpq",
    "auth": "tokens for Kafka",
    "metrics": "prometheus-cpp",
    "publish": "row to sink",
    "debezium": "connector's options",
    "outbox": "columns, rows",
    "config": "TOML, flags",
    "route": "row to record",
    "encode": "values to bytes",
    "slot": "health of the slot",
    "stream": "rules of a stream",
    "pgoutput": "protocol messages",
    "findings": "results of checks",
    "base": "errors, logging, checks, small containers",
}

# --- the source tree


def includes() -> dict[str, set[str]]:
    """For each folder of src/ the other folders that its files include."""
    found: dict[str, set[str]] = {}
    for name in LAYERS:
        files = [path for path in (ROOT / "src" / name).glob("*") if path.suffix in {".h", ".cc", ".def"}]
        included = {include for path in files
                    for include in re.findall(r'^\s*#\s*include\s+"([^"]+)', path.read_text(), re.MULTILINE)}
        targets = {layer for include in included if (layer := layer_of(include))}
        found[name] = targets - {name}
        if not any(include.startswith("walrelay/") for include in included) or name != LAYERS[0] and not targets:
            raise Mismatch(f"docs/images/generate.py: src/{name} does not include {LAYERS[0]} and include/walrelay, "
                           "as layers.svg claims of every folder")
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the edges that follow from others: the transitive reduction."""
    def below(name: str) -> set[str]:
        return set().union(*({target} | below(target) for target in graph[name]))
    return {name: {target for target in targets
                   if not any(target in below(other) for other in targets - {target})}
            for name, targets in graph.items()}


def check_folders() -> None:
    if set(FOLDERS) != set(LAYERS):
        raise Mismatch(f"docs/images/generate.py: FOLDERS and src/ differ: {set(FOLDERS) ^ set(LAYERS)}")


def check_steps() -> None:
    for _, file, name, _ in STEPS:
        path = ROOT / file
        if not path.is_file():
            raise Mismatch(f"docs/images/generate.py: STEPS: {file} does not exist")
        if not re.search(rf"^class {name}\b[^;]*\{{", path.read_text(), re.MULTILINE):
            raise Mismatch(f"docs/images/generate.py: STEPS: {file} defines no class {name}")


# --- SVG

INK, GREY, LINE, PAPER = "#1c2733", "#5a6876", "#7b8a99", "#ffffff"
PURE, EDGE, PLAIN, OUTSIDE = "#e3f1e4", "#fdebd3", "#e6eef8", "#eceff2"
STYLE = f"""\
text {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: {INK}; }}
.name {{ font-size: 14px; font-weight: 600; }}
.text {{ font-size: 12px; fill: {GREY}; }}
.file {{ font-size: 11.5px; fill: {GREY}; font-family: ui-monospace, "DejaVu Sans Mono", monospace; }}
.flow {{ font-size: 12px; }}
.line {{ fill: none; stroke: {LINE}; stroke-width: 1.4; }}
.back {{ fill: none; stroke: #a3552a; stroke-width: 1.6; }}
.ahead {{ fill: none; stroke: #22618f; stroke-width: 1.6; }}"""


@dataclass
class Picture:
    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, fill: str, stroke: str = LINE,
            dashed: bool = False, radius: int = 6) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
                          f'fill="{fill}" stroke="{stroke}"{dash}/>')

    def text(self, x: float, y: float, style: str, text: str, anchor: str = "start") -> None:
        self.parts.append(f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def path(self, style: str, data: str, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self.parts.append(f'<path class="{style}" d="{data}" marker-end="url(#{style})"{dash}/>')

    def svg(self) -> str:
        markers = "".join(
            f'<marker id="{style}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="{colour}"/></marker>'
            for style, colour in (("line", LINE), ("ahead", "#22618f"), ("back", "#a3552a")))
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" role="img">\n'
                f"<!-- Generated by docs/images/generate.py; a test compares the two. -->\n"
                f"<title>{escape(self.title)}</title>\n<style>\n{STYLE}\n</style>\n<defs>{markers}</defs>\n"
                f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n')


# --- layers.svg

BOX, TALL, LANE, GAP, CHANNEL = 142, 46, 14, 12, 74
WIDTH, MARGIN = 1140, 24


def rows_of(edges: dict[str, set[str]]) -> list[list[str]]:
    """A row per level: each folder is one row below the lowest folder that includes it."""
    level: dict[str, int] = {}
    for name in sorted(edges, key=LAYERS.index, reverse=True):
        level[name] = 1 + max((level[user] for user in level if name in edges[user]), default=-1)
    return [[name for name in edges if level[name] == row] for row in range(max(level.values()) + 1)]


def with_lanes(rows: list[list[str]], edges: dict[str, set[str]]) -> tuple[list[list[str]], set[tuple[str, str]]]:
    """An edge that passes a row gets a lane through it, shared by the edges of the same folder."""
    rows = [list(row) for row in rows]
    row_of = {name: index for index, row in enumerate(rows) for name in row}
    segments = set()
    for name, targets in edges.items():
        for target in targets:
            last = name
            for row in range(row_of[name] + 1, row_of[target]):
                lane = f"{name}|{row}"
                if lane not in rows[row]:
                    rows[row].append(lane)
                segments.add((last, lane))
                last = lane
            segments.add((last, target))
    return rows, segments


def crossings(rows: list[list[str]], segments: set[tuple[str, str]]) -> tuple[int, float]:
    place = {name: index / (len(names) - 1) if len(names) > 1 else 0.5
             for names in rows for index, name in enumerate(names)}
    row_of = {name: row for row, names in enumerate(rows) for name in names}
    lines: list[list[tuple[float, float]]] = [[] for _ in rows]
    for a, b in segments:
        lines[row_of[a]].append((place[a], place[b]))
    count = sum((a - c) * (b - d) < 0 for row in lines for (a, b), (c, d) in itertools.combinations(row, 2))
    return count, math.fsum(abs(a - b) for row in lines for a, b in row)


def ordered(rows: list[list[str]], segments: set[tuple[str, str]]) -> list[list[str]]:
    """The order within each row with the fewest crossings, then the shortest edges, by local search."""
    best = None
    top = sorted(rows[0])
    for turn in range(len(top)):
        current = [top[turn:] + top[:turn]] + [sorted(row) for row in rows[1:]]
        # A first order of each row by the mean place of what is above.
        for above, row in zip(current, current[1:]):
            row.sort(key=lambda name: sum(above.index(a) for a, b in segments if b == name) /
                     max(1, sum(b == name for _, b in segments)))
        cost = crossings(current, segments)
        improved = True
        while improved:
            improved = False
            for row in current:
                for i, j in itertools.combinations(range(len(row)), 2):
                    row[i], row[j] = row[j], row[i]
                    if (new := crossings(current, segments)) < cost:
                        cost, improved = new, True
                    else:
                        row[i], row[j] = row[j], row[i]
        if best is None or cost < best[0]:
            best = cost, [list(row) for row in current]
    return best[1]


def half(name: str) -> float:
    return (LANE if "|" in name else BOX) / 2


def spread(wanted: list[float], halves: list[float]) -> list[float]:
    """The places closest to the wanted ones that keep order and distance: isotonic regression."""
    offsets = [0.0]
    for left, right in itertools.pairwise(halves):
        offsets.append(offsets[-1] + left + right + GAP)
    blocks: list[list[float]] = []
    for value, offset in zip(wanted, offsets):
        blocks.append([value - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            value, count = blocks.pop()
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + value * count) / (blocks[-1][1] + count),
                          blocks[-1][1] + count]
    if 2 * MARGIN + halves[0] + halves[-1] + offsets[-1] > WIDTH:
        raise Mismatch("docs/images/generate.py: a row of layers.svg is too full: increase WIDTH")
    low, high = MARGIN + halves[0], WIDTH - MARGIN - halves[-1] - offsets[-1]
    flat = [min(max(value, low), high) for value, count in blocks for _ in range(int(count))]
    return [value + offset for value, offset in zip(flat, offsets)]


def columns(rows: list[list[str]], segments: set[tuple[str, str]]) -> dict[str, float]:
    """The horizontal centre of each box and lane: close to the mean of its neighbours."""
    x = {}
    for row in rows:
        step = (WIDTH - 2 * MARGIN) / len(row)
        x |= {name: MARGIN + step * (index + 0.5) for index, name in enumerate(row)}
    for _ in range(40):
        for index, row in enumerate(rows):
            if index == 0 and sum(2 * half(name) + GAP for name in row) > 0.7 * WIDTH:
                continue  # a full row stays evenly spread
            near = [[x[b] for a, b in sorted(segments) if a == name] + [x[a] for a, b in sorted(segments) if b == name]
                    for name in row]
            wanted = [math.fsum(each) / len(each) if each else x[name] for name, each in zip(row, near)]
            x |= dict(zip(row, spread(wanted, [half(name) for name in row])))
    return {name: round(value) for name, value in x.items()}


def curve(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (to_y - y) * 0.5
    return f"C{x:g},{y + bend:g} {to_x:g},{to_y - bend:g} {to_x:g},{to_y:g}"


def ports(name: str, others: Iterable[str], x: dict[str, float]) -> dict[str, float]:
    """Where the edges to `others` touch the box, from left to right."""
    others = sorted(others, key=lambda other: (x[other], other))
    room = min(2 * half(name) - 24, 22 * (len(others) - 1))
    return {other: x[name] + (index / max(1, len(others) - 1) - 0.5) * room if len(others) > 1 else x[name]
            for index, other in enumerate(others)}


def layers_picture() -> str:
    check_folders()
    graph = reduced(includes())
    bottom, top = LAYERS[0], LAYERS[-1]
    edges = {name: targets - {bottom} for name, targets in graph.items() if name not in {bottom, top}}
    rows, segments = with_lanes(rows_of(edges), edges)
    rows = ordered(rows, segments)
    x = columns(rows, segments)
    y = {name: MARGIN + TALL + 40 + row * (TALL + CHANNEL) for row, names in enumerate(rows) for name in names}
    foot = max(y.values()) + TALL + 34
    picture = Picture(WIDTH, int(foot + 2 * TALL + 80), "The folders of src/ and the includes between them")

    def folder(name: str, left: float, above: float, width: float) -> None:
        fill = PURE if name in PURE_LAYERS else EDGE if name.startswith(("postgres", "sinks/kafka/", "http")) else PLAIN
        picture.box(left, above, width, TALL, fill)
        shown = f"src/{name}" if name.count("/") < 2 else "/".join(name.split("/")[-2:])
        picture.text(left + width / 2, above + 19, "name", shown, "middle")
        picture.text(left + width / 2, above + 36, "text", FOLDERS[name], "middle")

    leaving = {name: ports(name, [b for a, b in segments if a == name], x) for name in x}
    arriving = {name: ports(name, [a for a, b in segments if b == name], x) for name in x}
    for name in rows[0]:
        picture.path("line", f"M{x[name]:g},{MARGIN + TALL} L{x[name]:g},{y[name]:g}")
    for name, targets in sorted(edges.items()):
        for target in sorted(targets, key=lambda each: x[each]):
            via = [name] + [f"{name}|{row}" for row in range(1, len(rows))
                            if y[name] < MARGIN + TALL + 40 + row * (TALL + CHANNEL) < y[target]] + [target]
            data = ""
            for one, two in itertools.pairwise(via):
                start = leaving[one][two] if "|" not in one else x[one]
                end = arriving[two][one] if "|" not in two else x[two]
                data += f"M{start:g},{y[one] + TALL:g} " if not data else f" L{start:g},{y[one] + TALL:g} "
                data += curve(start, y[one] + TALL, end, y[two])
            picture.path("line", data)
    folder(top, MARGIN, MARGIN, WIDTH - 2 * MARGIN)
    for row in rows:
        for name in row:
            if "|" not in name:
                folder(name, x[name] - BOX / 2, y[name], BOX)
    picture.text(WIDTH / 2, foot - 10, "text", "every folder above includes both:", "middle")
    folder(bottom, MARGIN, foot, WIDTH - 2 * MARGIN)
    picture.box(MARGIN, foot + TALL + 6, WIDTH - 2 * MARGIN, TALL, PLAIN)
    picture.text(WIDTH / 2, foot + TALL + 25, "name", "include/walrelay", "middle")
    picture.text(WIDTH / 2, foot + TALL + 42, "text",
                 "contracts: Lsn, Clock, Record, ReplicationSource, Sink, Config, errors", "middle")
    legend = foot + 2 * TALL + 28
    for left, fill, text in ((MARGIN, PURE, "pure: no I/O, no clock, no threads, no logging"),
                             (MARGIN + 330, EDGE, "network I/O"), (MARGIN + 470, PLAIN, "other")):
        picture.box(left, legend, 18, 14, fill, radius=3)
        picture.text(left + 25, legend + 11.5, "text", text)
    picture.path("line", f"M{MARGIN:g},{legend + 31:g} L{MARGIN + 18:g},{legend + 31:g}")
    picture.text(MARGIN + 25, legend + 35.5, "text",
                 "A → B: files of A include files of B. An arrow that follows from others is omitted.")
    return picture.svg()


# --- event-path.svg


def event_path_picture() -> str:
    check_steps()
    steps = {key: (file, name, text) for key, file, name, text in STEPS}
    width, left, right, wide, tall = 860, 66, 494, 300, 52
    whole = right + wide - left
    down, up = left + 40, right + 40  # the arrows of the way there and back
    height = 90  # of a row, with the arrow below it
    row = [20 + index * height for index in range(8)]
    for index in range(1, 8):
        row[index] += 40  # the head of the thread's frame
    for index in range(3, 8):
        row[index] += 52  # the head of the pipeline's frame
    for index in range(6, 8):
        row[index] += 16
    row[7] += 30
    picture = Picture(width, row[7] + tall + 20, "The path of an event, and of its acknowledgement")

    def draw(key: str, x: float, y: float, box: float, fill: str) -> None:
        file, name, what = steps[key]
        picture.box(x, y, box, tall, fill)
        picture.text(x + 14, y + 22, "name", name)
        picture.text(x + box - 14, y + 22, "file", str(Path(file).parent), "end")
        picture.text(x + 14, y + 41, "text", what)

    def outside(y: float, name: str, one: str, two: str) -> None:
        picture.box(left, y, whole, tall, OUTSIDE)
        picture.text(width / 2, y + 31, "name", name, "middle")
        picture.text(left + 14, y + 31, "text", one)
        picture.text(right + 14, y + 31, "text", two)

    def ahead(y: float, to_y: float, text: str, text_y: float = 0) -> None:
        picture.path("ahead", f"M{down:g},{y:g} L{down:g},{to_y:g}")
        picture.text(down + 12, text_y or (y + to_y) / 2 + 4, "flow", text)

    def back(y: float, to_y: float, text: str, text_y: float = 0) -> None:
        picture.path("back", f"M{up:g},{y:g} L{up:g},{to_y:g}")
        picture.text(up + 12, text_y or (y + to_y) / 2 + 4, "flow", text)

    # The frames of the thread and of the pipeline.
    picture.box(24, row[1] - 36, width - 48, row[6] + tall + 20 - (row[1] - 36), "#f7f9fb", dashed=True)
    file, name, what = steps["loop"]
    picture.text(down + 12, row[1] - 13, "name", name)
    picture.text(down + 26 + 9 * len(name), row[1] - 13, "text", what)
    picture.text(right + wide - 14, row[1] - 13, "file", str(Path(file).parent), "end")
    picture.box(left - 18, row[3] - 50, wide + 36, row[5] + tall + 14 - (row[3] - 50), "#eef3fa")
    file, name, what = steps["pipeline"]
    picture.text(left - 4, row[3] - 30, "name", name)
    picture.text(left + wide + 4, row[3] - 30, "file", str(Path(file).parent), "end")
    picture.text(left - 4, row[3] - 12, "text", what)

    outside(row[0], "Postgres", "walsender", "slot")
    draw("source", left, row[1], whole, EDGE)
    draw("session", left, row[2], whole, PLAIN)
    for index, (one, two) in enumerate((("decoder", "feedback"), ("order", "tracker"), ("router", "sender")), 3):
        for key, x in ((one, left), (two, right)):
            pure = layer_of(steps[key][0].removeprefix("src/")) in PURE_LAYERS
            draw(key, x, row[index], wide, PURE if pure else PLAIN)
    draw("producer", left, row[6], whole, EDGE)
    outside(row[7], "Kafka", "partition leader", "all in-sync replicas have the record")

    ahead(row[0] + tall, row[1], "CopyData: XLogData, keepalives", row[0] + tall + 26)
    ahead(row[1] + tall, row[2], "messages, oldest first")
    ahead(row[2] + tall, row[3] - 50, "one message")
    ahead(row[3] + tall, row[4], "Begin, Relation, Insert, Commit")
    ahead(row[4] + tall, row[5], "the row of an open transaction")
    ahead(row[5] + tall + 14, row[6], "Record, with a token")
    ahead(row[6] + tall, row[7], "batches, acks=all, by librdkafka's threads", row[7] - 16)
    back(row[7], row[6] + tall, "acknowledgement", row[7] - 16)
    back(row[6], row[5] + tall, "delivery report, with the token")
    back(row[5], row[4] + tall, "one record less in flight")
    back(row[4], row[3] + tall, "frontier")
    back(row[3], row[2] + tall, "an update is due")
    back(row[2], row[1] + tall, "StandbyStatus: received, flushed")
    back(row[1], row[0] + tall, "standby status update", row[0] + tall + 26)
    y, edge = row[4] + tall / 2, left + wide + 18
    picture.path("line", f"M{edge:g},{y:g} L{right:g},{y:g}", dashed=True)
    picture.text((edge + right) / 2, y - 8, "text", "an entry for", "middle")
    picture.text((edge + right) / 2, y + 18, "text", "each transaction", "middle")
    return picture.svg()


def pictures() -> dict[str, str]:
    return {"layers.svg": layers_picture(), "event-path.svg": event_path_picture()}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    try:
        for name, text in pictures().items():
            (folder / name).write_text(text)
    except Mismatch as mismatch:
        print(mismatch, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
