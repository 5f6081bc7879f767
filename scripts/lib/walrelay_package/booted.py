"""A bare Debian system that systemd has booted: for what a package and its units do on a host.

It has its own processes, mounts and control group, and the network of this machine. Requires root, and a kernel with the
unified hierarchy of control groups.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from .chroot import Chroot, CommandFailed, archive_with

PACKAGES = ["systemd", "systemd-sysv", "dbus"]

# As a container manager prepares it for systemd (systemd.io/CONTAINER_INTERFACE). The mounts are shared, because systemd moves
# the credentials of a unit to their place from a mount namespace of their own.
BOOT = """
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run dev tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
chmod 1777 "$root/tmp"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -m 1777 "$root/dev/shm"
mkdir "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount --make-rshared "$root"
cd "$root"
exec env -i container=walrelay PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /lib/systemd/systemd
"""
_GROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


def unified_hierarchy() -> Path | None:
    return next((path for path in _GROUPS if (path / "cgroup.controllers").exists()), None)


class Booted(Chroot):
    """Boots when it is created, and ends with its context."""

    def __init__(self, release: str) -> None:
        super().__init__(release, archive_with(release, PACKAGES))
        hierarchy = unified_hierarchy()
        assert hierarchy is not None, "the caller has checked it"
        self._group = hierarchy / f"walrelay-{self.root.name}"
        self._group.mkdir()
        join = 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"'
        self._init = subprocess.Popen(
            ["sh", "-euc", join, "sh", self._group, "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--cgroup",
             "--uts", "--ipc", "--fork", "--kill-child", "sh", "-euc", BOOT, "sh", self.root],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._await_boot()

    def close(self) -> None:
        self._init.kill()
        self._init.wait()
        self._remove_group()
        super().close()

    def enter(self, command: Sequence[str], environment: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Runs a command in the booted system, as root. Its output has standard error in it."""
        # The child of unshare, which is the first process of the namespace.
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children").read_text().split()
        if not children:
            raise CommandFailed(f"{self.release}: systemd has ended")
        variables = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                     "DEBIAN_FRONTEND=noninteractive", *environment]
        return subprocess.run(["nsenter", "-t", children[0], "-a", "-r", "-w", "env", "-i", *variables, *command], text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def type(self, line: str) -> str:
        """Runs a line of shell in /root; returns what it prints. A failure raises CommandFailed."""
        done = self.enter(["sh", "-euc", f"cd /root; {line}"])
        if done.returncode != 0:
            raise CommandFailed(f"{line}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def _await_boot(self) -> None:
        deadline = time.monotonic() + 120
        state = "not started"
        while time.monotonic() < deadline:
            try:
                state = self.enter(["systemctl", "is-system-running"]).stdout.strip()
            except (CommandFailed, FileNotFoundError):
                state = "not started"
            if state in ("running", "degraded"):
                return
            time.sleep(0.2)
        self.close()
        raise CommandFailed(f"{self.release}: systemd did not boot: {state}")

    def _remove_group(self) -> None:
        # The kernel ends the processes of the namespace with its first one, but not at once.
        for folder, _, _ in sorted(os.walk(self._group), reverse=True):
            for _ in range(100):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.05)


def reason_not_possible() -> str:
    """Why no system can be booted here; "" if one can."""
    if unified_hierarchy() is None:
        return "the kernel has no unified hierarchy of control groups"
    return "" if shutil.which("nsenter") else "nsenter is not installed"
