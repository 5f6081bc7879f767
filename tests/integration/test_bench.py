"""The benchmark itself: one small run of each workload and each system on real servers, and its conclusions.

The tests check no figure; they check that everything works and that nothing is lost.
"""

import json
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from random import Random
from typing import Any

from walrelay_bench import report, system
from walrelay_bench.catalogue import workloads
from walrelay_bench.compare import conclusions, is_decided
from walrelay_bench.environment import program
from walrelay_bench.interval import interval
from walrelay_bench.results import Results
from walrelay_bench.stages import attribute, read
from walrelay_dev.errors import ServerError
from walrelay_dev.paths import REPOSITORY
from walrelay_test.testcase import main, require_servers


class QuickRunTest(unittest.TestCase):
    def setUp(self) -> None:
        require_servers()
        for program in ("kcat", "ss"):
            if shutil.which(program) is None:
                self.skipTest(f"no {program}: scripts/test installs it")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json = Path(folder.name) / "results.json"

    def run_quickly(self, *arguments: str) -> Results:
        done = subprocess.run([sys.executable, REPOSITORY / "bench/run", "--quick", "--json", self.json, *arguments],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return Results.load(self.json)

    def test_walrelay_runs_every_workload(self) -> None:
        taken = [name for name, each in workloads(quick=True).items() if each.takes(system.load("walrelay"))
                 and (not name.startswith("steady-") or name == "steady-1000")]
        results = self.run_quickly("--systems", "walrelay", "--workloads", ",".join(taken))
        self.assertEqual(results.workloads(), taken)
        for run in results.runs:
            self.assertEqual((run["figures"].get("lost", 0), run["figures"].get("disordered", 0)), (0, 0), run)
        self.assertGreater(results.spread("steady-1000", "walrelay", "consumer_p50").median, 0)
        self.assertGreater(results.spread("drain", "walrelay", "bytes_to_kafka_per_event").median, 100)

    def test_recover_publishes_what_the_topic_lacks(self) -> None:
        results = self.run_quickly("--systems", "walrelay-recover")
        self.assertEqual(set(results.workloads()), {"recover", "recover-compared"})
        for run in results.runs:
            self.assertEqual((run["figures"]["lost"], run["figures"]["duplicated"]), (0, 0), run)

    def test_shards_have_a_process_each_or_one_for_all(self) -> None:
        systems = ["walrelay", "walrelay-fleet", "walrelay-shards"]
        results = self.run_quickly("--workloads", "shards-2,slots-8", "--systems", ",".join(systems))
        for workload in ("shards-2", "slots-8"):
            self.assertEqual(results.systems(workload), systems)
        for run in results.runs_of("slots-8"):
            self.assertEqual([run["figures"][name] for name in ("lost", "duplicated", "disordered")], [0, 0, 0], run)

    def test_stages_of_each_event_add_up(self) -> None:
        results = self.run_quickly("--workloads", "steady-1000", "--systems", "walrelay,loop", "--stages")
        for run in results.runs:
            self.assertGreater(run["stages"]["events"], 1500, run)  # of 2000, without those that are still buffered
            for parts in (run["stages"][quantile] for quantile in ("p50", "p99")):
                self.assertEqual([part >= 0 for part in parts], [True] * 5, run)
            # The commit comes after the INSERT was called, the consumer after the broker's append.
            self.assertLess(sum(run["stages"]["p50"]), 2 * run["figures"]["consumer_p50"], run)
        written = self.json.parent / "results.report"
        self.assertIn("requested → answered", (written / "report.md").read_text())
        self.assertTrue((written / "stages-steady-1000.svg").exists())

    def test_every_system_drains_and_the_report_is_rebuilt_from_the_file(self) -> None:
        # Debezium's default profile differs from the tuned one in values only, and a JVM starts slowly.
        drain = workloads(quick=True)["drain"]
        systems = [name for name in system.names() if name != "debezium" and drain.takes(system.load(name))]
        results = self.run_quickly("--workloads", "drain", "--systems", ",".join(systems))
        self.assertEqual(results.systems("drain"), systems)
        written = self.json.parent / "results.report"
        again = self.json.parent / "again"
        subprocess.run([sys.executable, REPOSITORY / "bench/report", self.json, "--out", again], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual({path.name: path.read_bytes() for path in written.iterdir()},
                         {path.name: path.read_bytes() for path in again.iterdir()})
        self.assertLessEqual({"report.md", "bars.svg", "time-drain.svg"}, {path.name for path in again.iterdir()})

    def test_resume_keeps_completed_runs_and_executes_only_missing_ones(self) -> None:
        first = self.run_quickly("--workloads", "drain", "--systems", "walrelay,pg_recvlogical")
        kept, lost = first.runs
        first.data["runs"] = [kept]
        first.save(self.json)
        resumed = self.run_quickly("--workloads", "drain", "--systems", "walrelay,pg_recvlogical", "--resume")
        self.assertEqual(resumed.runs[0], kept)
        self.assertEqual([(run["system"], run["round"]) for run in resumed.runs[1:]],
                         [(lost["system"], lost["round"])])
        complete = self.json.read_bytes()
        self.run_quickly("--workloads", "drain", "--systems", "walrelay,pg_recvlogical", "--resume")
        self.assertEqual(self.json.read_bytes(), complete)


    def test_compare_repeats_until_it_is_decided_and_says_that_it_is_not(self) -> None:
        walrelay = program("src/cli/walrelay")
        done = subprocess.run([REPOSITORY / "bench/compare", walrelay, walrelay, "--quick", "--workloads", "drain",
                               "--most-rounds", "2", "--json", self.json], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("inconclusive  drain", done.stdout)
        self.assertEqual(sorted((run["round"], run["system"]) for run in Results.load(self.json).runs),
                         [(1, "walrelay"), (1, "walrelay-other"), (2, "walrelay"), (2, "walrelay-other")])

    def test_compare_rejects_what_is_neither_a_program_nor_a_revision(self) -> None:
        done = subprocess.run([REPOSITORY / "bench/compare", "no-such-revision"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-revision is neither an executable nor a revision", done.stderr)


class IntervalTest(unittest.TestCase):
    def test_few_values_give_their_range_and_its_coverage(self) -> None:
        for count, coverage in ((1, 0), (2, 0.5), (3, 0.75), (5, 0.9375)):
            found = interval([float(value) for value in range(count)])
            self.assertEqual((found.low, found.high, found.coverage), (0, count - 1, coverage))
            self.assertFalse(found.is_sure)

    def test_many_values_leave_out_the_outliers(self) -> None:
        # Published limits of the sign test: of 9 values the second and the eighth, of 15 the fourth and the twelfth.
        for count, low, high in ((6, 0, 5), (8, 0, 7), (9, 1, 7), (15, 3, 11), (20, 5, 14)):
            found = interval([float(value) for value in range(count)])
            self.assertEqual((found.low, found.high), (low, high))
            self.assertGreaterEqual(found.coverage, 0.95)

    def test_it_covers_the_median_as_often_as_it_says(self) -> None:
        random = Random(1)
        for count in (6, 9, 15):
            found = [interval([random.paretovariate(0.8) for _ in range(count)]) for _ in range(4000)]
            covered = sum(each.contains(2 ** (1 / 0.8)) for each in found) / len(found)
            self.assertAlmostEqual(covered, found[0].coverage, delta=0.015)


class StagesTest(unittest.TestCase):
    def test_stages_are_those_between_the_times_of_later_events(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "stages"
            file.write_bytes(struct.pack("=6q", *[1_000_000] * 6)
                             + struct.pack("=6q", 2_000_000, 2_001_000, 2_003_000, 2_006_000, 2_010_000, 2_015_000)
                             + b"cut")
            self.assertEqual(read(file, since=2), [(1, 2, 3, 4, 5)])

    def test_each_quantile_describes_the_events_there(self) -> None:
        # The slow events are slow in the last stage, the others in the first.
        events = [(1.0, 0.0, 0.0, 0.0, 0.0)] * 980 + [(0.5, 0.0, 0.0, 0.0, 9.0)] * 20
        found = attribute(events)
        self.assertEqual(found, {"events": 1000, "p50": [1, 0, 0, 0, 0], "p99": [0.5, 0, 0, 0, 9],
                                 "p99.9": [0.5, 0, 0, 0, 9]})
        self.assertEqual(attribute([]), {"events": 0})


class ConclusionsTest(unittest.TestCase):
    @staticmethod
    def results(figure: str = "events_per_s", **by_system: list[float]) -> Results:
        runs = [{"workload": "drain", "system": name, "round": number, "figures": {figure: value}}
                for name, values in by_system.items() for number, value in enumerate(values, 1)]
        machine: dict[str, Any] = {"cores": 2, "cpu": "a", "memory_gib": 1, "system": "b", "kernel": "c"}
        return Results({"commit": "0", "time": "2026-01-01T", "schema": 1, "quick": False, "machine": machine,
                        "versions": {}, "systems": {name: name for name in by_system}, "titles": {"drain": "d"},
                        "runs": runs})

    def test_ratios_are_computed_per_round(self) -> None:
        ratio = self.results(walrelay=[10, 20, 40], other=[5, 10, 20]).ratio("drain", "other", "events_per_s")
        self.assertEqual((ratio.low, ratio.median, ratio.high), (0.5, 0.5, 0.5))

    def test_systems_differ_when_their_rounds_do_not_overlap(self) -> None:
        self.assertTrue(self.results(walrelay=[10, 11, 12], other=[7, 8, 9]).differ("drain", "other", "events_per_s"))
        self.assertFalse(self.results(walrelay=[10, 11, 12], other=[7, 8, 10]).differ("drain", "other", "events_per_s"))

    def test_one_round_shows_no_difference(self) -> None:
        results = self.results(walrelay=[10], other=[1])
        self.assertFalse(results.differ("drain", "other", "events_per_s"))
        self.assertIn("≈ 0.1", report.text(results, {}, ""))

    def test_five_rounds_show_a_difference_that_each_round_has(self) -> None:
        # A slow phase of the machine makes the ranges overlap, but the ratios do not change.
        self.assertTrue(self.results(walrelay=[10, 20, 11, 10, 21], other=[8, 15, 9, 9, 17])
                        .differ("drain", "other", "events_per_s"))
        self.assertFalse(self.results(walrelay=[10, 20, 11, 10, 21], other=[8, 15, 9, 11, 17])
                         .differ("drain", "other", "events_per_s"))

    def test_a_comparison_has_three_verdicts(self) -> None:
        base = [100.0] * 6
        for new, verdict in (([99, 100, 101, 100, 96, 105], "not slower"), ([50, 60, 70, 80, 90, 94], "SLOWER"),
                             ([50, 60, 100, 80, 90, 94], "inconclusive"), ([99] * 5, "inconclusive")):
            results = self.results(**{"walrelay-other": base[:len(new)], "walrelay": new})
            self.assertEqual([each.verdict for each in conclusions(results, 1.05)], [verdict])
            self.assertEqual(is_decided(results, "drain", 1.05), verdict != "inconclusive")

    def test_a_lower_time_is_better_and_a_lower_rate_is_worse(self) -> None:
        slower = self.results("cpu_s_per_million", **{"walrelay-other": [1.0] * 6, "walrelay": [1.2] * 6})
        self.assertEqual([(each.figure, each.verdict) for each in conclusions(slower, 1.05)],
                         [("cpu_s_per_million", "SLOWER")])

    def test_ratios_are_narrow_with_enough_rounds_that_agree(self) -> None:
        ratios = [1.0, 1.01, 1.02, 1.03, 1.0, 1.01]
        results = self.results(walrelay=[1.0] * 6, other=ratios)
        self.assertTrue(results.is_narrow("drain", 2))
        self.assertFalse(results.is_narrow("drain", 1))
        self.assertFalse(self.results(walrelay=[1.0] * 5, other=[1.0] * 5).is_narrow("drain", 2))

    def test_an_unstable_control_is_noise(self) -> None:
        self.assertEqual(self.results(pg_recvlogical=[100, 120, 140]).noise("drain"), [])
        self.assertIn("pg_recvlogical", self.results(pg_recvlogical=[100, 120, 160]).noise("drain")[0])

    def test_a_busy_machine_is_noise(self) -> None:
        results = self.results("foreign_cpu_percent", walrelay=[11, 50, 12])
        self.assertIn("50 %", results.noise("drain")[0])
        self.assertIn("not reliable: drain", report.text(results, {}, ""))

    def test_a_round_with_noise_does_not_count(self) -> None:
        results = self.results(walrelay=[10, 50, 12], other=[5, 6, 7])
        for run, foreign in zip(results.runs, (0, 11, 0, 3, 0, 0), strict=True):
            run["figures"]["foreign_cpu_percent"] = foreign
        self.assertEqual(results.spread("drain", "walrelay", "events_per_s").high, 12)
        self.assertEqual(results.spread("drain", "other", "events_per_s").median, 6)
        self.assertEqual(results.noise("drain"), [])
        self.assertIn("2 rounds, without 1 in which something else used the machine. "
                      "The intervals have a confidence of 50 %.", report.text(results, {}, ""))

    def test_rounds_that_are_all_noisy_decide_nothing(self) -> None:
        results = self.results(**{"walrelay-other": [1.0] * 6, "walrelay": [2.0] * 6})
        self.assertEqual([each.verdict for each in conclusions(results, 1.05)], ["not slower"])
        for run in results.runs:
            run["figures"]["foreign_cpu_percent"] = 11
        self.assertEqual([each.verdict for each in conclusions(results, 1.05)], ["inconclusive"])
        self.assertFalse(results.is_narrow("drain", 5))

    def test_a_failed_run_is_reported_and_not_counted(self) -> None:
        results = self.results(walrelay=[10, 10])
        results.runs.append({"workload": "drain", "system": "walrelay", "round": 3, "error": "it broke"})
        self.assertEqual(results.spread("drain", "walrelay", "events_per_s").high, 10)
        self.assertIn("it broke", report.text(results, {}, ""))

    def test_resume_keeps_successful_runs(self) -> None:
        earlier, later = self.results(walrelay=[10, 11], other=[5]), self.results()
        earlier.runs.append({"workload": "drain", "system": "other", "round": 2, "error": "it broke"})
        later.go_on_from(earlier)
        self.assertEqual([(run["system"], run["round"]) for run in later.runs],
                         [("walrelay", 1), ("walrelay", 2), ("other", 1)])
        later.arrange(["other", "walrelay"], ["drain"])
        self.assertEqual(later.systems("drain"), ["other", "walrelay"])
        self.assertEqual(later.rounds("drain"), 2)

    def test_results_of_another_build_do_not_mix(self) -> None:
        earlier, later = self.results(walrelay=[10]), self.results()
        later.data["commit"] = "1"
        with self.assertRaisesRegex(ServerError, "another commit"):
            later.go_on_from(earlier)

    def test_results_survive_a_round_trip_through_their_file(self) -> None:
        results = self.results(walrelay=[10])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new" / "results.json"
            results.save(path)
            self.assertEqual(json.loads(path.read_text()), results.data)


if __name__ == "__main__":
    main()
