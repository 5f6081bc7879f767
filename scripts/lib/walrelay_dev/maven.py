"""Artifacts from Maven Central, through the machine's `mvn` and its settings.

Coordinates have the form group:artifact:version[:type[:classifier]]; the default type is jar.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .cache import cached
from .errors import ServerError

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_SECONDS = 900  # for one download on a slow connection


def resolve(name: str, coordinates: Sequence[str], *, transitive: bool) -> Path:
    """A folder of the cache with the artifacts; downloads them the first time only.

    `name` makes the folder recognizable; its full name depends on the coordinates.
    """
    digest = hashlib.sha256(repr((list(coordinates), transitive)).encode()).hexdigest()[:8]
    return cached(f"{name}-{digest}",
                  lambda folder: fetch(coordinates, folder, transitive=transitive))


def fetch(coordinates: Sequence[str], folder: Path, *, transitive: bool) -> None:
    """Downloads the artifacts into `folder`, and their runtime dependencies if `transitive`."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise ServerError("mvn is not on the PATH; run: apt-get install maven default-jre-headless")
    with tempfile.TemporaryDirectory(prefix="walrelay-mvn-") as project:
        pom = Path(project) / "pom.xml"
        pom.write_text(_pom(coordinates))
        # -U: by default Maven caches a failed download for a day
        argv = [mvn, "-B", "-q", "-U", "-f", str(pom), _PLUGIN, f"-DoutputDirectory={folder}",
                "-DincludeScope=runtime", f"-DexcludeTransitive={str(not transitive).lower()}"]
        try:
            run = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServerError(f"mvn took more than {_SECONDS} s for {coordinates[0]}") from None
    if run.returncode != 0:
        raise ServerError(_explain(coordinates, run.stdout))


def _pom(coordinates: Sequence[str]) -> str:
    dependencies = "".join(_dependency(*each.split(":")) for each in coordinates)
    return ('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>walrelay</groupId><artifactId>testbed</artifactId><version>0</version>"
            f"<dependencies>{dependencies}</dependencies></project>\n")


def _dependency(*words: str) -> str:
    names = ("groupId", "artifactId", "version", "type", "classifier")
    # Omit an absent classifier: Maven treats an empty one as another artifact.
    elements = "".join(f"<{name}>{word}</{name}>" for name, word in zip(names, words))
    return f"<dependency>{elements}</dependency>"


def _explain(coordinates: Sequence[str], output: str) -> str:
    errors = re.findall(r"\[ERROR\] (.*?)(?: -> \[Help|$)", output, re.MULTILINE)
    first = errors[0] if errors else "mvn reported no reason"
    reason = "".join(first.rpartition("Could not")[1:])  # the innermost of nested reasons
    return (f"Maven could not fetch {', '.join(coordinates)}: {reason} "
            "(check that https://repo.maven.apache.org is reachable; configure a proxy in ~/.m2/settings.xml)")
