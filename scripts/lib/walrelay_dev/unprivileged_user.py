"""The user that runs a server, and the files and folders that it must be able to read.

Postgres refuses to run as root, and no other server needs root. So if this process runs as root, a
server runs as an unprivileged user, given by name. None means the user of this process.
"""

import os
import pwd
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .errors import ServerError
from .paths import make_folders


def unprivileged_user(*preferred: str) -> str | None:
    """The first existing user of `preferred` if this process runs as root; otherwise None."""
    if os.geteuid() != 0:
        return None
    for name in preferred:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerError(f"cannot run a server as root, and none of the users {', '.join(preferred)} exists")


def run_as(user: str | None) -> dict[str, Any]:
    """Keyword arguments of subprocess.Popen that drop root for `user` and its group only."""
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def write_file(path: Path, text: str, user: str | None, mode: int = 0o644) -> None:
    """Replaces a file. `user` owns it, and no other user can read it before the mode is set."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    set_owner(path, user)
    path.chmod(mode)


def claim_folder(directory: Path | None, prefix: str, user: str | None) -> Path:
    """A new or empty folder that `user` owns: `directory`, or a new one under /tmp.

    Ignores TMPDIR, because the path of a Unix socket must be short. Rejects a folder that is not
    empty, because the claimed folder is deleted completely later.
    """
    if directory is None:
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    check_reachable(next(each for each in directory.parents if each.exists()), user)
    make_folders(directory)
    if any(directory.iterdir()):
        raise ServerError(f"{directory} is not empty: choose a new folder")
    directory.chmod(0o755)
    set_owner(directory, user)
    return directory


def check_reachable(path: Path, user: str | None) -> None:
    """Raises unless `user` can enter a folder or run a program; in home folders it often cannot."""
    found = subprocess.run(["test", "-x", path], cwd="/", **run_as(user))
    if found.returncode != 0:
        raise ServerError(f"user {user or os.geteuid()} cannot enter {path}; choose a "
                           "folder that every user can enter (WALRELAY_CACHE, --dir)")


def set_owner(path: Path, user: str | None) -> None:
    """Gives a file or folder to `user`, unless that is the user of this process."""
    if user is not None:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)
