#!/usr/bin/python3
"""The Helm chart: rendered with helm, validated with kubeconform against the schemas of Kubernetes.

    scripts/dev chart           builds the tools, runs this test, and renders packaging/kubernetes/walrelay.yaml

Skipped where the tools are missing: they are built with Go from modules, which the test run does not install.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import yaml
from walrelay_dev.paths import REPOSITORY

TOOLS = REPOSITORY / "build/tools"
CHART = REPOSITORY / "packaging/kubernetes/walrelay"
RENDERED = REPOSITORY / "packaging/kubernetes/walrelay.yaml"
VALUES = REPOSITORY / "packaging/kubernetes/values-example.yaml"
SCHEMAS = TOOLS / "kubernetes_validate/kubernetes-json-schema"
OLDEST = "1.27.0"  # as in Chart.yaml
KINDS = ("deployment-apps", "serviceaccount", "configmap", "poddisruptionbudget-policy", "job-batch", "networkpolicy-networking")
# Of the Prometheus operator; the rules themselves are tested with promtool.
CUSTOM = "PodMonitor,PrometheusRule"


def helm(*arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOLS / "helm", *arguments], input=text, capture_output=True, text=True, check=False)


def render(*arguments: str | Path) -> str:
    result = helm("template", "walrelay", CHART, "--namespace", "default", "--kube-version", OLDEST, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def standalone_schemas(version: str, folder: Path) -> str:
    """The schemas of a version, each complete: kubeconform resolves no reference to another file. Returns the location
    for kubeconform."""
    definitions = json.loads((SCHEMAS / version / "_definitions.json").read_text())["$defs"]
    for schema in (SCHEMAS / version / f"{kind}-v1.json" for kind in KINDS):
        text = json.dumps(json.loads(schema.read_text()) | {"$defs": definitions, "$id": "https://kubernetes.invalid/" + schema.name})
        (folder / schema.name).write_text(text.replace("/api/_definitions.json#", "#"))
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


def objects(text: str) -> dict[str, Any]:
    return {document["kind"]: document for document in yaml.safe_load_all(text) if document}


class ManifestTest(unittest.TestCase):
    """Of the rendered manifests in the tree, without helm."""

    def setUp(self) -> None:
        self.objects = objects(RENDERED.read_text())
        self.pod = self.objects["Deployment"]["spec"]["template"]["spec"]
        (self.container,) = self.pod["containers"]

    def test_probes_reach_the_address_of_the_pod(self) -> None:
        environment = {each["name"]: each["value"] for each in self.container["env"]}
        self.assertEqual(environment["WALRELAY_HTTP__LISTEN"], "0.0.0.0:9464")
        self.assertEqual(environment["WALRELAY_HTTP__ROW_DATA"], "false")
        self.assertEqual(self.container["ports"], [{"name": "http", "containerPort": 9464}])
        for probe, path in (("livenessProbe", "/livez"), ("readinessProbe", "/readyz"), ("startupProbe", "/startupz")):
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": "http"})

    def test_secrets_are_readable_for_the_group_of_the_pod_only(self) -> None:
        self.assertEqual(self.pod["securityContext"]["fsGroup"], self.pod["securityContext"]["runAsUser"])
        modes = {volume["secret"]["defaultMode"] for volume in self.pod["volumes"] if "secret" in volume}
        self.assertEqual(modes, {0o440})

    def test_pipelines_are_valid(self) -> None:
        self.assertEqual(self.container["args"], ["run", "--config-dir", "/etc/walrelay/pipelines"])
        mounts = {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}
        self.assertEqual(mounts["pipelines"], "/etc/walrelay/pipelines")
        for secret in yaml.safe_load(VALUES.read_text())["secrets"]:
            self.assertIn(f"/etc/walrelay/secrets/{secret}/", self.objects["ConfigMap"]["data"]["orders.toml"])
            self.assertEqual(mounts[f"secret-{secret}"], f"/etc/walrelay/secrets/{secret}")

    def test_rules_are_those_of_packaging(self) -> None:
        rules = yaml.safe_load((REPOSITORY / "packaging/prometheus/walrelay.rules.yml").read_text())
        self.assertEqual(self.objects["PrometheusRule"]["spec"], rules)


@unittest.skipUnless((TOOLS / "helm").exists(), "helm is missing: scripts/dev chart builds it with Go")
class ChartTest(unittest.TestCase):
    def test_chart_has_no_lint_findings(self) -> None:
        result = helm("lint", "--strict", "--kube-version", OLDEST, CHART, "--values", VALUES)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_manifests_in_the_tree_are_those_of_the_chart(self) -> None:
        self.assertEqual(RENDERED.read_text(), render("--values", VALUES))

    def test_objects_conform_to_the_schemas_of_kubernetes(self) -> None:
        newest = max(SCHEMAS.glob("v1.*-local"), key=lambda path: int(path.name.split(".")[1])).name
        for version in (f"v{OLDEST}-local", newest):
            location = standalone_schemas(version, Path(self.enterContext(tempfile.TemporaryDirectory())))
            for values in ([], ["--set", "replicas=1,podDisruptionBudget.enabled=false,serviceAccount.create=false"],
                           ["--set-json", 'command=["check"]', "--set", "networkPolicy.enabled=true"],
                           ["--set", "networkPolicy.enabled=true", "--set-json", 'networkPolicy.from=[{"podSelector":{}}]']):
                text = render("--values", VALUES, *values)
                result = subprocess.run(
                    [TOOLS / "kubeconform", "-strict", "-summary", "-output", "json", "-skip", CUSTOM,
                     "-schema-location", location],
                    input=text, capture_output=True, text=True, check=False)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                summary = json.loads(result.stdout)["summary"]
                self.assertEqual((summary["invalid"], summary["errors"]), (0, 0), result.stdout)
                self.assertGreaterEqual(summary["valid"], 2)
                print(f"kubeconform, {version.removesuffix('-local')}: {summary}", file=sys.stderr)

    def test_job_differs_from_the_relay_in_its_arguments_only(self) -> None:
        self.assertNotIn("Job", objects(render("--values", VALUES)))
        rendered = objects(render("--values", VALUES, "--set-json", 'command=["recover", "--apply", "7f3c9a01-18204"]'))
        job, relay = (rendered[kind]["spec"]["template"]["spec"] for kind in ("Job", "Deployment"))
        (command,), (container,) = job.pop("containers"), relay.pop("containers")
        self.assertEqual(command.pop("args"), ["recover", "--apply", "7f3c9a01-18204"])
        of_a_relay = ("args", "ports", "livenessProbe", "readinessProbe", "startupProbe")
        self.assertEqual(command, {key: value for key, value in container.items() if key not in of_a_relay})
        self.assertEqual(job.pop("restartPolicy"), "Never")
        self.assertEqual(job, {key: value for key, value in relay.items()
                               if key not in ("terminationGracePeriodSeconds", "topologySpreadConstraints")})
        # The Deployment, its PodDisruptionBudget and the policy select the pods of relays.
        labels = rendered["Job"]["spec"]["template"]["metadata"]["labels"]
        self.assertNotEqual(labels["app.kubernetes.io/name"],
                            rendered["Deployment"]["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"])

    def test_policy_admits_only_who_is_named(self) -> None:
        closed = objects(render("--values", VALUES, "--set", "networkPolicy.enabled=true"))["NetworkPolicy"]["spec"]
        self.assertEqual((closed["policyTypes"], closed["ingress"]), (["Ingress"], []))
        peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        opened = objects(render("--values", VALUES, "--set", "networkPolicy.enabled=true",
                                "--set-json", f"networkPolicy.from=[{json.dumps(peer)}]"))["NetworkPolicy"]["spec"]
        self.assertEqual(opened["ingress"], [{"from": [peer], "ports": [{"port": 9464}]}])

    def test_wrong_values_are_rejected(self) -> None:
        for wrong in ("replicas=-1", "pipelines.a=", "log.level=loud", "podMonitr.enabled=true", "image.tagg=x"):
            result = helm("template", "walrelay", CHART, "--kube-version", OLDEST, "--values", VALUES, "--set", wrong)
            self.assertNotEqual(result.returncode, 0, wrong)
            self.assertIn("values", result.stderr, wrong)
        self.assertNotEqual(helm("template", "walrelay", CHART, "--kube-version", OLDEST).returncode, 0,
                            "a pipeline is required")

    def test_changed_configuration_replaces_the_pods(self) -> None:
        def checksum(*arguments: str) -> str:
            rendered = objects(render("--values", VALUES, *arguments))
            return rendered["Deployment"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        self.assertEqual(checksum(), checksum("--set", "replicas=3"))
        self.assertNotEqual(checksum(), checksum("--set", "pipelines.other=[source]"))


if __name__ == "__main__":
    if os.environ.get("WALRELAY_UPDATE_GOLDEN"):
        RENDERED.write_text(render("--values", VALUES))
    unittest.main()
