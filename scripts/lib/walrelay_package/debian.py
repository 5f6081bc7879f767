"""The Debian package of one release: built, examined, installed, upgraded and removed in bare systems."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from collections.abc import Iterator
from pathlib import Path

from walrelay_dev.paths import REPOSITORY
from walrelay_package.chroot import RELEASES, Chroot, CommandFailed, archive_with, base_archive, commit, compiler_cache, git

OUTPUT = REPOSITORY / "build/packages"
TOOLS = ["build-essential", "ccache", "lintian"]
OLDER = "0.0.1"
CONFIGURATION = """[source]
dsn = "host=127.0.0.1 dbname=shop"
[kafka]
bootstrap_servers = "127.0.0.1:9092"
"""
# What has to be in the package; `cmake --install` installs the same files.
EXPECTED = """usr/bin/walrelay
usr/share/man/man1/walrelay.1.gz
usr/share/man/man1/walrelay-config-show.1.gz
usr/share/man/man5/walrelay.toml.5.gz
usr/share/bash-completion/completions/walrelay
usr/share/zsh/vendor-completions/_walrelay
usr/share/fish/vendor_completions.d/walrelay.fish
usr/share/walrelay/walrelay.rules.yml
usr/share/walrelay/walrelay.schema.json
usr/share/walrelay/grafana/walrelay.json
usr/share/walrelay/proto/walrelay/events/v1/dead_letter.proto
usr/share/doc/walrelay/runbooks/README.md
usr/share/doc/walrelay/examples/walrelay.toml
etc/walrelay/""".split()


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise CommandFailed(what)


def build_dependencies() -> list[str]:
    control = (REPOSITORY / "packaging/debian/control").read_text()
    field = re.search(r"^Build-Depends:(.*?)^\S*$", control, re.MULTILINE | re.DOTALL)[1]
    names = [item.split()[0] for item in field.replace("\n", " ").split(",")]
    return ["debhelper" if name == "debhelper-compat" else name for name in names]


def version_of(release: str) -> str:
    """"0.1.0+deb12" for a tag; otherwise "0.1.0~git20261122.0e1d2c3+deb12", which precedes it."""
    version = re.search(r"project\(walrelay VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text())[1]
    snapshot = ""
    if git("describe", "--tags", "--exact-match", "--dirty") != f"v{version}":
        date = git("log", "-1", "--format=%cd", "--date=format:%Y%m%d")
        snapshot = f"~git{date}.{commit().replace('-', '.')}"
    return f"{version}{snapshot}+deb{RELEASES[release]}"


class DebianPackage:
    def __init__(self, release: str) -> None:
        self.release = release
        # Of the start: the tree may get a commit meanwhile.
        self.commit = commit()
        self.version = version_of(release)
        self.seconds: dict[str, float] = {}
        self.package = OUTPUT / release
        self.sizes: dict[str, int] = {}  # in bytes

    def make(self) -> None:
        with self.phase("base"):
            base_archive(self.release)
        with self.phase("tools"):
            archive = archive_with(self.release, build_dependencies() + TOOLS)
        with Chroot(self.release, archive) as system:
            with self.phase("build"):
                self.build(system)
            with self.phase("lintian"):
                self.examine(system)
        with self.phase("test"), Chroot(self.release) as system:
            self.live(system)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        print(f"{self.release}: {name}", flush=True)
        began = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began

    def file(self, package: str) -> Path:
        return next(self.package.glob(f"{package}_*.deb"))

    # --- in the system with the build's dependencies ---

    def build(self, system: Chroot) -> None:
        tree = system.copy_tree("/build/walrelay")
        (tree / "cmake/commit.txt").write_text(self.commit + "\n")  # the copy is no clone
        shutil.copytree(tree / "packaging/debian", tree / "debian")
        date = git("log", "-1", "--format=%cD") or time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime())
        maintainer = re.search(r"^Maintainer: (.*)", (tree / "debian/control").read_text(), re.MULTILINE)[1]
        (tree / "debian/changelog").write_text(
            f"walrelay ({self.version}) {self.release}; urgency=medium\n\n"
            f"  * Changes: /usr/share/doc/walrelay/CHANGELOG.md.\n\n -- {maintainer}  {date}\n")
        system.binds[compiler_cache()] = "/ccache"
        system.run(["dpkg-buildpackage", "-b", "-uc", "-us"], folder="/build/walrelay",
                   environment={"DEB_BUILD_OPTIONS": f"parallel={os.cpu_count()}", "CCACHE_DIR": "/ccache",
                                "CCACHE_BASEDIR": "/build/walrelay", "CCACHE_NOHASHDIR": "1"})
        shutil.rmtree(self.package, ignore_errors=True)
        self.package.mkdir(parents=True)
        for built in system.path("/build").glob("walrelay*_*.*"):
            shutil.copy(built, self.package)

    def examine(self, system: Chroot) -> None:
        changes = next(self.package.glob("*.changes")).name
        said = system.run(["lintian", "--allow-root", "--display-info", "--fail-on=error,warning", "--show-overrides",
                           f"/build/{changes}"])
        print(said, end="")
        files = self.files("walrelay")
        missing = [name for name in EXPECTED if name not in files]
        expect(not missing, f"{self.release}: the package lacks {missing}")
        units = [name for name in files if name.endswith(("/walrelay.service", "/walrelay@.service"))]
        expect(len(units) == 2, f"{self.release}: the package has the units {units}")
        debug = [name for name in self.files("walrelay-dbgsym") if name.endswith(".debug")]
        expect(len(debug) == 1, f"{self.release}: walrelay-dbgsym has the symbols {debug}")
        for package in ("walrelay", "walrelay-dbgsym"):
            self.sizes[package] = self.file(package).stat().st_size

    def files(self, package: str) -> set[str]:
        listed = subprocess.run(["dpkg-deb", "-c", self.file(package)], check=True, capture_output=True, text=True).stdout
        return {line.split()[5].removeprefix("./") for line in listed.splitlines()}

    # --- in a bare system ---

    def live(self, system: Chroot) -> None:
        """Installs an older version, uses it, upgrades, removes and purges."""
        package = Path(shutil.copy(self.file("walrelay"), system.path("/root/new.deb")))
        self.repack(package, system.path("/root/old.deb"))
        system.run(["apt-get", "update", "-qq"])
        before = self.named_walrelay(system)
        self.install(system, "/root/old.deb")
        self.sizes["installed"] = 1024 * int(system.run(["dpkg-query", "-W", "-f", "${Installed-Size}", "walrelay"]))
        system.path("/etc/walrelay/orders.toml").write_text(CONFIGURATION)
        self.use(system)
        self.install(system, "/root/new.deb")
        expect(self.installed_version(system) == self.version, f"{self.release}: the upgrade had no effect")
        system.run(["walrelay", "check", "--offline", "--config", "/etc/walrelay/orders.toml"])
        system.run(["dpkg", "--remove", "walrelay"])
        expect(system.path("/etc/walrelay/orders.toml").exists(), f"{self.release}: a removal deleted a configuration")
        system.path("/etc/walrelay/orders.toml").unlink()
        system.run(["dpkg", "--purge", "walrelay"])
        left = self.named_walrelay(system) - before
        expect(not left, f"{self.release}: purge left {sorted(left)}")

    @staticmethod
    def repack(package: Path, other: Path, version: str = OLDER) -> None:
        """The same package with another version."""
        folder = other.with_suffix("")
        subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
        control = folder / "DEBIAN/control"
        control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE))
        subprocess.run(["dpkg-deb", "-b", "--root-owner-group", "-Znone", folder, other], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)

    @staticmethod
    def install(system: Chroot, package: str) -> None:
        system.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])

    @staticmethod
    def installed_version(system: Chroot) -> str:
        return system.run(["dpkg-query", "-W", "-f", "${Version}", "walrelay"])

    @staticmethod
    def named_walrelay(system: Chroot) -> set[str]:
        """The files named like the program, except what tools have cached: pages that man has formatted."""
        return set(system.run(["find", "/", "-xdev", "-name", "*walrelay*", "-not", "-path", "/var/cache/*"]).split())

    def use(self, system: Chroot) -> None:
        """Runs the program as installed. The tools come afterwards: the package must not need them."""
        said = system.run(["walrelay", "version"])
        expect(f"commit     {self.commit}\n" in said, f"{self.release}: walrelay version prints {said}")
        system.run(["walrelay", "check", "--offline", "--config", "/etc/walrelay/orders.toml"])
        example = "/usr/share/doc/walrelay/examples/walrelay.toml"
        said = system.attempt(["walrelay", "check", "--offline", "--config", example]).stdout
        expect("WR-1002" not in said and "WR-1003" not in said, f"{self.release}: the example is invalid: {said}")
        system.run(["bash", "-c", ". /usr/share/bash-completion/completions/walrelay; complete -p walrelay"])
        expect(not list(system.path("/etc/systemd/system").rglob("walrelay*")), f"{self.release}: a unit is enabled")
        system.install(["man-db", "systemd"])
        for page in ("walrelay", "walrelay-run", "walrelay.toml"):
            warnings = system.run(["sh", "-c", f"man --warnings -Tutf8 {page} 2>&1 >/dev/null"])
            expect(not warnings, f"{self.release}: man {page}: {warnings}")
        expect("walrelay-run (1)" in system.run(["apropos", "walrelay"]), f"{self.release}: apropos knows no page")
        units = self.units(system)
        said = system.run(["systemd-analyze", "verify", *units])
        expect("walrelay" not in said, f"{self.release}: systemd-analyze verify: {said}")

    def units(self, system: Chroot) -> list[str]:
        return [line for line in system.run(["dpkg", "-L", "walrelay"]).split() if line.endswith(".service")]


def table(packages: list[DebianPackage]) -> str:
    """One line per release: sizes in MB (10^6 bytes), seconds of each phase."""
    phases = list(packages[0].seconds)
    out = f"{'release':10}{'package':>10}{'dbgsym':>10}{'installed':>11}" + "".join(f"{one:>9}" for one in phases) + "\n"
    for package in packages:
        sizes = (package.sizes["walrelay"], package.sizes["walrelay-dbgsym"], package.sizes["installed"])
        out += f"{package.release:10}" + "".join(f"{size / 1e6:>{width}.1f}M" for size, width in zip(sizes, (9, 9, 10)))
        out += "".join(f"{package.seconds[one]:>8.0f}s" for one in phases) + "\n"
    return out
