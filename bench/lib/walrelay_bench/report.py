"""The report of a run, in Markdown, from the results file only."""

import shutil
from pathlib import Path

from walrelay_dev.errors import ServerError
from walrelay_dev.paths import REPOSITORY

from . import plots
from .figures import FIGURES, HEADLINES
from .interval import interval
from .results import REFERENCE, Results
from .stages import STAGES

_PAGE = REPOSITORY / "docs/benchmarks.md"
_PLOTS = REPOSITORY / "docs/benchmarks"
_BEGIN, _END = "<!-- results: written by bench/run -->\n", "<!-- end of results -->\n"

# Figures that are constant or meaningless for a kind of workload.
_LEFT_OUT = {
    "steady": {"wal_retained_mib"},
    "drain": {"cpu_percent", "wal_retained_mib"},
    "transaction": {"cpu_percent", "wal_retained_mib"},
    "gigabyte": {"cpu_percent", "wal_retained_mib"},
    "kills": {"postgres_cpu_s_per_million", "kafka_cpu_s_per_million", "cpu_percent", "steady_rss_mib",
              "bytes_from_postgres_per_event", "bytes_to_kafka_per_event", "cpu_s_per_million"},
    "outage": {"postgres_cpu_s_per_million", "kafka_cpu_s_per_million", "steady_rss_mib", "recovery_max_s",
               "bytes_from_postgres_per_event", "bytes_to_kafka_per_event"},
}
_LEFT_OUT["kill"] = _LEFT_OUT["kills"] | {"wal_retained_mib"}
# Figures without a ratio: counts that are often zero, and figures that do not measure the system.
_NO_RATIO = {"kills", "lost", "duplicated", "disordered", "commit_p50", "foreign_cpu_percent", "wal_written_mib",
             "rows_left"}


def write(results: Results, folder: Path) -> None:
    """Replaces the contents of the folder with report.md and its plots."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    images = plots.write(results, folder)
    (folder / "report.md").write_text("# Benchmark\n\n" + text(results, images, ""))


def write_docs(results: Results) -> None:
    """Writes the results into docs/benchmarks.md, between its markers, and plots and data into docs/benchmarks/."""
    if results.data["quick"]:
        raise ServerError("the figures of a quick run must not go into the documents")
    before, begin, rest = _PAGE.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ServerError(f"{_PAGE} does not contain the markers {_BEGIN.strip()} … {_END.strip()}")
    for plot in _PLOTS.glob("*.svg"):  # the folder also has the data of other runs
        plot.unlink()
    results.save(_PLOTS / "results.json")
    images = plots.write(results, _PLOTS)
    _PAGE.write_text(before + begin + "\n" + text(results, images, "benchmarks/") + "\n" + end + after)


def text(results: Results, images: dict[str, str], path: str) -> str:
    parts = [_heading(results)]
    if noisy := [workload for workload in results.workloads() if results.noise(workload)]:
        parts.append(f"> **Noisy, not reliable: {', '.join(noisy)}.** Each section gives the reason.\n")
    parts.append(_summary(results))
    if "bars.svg" in images:
        parts.append(_image("bars.svg", images, path))
    for workload in results.workloads():
        parts.append(f"### {workload}: {results.data['titles'][workload]}\n")
        parts.append(f"{_rounds(results, workload)}\n")
        parts += [f"> **Noisy.** {sentence}\n" for sentence in results.noise(workload)]
        parts.append(_table(results, workload))
        parts += _stages(results, workload)
        parts += [_image(f"{name}-{workload}.svg", images, path) for name in ("latency", "time", "stages")
                  if f"{name}-{workload}.svg" in images and (name != "time" or not workload.startswith("steady"))]
    if failures := results.failures():
        parts.append("### Runs that failed\n\n" + "".join(
            f"- {each['workload']}, {each['system']}, round {each['round']}: {_one_line(each['error'])}\n"
            for each in failures))
    return "\n".join(parts)


def _heading(results: Results) -> str:
    data, machine = results.data, results.data["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    quick = "\n**A quick run: it shows that everything works; do not use its figures.**\n" if data["quick"] else ""
    return f"""Commit {data['commit']}, {data['time'][:10]}; {machine['cores']} cores ({machine['cpu']}), \
{machine['memory_gib']} GiB, {machine['system']}, Linux {machine['kernel']}.
{versions}.
{quick}
Medians of the rounds, with the lowest and the highest value in parentheses. Every system runs once in each round. × is
the median of the ratios to {REFERENCE} in the same round, with its confidence interval. ≈ replaces it where the rounds
show no difference.
"""


def _rounds(results: Results, workload: str) -> str:
    counted = len(results.counted_rounds(workload))
    if counted < 2:
        return "One round."
    noisy = results.rounds(workload) - counted
    words = f"{counted} rounds" + (f", without {noisy} in which something else used the machine" if noisy else "")
    return f"{words}. The intervals have a confidence of {100 * interval([0.0] * counted).coverage:.0f} %."


def _summary(results: Results) -> str:
    """The headlines, one per line, for all systems that have one."""
    shown = [(words, {system: _cell(results, workload, system, figure) for system in results.data["systems"]})
             for workload, figure, words, _ in HEADLINES]
    shown = [(words, cells) for words, cells in shown if any(cells.values())]
    systems = [system for system in results.data["systems"] if any(cells[system] for _, cells in shown)]
    rows = [["summary", *(results.data["systems"][system] for system in systems)], ["---"] * (len(systems) + 1),
            *([words, *(cells[system] for system in systems)] for words, cells in shown)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows) if shown else ""


def _table(results: Results, workload: str) -> str:
    """One line per figure, one column per system, because there are more figures than systems."""
    systems = results.systems(workload)
    left_out = _LEFT_OUT.get(workload.split("-")[0], set())
    rows = [["", *(results.data["systems"][system] for system in systems)], ["---"] * (len(systems) + 1)]
    for figure, label in FIGURES:
        cells = [_cell(results, workload, system, figure) for system in systems]
        if figure not in left_out and any(cells):
            rows.append([label, *cells])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _stages(results: Results, workload: str) -> list[str]:
    """Where the time goes, if it was recorded: one line per system and quantile."""
    rows = [[results.data["systems"][system], quantile, *map(_number, parts), _number(sum(parts))]
            for system in results.systems(workload) for quantile, parts in results.stages(workload, system).items()]
    if not rows:
        return []
    head = [["ms, of the events at", "", *STAGES, "sum"], ["---"] * (len(STAGES) + 3)]
    return ["".join("| " + " | ".join(row) + " |\n" for row in head + rows)]


def _cell(results: Results, workload: str, system: str, figure: str) -> str:
    spread = results.spread(workload, system, figure)
    if spread is None:
        return ""
    words = [_number(spread.median)]
    if _number(spread.low) != _number(spread.high):
        words.append(f"({_number(spread.low)}–{_number(spread.high)})")
    ratio = results.ratio(workload, system, figure)
    if system != REFERENCE and figure not in _NO_RATIO and ratio is not None:
        words.append(f"**{_number(ratio.median)} ×**" if results.differ(workload, system, figure)
                     else f"≈ {_number(ratio.median)}")
        if _number(ratio.low) != _number(ratio.high):
            words.append(f"[{_number(ratio.low)}–{_number(ratio.high)}]")
    return " ".join(words)


def _number(value: float) -> str:
    """Rounds to three significant digits."""
    if value == 0 or abs(value) >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def _image(name: str, images: dict[str, str], path: str) -> str:
    return f"![{images[name]}]({path}{name})\n"


def _one_line(error: str) -> str:
    return " ".join(error.split())[:300]


