"""Folders in the cache that are built once and atomically."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from .errors import ServerError
from .paths import cache_folder, make_folders


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache. The first time, `build` fills it in a temporary folder.

    Safe for concurrent processes: one builds while the others wait. A build that fails or is killed
    leaves nothing under `name`. Every user can read the folder.
    """
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    try:
        make_folders(folder.parent)
        with open(cache_folder() / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _build(folder, build)
    except PermissionError as error:
        raise ServerError(f"cannot write {error.filename}; set WALRELAY_CACHE to another folder") from error
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        build(temporary)
        _make_readable(temporary)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _make_readable(top: Path) -> None:
    """chmod -R a+rX, because mkdtemp and a strict umask would deny access to a server's user."""
    for path in [top, *top.rglob("*")]:
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        executable = 0o111 if path.is_dir() or mode & stat.S_IXUSR else 0
        os.chmod(path, stat.S_IMODE(mode) | 0o444 | executable)
