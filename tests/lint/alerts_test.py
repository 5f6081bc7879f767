#!/usr/bin/python3
"""Alert rules, runbooks and the dashboard: their expressions are valid and use metrics that exist."""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging" / "prometheus" / "walrelay.rules.yml"
RULE_TESTS = ROOT / "tests" / "lint" / "alerts_test.yml"
DASHBOARD = ROOT / "packaging" / "grafana" / "walrelay.json"
RUNBOOKS = ROOT / "docs" / "runbooks"
HEADINGS = ["## What it means", "## For the data", "## What to type"]

# name -> (type, labels) from docs/reference/metrics.md, which another test compares with the catalogue.
CATALOGUE = {name: (kind, {"source", "slot"} | ({label} if label else set())) for name, kind, label in re.findall(
    r"^\| `(\w+)` \| (\w+) \| `?(\w*)`? \|", (ROOT / "docs/reference/metrics.md").read_text(), re.MULTILINE)}
ALWAYS = {"source", "slot", "instance", "job"}
RUNBOOK_URL = "file:///usr/share/doc/walrelay/runbooks/"
METRIC = re.compile(r"\bwalrelay_\w+")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def dashboard_expressions() -> list[str]:
    """The expressions as Grafana sends them."""
    return [target["expr"].replace("$__rate_interval", "5m").replace("$source", ".*").replace("$slot", ".*")
            for panel in panels() for target in panel["targets"]]


def runbook_expressions() -> list[str]:
    return [text for page in pages() for text in re.findall(r"```promql\n(.*?)```", page.read_text(), re.DOTALL)]


def pages() -> list[Path]:
    return sorted(page for page in RUNBOOKS.glob("*.md") if page.name != "README.md")


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60)


def problems_of(expression: str) -> list[str]:
    """Metrics and labels that walrelay does not have."""
    found = []
    for metric in METRIC.findall(expression):
        name = re.sub(r"_(bucket|count|sum)$", "", metric)
        if name not in CATALOGUE or (name != metric) != (CATALOGUE[name][0] == "histogram"):
            found.append(f"no metric {metric}")
    known = ALWAYS | {"le"} | {label for name in METRIC.findall(expression)
                               for label in CATALOGUE.get(re.sub(r"_(bucket|count|sum)$", "", name), ("", set()))[1]}
    used = {label.strip() for text in re.findall(r"\bby \(([^)]*)\)", expression) for label in text.split(",")} | \
        {label for text in re.findall(r"\{([^}]*)\}", expression) for label in re.findall(r"(\w+)\s*[=!]", text)}
    return found + [f"no label {label}" for label in sorted(used - known)]


class RulesTest(unittest.TestCase):
    def test_prometheus_accepts_the_rules(self) -> None:
        result = promtool("check", "rules", "--lint-fatal", str(RULES))
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_alerts_fire_exactly_when_they_should(self) -> None:
        result = promtool("test", "rules", str(RULE_TESTS))
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_every_alert_fires_in_a_test(self) -> None:
        tests = yaml.safe_load(RULE_TESTS.read_text())["tests"]
        fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", [])
                 if case.get("exp_alerts")}
        self.assertEqual(fired, {rule["alert"] for rule in alerts()})

    def test_rules_use_existing_metrics(self) -> None:
        for rule in rules():
            self.assertEqual(problems_of(rule["expr"]), [], rule)

    def test_wrong_names_are_found(self) -> None:
        self.assertEqual(problems_of('sum by (topic) (walrelay_gone{x="1"})'),
                         ["no metric walrelay_gone", "no label topic", "no label x"])
        self.assertEqual(problems_of("rate(walrelay_end_to_end_latency_seconds[5m])"),
                         ["no metric walrelay_end_to_end_latency_seconds"])

    def test_alerts_have_severity_and_summary(self) -> None:
        for rule in alerts():
            self.assertIn(rule["labels"]["severity"], {"critical", "warning", "info"}, rule)
            self.assertTrue(rule["annotations"]["summary"], rule)


    def test_rules_keep_source_and_slot(self) -> None:
        for rule in rules():
            expression = rule["expr"]
            for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
                self.assertEqual(labels.split(", ")[:2], ["source", "slot"], rule)
            if "walrelay_" in expression:
                self.assertIn("by (source, slot", expression, rule)
                if "alert" in rule:
                    for label in ("source", "slot"):
                        self.assertIn(f"{{{{ $labels.{label} }}}}", rule["annotations"]["summary"], rule)


class RunbooksTest(unittest.TestCase):
    def test_alerts_and_runbooks_match(self) -> None:
        wanted = {rule["annotations"]["runbook_url"] for rule in alerts()}
        self.assertEqual(wanted, {RUNBOOK_URL + page.name for page in pages()})

    def test_runbook_names_its_alerts(self) -> None:
        for page in pages():
            named = set(re.findall(r"Walrelay\w+", page.read_text().split("##")[0]))
            its = {rule["alert"] for rule in alerts() if rule["annotations"]["runbook_url"].endswith(f"/{page.name}")}
            self.assertEqual(named, its, page.name)

    def test_list_of_runbooks_is_complete(self) -> None:
        listed = re.findall(r"^\| \[([\w-]+)\]\(([\w.-]+)\) \| (.*) \|$", (RUNBOOKS / "README.md").read_text(),
                            re.MULTILINE)
        self.assertEqual(sorted(file for _, file, _ in listed), [page.name for page in pages()])
        self.assertEqual(sorted(alert for *_, names in listed for alert in names.split(", ")),
                         sorted(rule["alert"] for rule in alerts()))

    def test_runbooks_have_the_same_headings(self) -> None:
        for page in pages():
            headings = re.findall(r"^## .*$", page.read_text(), re.MULTILINE)
            self.assertEqual(headings[:len(HEADINGS)], HEADINGS, page.name)

    def test_codes_commands_and_links_exist(self) -> None:
        codes = set(re.findall(r"^### (WR-\d+)", (ROOT / "docs/errors.md").read_text(), re.MULTILINE))
        sources = "".join(path.read_text() for path in (ROOT / "src/cli").glob("*.cc"))
        commands = set(re.findall(r'Make(?:Command(?:<\w+>)?|Group)\(\s*"([\w-]+)"', sources))
        for page in [*pages(), RUNBOOKS / "README.md"]:
            text = page.read_text()
            self.assertLessEqual(set(re.findall(r"WR-\d{4}", text)), codes, page.name)
            blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
            typed = set(re.findall(r"^walrelay ([\w-]+)", blocks, re.MULTILINE)) | \
                set(re.findall(r"`walrelay ([\w-]+)", text))
            self.assertLessEqual(typed, commands, page.name)
            for link in re.findall(r"\]\(([^)#]+)\)", text):
                self.assertTrue((RUNBOOKS / link).exists(), f"{page.name}: {link}")

    def test_options_exist(self) -> None:
        reference = (ROOT / "docs/configuration.md").read_text()
        sections = set(re.findall(r"^## `\[(\w+)\]`", reference, re.MULTILINE))
        keys = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
        for page in pages():
            for section, key in re.findall(r"`(\w+)\.(\w+)(?: = [^`]*)?`", page.read_text()):
                if section in sections:
                    self.assertIn(key, keys, f"{page.name}: {section}.{key}")


class DashboardTest(unittest.TestCase):
    def test_every_expression_parses(self) -> None:
        expressions = dashboard_expressions() + runbook_expressions()
        self.assertGreater(len(expressions), 20)
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump({"groups": [{"name": "all", "rules": [
                {"record": f"panel:{i}", "expr": text} for i, text in enumerate(expressions)]}]}, file)
            file.flush()
            result = promtool("check", "rules", file.name)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_every_metric_and_label_exists(self) -> None:
        for expression in dashboard_expressions() + runbook_expressions():
            self.assertEqual(problems_of(expression), [], expression)

    def test_panels_show_the_selected_sources_and_slots(self) -> None:
        dashboard = json.loads(DASHBOARD.read_text())
        names = [variable["name"] for variable in dashboard["templating"]["list"]]
        self.assertEqual(names, ["datasource", "source", "slot"])
        for panel in panels():
            for target in panel["targets"]:
                for selector in re.findall(r"walrelay_\w+(.{0,40})", target["expr"]):
                    self.assertTrue(selector.startswith('{source=~"$source",slot=~"$slot"'), target["expr"])

    def test_panels_do_not_cover_each_other(self) -> None:
        taken: dict[tuple[int, int], str] = {}
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertEqual(taken.setdefault((x, y), panel["title"]), panel["title"])

    def test_panels_have_unique_titles_and_ids(self) -> None:
        everything = json.loads(DASHBOARD.read_text())["panels"]
        for key in ("id", "title"):
            values = [panel[key] for panel in everything]
            self.assertEqual(len(values), len(set(values)), key)


if __name__ == "__main__":
    unittest.main()
