"""The plots of a report, as SVG, from the results file only. matplotlib is Debian's python3-matplotlib."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from walrelay_dev.errors import ServerError

from .figures import HEADLINES
from .results import REFERENCE, Results
from .stages import STAGES

# A system has the same colour in every plot. The palette is Okabe and Ito's, which is safe for colour-blind readers,
# and two colours of Paul Tol's.
_COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#999999", "#000000", "#56B4E9", "#F0E442", "#009E73", "#CC79A7",
            "#882255")
_OPPONENTS = ("debezium-tuned", "debezium")


def write(results: Results, folder: Path) -> dict[str, str]:
    """Writes the plots that these results allow into `folder`; returns file name → title."""
    pyplot = _pyplot()
    written: dict[str, str] = {}
    for workload in results.workloads():
        drawings: list[tuple[str, str, Callable[[Any], bool]]] = [
            (f"latency-{workload}", f"Latency to the consumer by percentile: {results.data['titles'][workload]}",
             lambda figure, name=workload: _latency(results, name, figure)),
            (f"time-{workload}", f"Over time: {results.data['titles'][workload]}",
             lambda figure, name=workload: _over_time(results, name, figure)),
            (f"stages-{workload}", f"Where the time of an event goes: {results.data['titles'][workload]}",
             lambda figure, name=workload: _stages(results, name, figure))]
        for name, title, draw in drawings:
            _save(pyplot, folder, name, title, draw, written)
    _save(pyplot, folder, "bars", "Improvement of walrelay over Debezium, by factor",
          lambda figure: _bars(results, figure), written)
    return written


def _save(pyplot: Any, folder: Path, name: str, title: str, draw: Callable[[Any], bool],
          written: dict[str, str]) -> None:
    figure = pyplot.figure(figsize=(8, 4.5), layout="constrained")
    if draw(figure):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})  # the same results, the same bytes
        written[f"{name}.svg"] = title
    pyplot.close(figure)


def _latency(results: Results, workload: str, figure: Any) -> bool:
    """One line per round. The axis scales percentiles by nines, to show the tail."""
    axes = figure.add_subplot()
    for system in results.systems(workload):
        for number, run in enumerate(results.runs_of(workload, system)):
            if curve := run.get("curves", {}).get("consumer"):
                axes.plot([-math.log10(1 - part) for part, _ in curve], [ms for _, ms in curve],
                          color=_colour(results, system), linewidth=1.4, alpha=0.8,
                          label=_title(results, system) if number == 0 else None)
    if not axes.lines:
        return False
    _log_scale(axes)
    axes.set_xlim(0, 3.3)
    axes.set_xticks([0, -math.log10(0.5), 1, 2, 3], ["0", "50", "90", "99", "99.9"])
    axes.set_xlabel("percentile")
    axes.set_ylabel("INSERT called → received by a consumer, ms")
    _finish(axes)
    return True


def _over_time(results: Results, workload: str, figure: Any) -> bool:
    """Events and memory of a backlog, or retained WAL if no event is relayed."""
    runs = [(system, run["series"]) for system in results.systems(workload)
            for run in results.runs_of(workload, system)[:1] if run.get("series")]
    if not runs:
        return False
    panels = figure.subplots(1, 2)
    left = "wal_retained_mib" if workload in ("idle", "outage") else "records"
    for system, series in runs:
        for axes, name in zip(panels, (left, "rss_mib")):
            points = [(at, value) for at, value in zip(series["seconds"], series[name]) if value is not None]
            if name == "records":
                points = _rates(points)
            if points:
                axes.plot(*zip(*points), color=_colour(results, system), label=_title(results, system))
    panels[0].set_ylabel("events/s" if left == "records" else "WAL retained, MiB")
    panels[1].set_ylabel("resident memory, MiB")
    _log_scale(panels[1])
    panels[1].set_ylim(bottom=5)
    for axes in panels:
        axes.set_xlabel("seconds")
        _finish(axes, legend=axes is panels[1])
    return True


def _stages(results: Results, workload: str, figure: Any) -> bool:
    """One bar per system and quantile, divided into stages. The axis is linear, so that the parts add up."""
    bars = [(f"{_title(results, system)}, {quantile}", parts) for system in results.systems(workload)
            for quantile, parts in results.stages(workload, system).items()]
    if not bars:
        return False
    axes = figure.add_subplot()
    begin = [0.0] * len(bars)
    for number, stage in enumerate(STAGES):
        widths = [parts[number] for _, parts in bars]
        axes.barh(range(len(bars)), widths, 0.7, left=begin, color=_COLOURS[number], label=stage)
        begin = [left + width for left, width in zip(begin, widths)]
    axes.set_yticks(range(len(bars)), [words for words, _ in bars])
    axes.invert_yaxis()
    axes.set_xlabel("ms from the commit to the broker's answer")
    _finish(axes)
    return True


def _rates(points: list[tuple[float, int]]) -> list[tuple[float, float]]:
    """Rates over one second each, from a growing count."""
    rates, (since, before) = [(0.0, 0.0)], points[0] if points else (0.0, 0)
    for at, count in points[1:]:
        if at - since >= 1:
            rates.append((at, (count - before) / (at - since)))
            since, before = at, count
    return rates


def _bars(results: Results, figure: Any) -> bool:
    axes = figure.add_subplot()
    opponents = [name for name in _OPPONENTS if name in results.data["systems"]]
    shown = []
    for workload, name, words, more_is_better in HEADLINES:
        ratios = {each: results.ratio(workload, each, name) for each in opponents}
        if any(ratios.values()):
            shown.append((words, {each: _times_better(ratio, more_is_better) for each, ratio in ratios.items()}))
    if not shown:
        return False
    height = 0.8 / len(opponents)
    for place, opponent in enumerate(opponents):
        bars = axes.barh([row + place * height for row in range(len(shown))],
                         [each[opponent] for _, each in shown], height, color=_colour(results, opponent),
                         label=f"against {_title(results, opponent)}")
        axes.bar_label(bars, fmt="%.3g ×", padding=3, fontsize=8)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(shown))], [words for words, _ in shown])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"factor by which {results.data['systems'][REFERENCE]} is better")
    axes.margins(x=0.15)
    _finish(axes, legend=False)
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    return True


def _times_better(ratio: Any, more_is_better: bool) -> float:
    if ratio is None or ratio.median == 0:
        return math.nan
    return 1 / ratio.median if more_is_better else ratio.median


def _colour(results: Results, system: str) -> str:
    return _COLOURS[list(results.data["systems"]).index(system) % len(_COLOURS)]


def _title(results: Results, system: str) -> str:
    return results.data["systems"][system]


def _log_scale(axes: Any) -> None:
    """Labels the ticks 1, 10, 100 instead of powers of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")


def _finish(axes: Any, legend: bool = True) -> None:
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(fontsize=8, frameon=False, loc="best")


def _pyplot() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise ServerError("matplotlib is not installed for this Python: apt-get install python3-matplotlib") from None
    matplotlib.use("svg")
    # Keep text as text: small files, and the fonts of the reader.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "walrelay", "font.size": 9})
    from matplotlib import pyplot
    return pyplot
