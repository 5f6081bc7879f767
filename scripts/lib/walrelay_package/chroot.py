"""Bare Debian systems in a folder, in which packages and the image are built and tested. Requires root and debootstrap.

A system is unpacked from an archive in build/chroot. Its mounts are private to each command, so that none remains.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from walrelay_dev.paths import REPOSITORY

CACHE = REPOSITORY / "build/chroot"
MIRROR = "http://deb.debian.org/debian"
RELEASES = {"bookworm": 12, "trixie": 13}

# Mounts what a build expects, then runs the command that follows: ROOT [SOURCE TARGET]… -- COMMAND.
ENTER = """
root=$1; shift
mount -t proc proc "$root/proc"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do mkdir -p "$root$2"; mount --bind "$1" "$root$2"; shift 2; done
shift
exec chroot "$root" env -i "$@"
"""


class CommandFailed(Exception):
    """A command failed. The message has the command and the end of its output."""


class Chroot:
    """One system. Deleted with close(), or at the end of a with statement."""

    def __init__(self, release: str, archive: Path | None = None) -> None:
        self.release = release
        self.root = Path(tempfile.mkdtemp(prefix=f"{release}-", dir=CACHE))
        self.root.chmod(0o755)
        checked(["tar", "-C", self.root, "-xf", archive or base_archive(release)])
        packages = CACHE / f"packages-{release}"  # what apt has downloaded, for the next system
        packages.mkdir(exist_ok=True)
        self.binds = {packages: "/var/cache/apt/archives"}

    def __enter__(self) -> Chroot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        shutil.rmtree(self.root)

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")

    def attempt(self, command: Sequence[str], *, folder: str = "/", user: str = "root",
                environment: Mapping[str, str] | None = None, shown: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, whatever its exit code is. Its output, with standard error, is printed if `shown`, and
        otherwise returned."""
        binds = [str(part) for pair in self.binds.items() for part in pair]
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                     "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **(environment or {})}
        if user != "root":
            identity, _, group = user.partition(":")
            command = ["setpriv", f"--reuid={identity}", f"--regid={group or identity}", "--clear-groups", *command]
        script = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER, "sh", str(self.root),
                  *binds, "--", *(f"{name}={value}" for name, value in variables.items()),
                  "sh", "-euc", 'cd "$1"; shift; exec "$@"', "sh", folder, *command]
        return subprocess.run(script, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              stdout=None if shown else subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, command: Sequence[str], **options: object) -> str:
        """Like attempt(); a failure raises CommandFailed with the end of the output."""
        done = self.attempt(command, **options)  # type: ignore[arg-type]
        if done.returncode != 0:
            end = "\n".join(done.stdout.splitlines()[-60:])
            raise CommandFailed(f"in {self.release}: {' '.join(command)}: exit code {done.returncode}\n{end}")
        return done.stdout

    def install(self, packages: Sequence[str]) -> None:
        self.run(["apt-get", "update", "-qq"])
        self.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages])

    def copy_tree(self, inside: str) -> Path:
        """Copies the tree with its uncommitted changes, without what git ignores. Returns the path of the copy."""
        listed = git("ls-files", "-coz", "--exclude-standard")
        if not listed:
            raise CommandFailed("the tree is not a clone: git lists no files")
        for name in filter(None, listed.split("\0")):
            target = self.path(inside) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / name).exists():  # deleted files stay in the index until they are committed
                shutil.copy(REPOSITORY / name, target)
        return self.path(inside)

    def save(self, archive: Path) -> None:
        partial = archive.with_suffix(".partial")
        checked(["tar", "-C", self.root, "--one-file-system", "-cf", partial, "."])
        partial.rename(archive)


def checked(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise CommandFailed(f"{command[0]}: exit code {done.returncode}: {done.stdout[-2000:]}")


def git(*arguments: str) -> str:
    """The output of a git command in the repository; "" if it fails."""
    return subprocess.run(["git", "-C", REPOSITORY, *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.strip()


def compiler_cache() -> Path:
    """The cache of this machine: it has the objects of the preset "release" if the release's compiler is the same."""
    folder = Path(subprocess.run(["ccache", "--get-config", "cache_dir"], text=True, check=True,
                                 stdout=subprocess.PIPE).stdout.strip())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def commit() -> str:
    """As cmake/Commit.cmake determines it."""
    return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*") or "unknown"


def reason_not_possible() -> str:
    """Why no system can be created here; "" if one can."""
    if os.geteuid() != 0:
        return "a chroot requires root"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "this machine allows no mounts"
    return "" if shutil.which("debootstrap") else "debootstrap is not installed"


def base_archive(release: str) -> Path:
    """The smallest system of a release, created on the first use."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / f"base-{release}.tar"
    if archive.exists():
        return archive
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        root = Path(folder) / "root"
        checked(["debootstrap", "--variant=minbase", release, root, MIRROR])
        # A system that lives for minutes needs no fsync.
        (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        (root / "etc/apt/apt.conf.d/90keep").write_text('Binary::apt::APT::Keep-Downloaded-Packages "true";\n'
                                                        'Acquire::Languages "none";\n')
        for archived in (root / "var/cache/apt/archives").glob("*.deb"):
            archived.unlink()
        partial = archive.with_suffix(".partial")
        checked(["tar", "-C", root, "--one-file-system", "-cf", partial, "."])
        partial.rename(archive)
    return archive


def archive_with(release: str, packages: Sequence[str]) -> Path:
    """A base system with these packages, created when the list is new."""
    digest = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:12]
    archive = CACHE / f"with-{release}-{digest}.tar"
    if not archive.exists():
        with Chroot(release) as system:
            system.install(packages)
            system.save(archive)
    return archive
