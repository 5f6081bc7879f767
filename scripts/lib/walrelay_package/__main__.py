"""See __init__.py."""

import sys
import time

from walrelay_dev.paths import REPOSITORY
from walrelay_package import dockerfile, trial
from walrelay_package.chroot import RELEASES, CommandFailed, reason_not_possible
from walrelay_package.debian import OUTPUT, DebianPackage, table

USAGE = f"usage: package [{'|'.join(RELEASES)}|all]… | image-test | on {'|'.join(RELEASES)} COMMAND…"


def package(names: list[str]) -> None:
    releases = list(RELEASES) if not names or "all" in names else names
    if unknown := set(releases) - RELEASES.keys():
        sys.exit(f"unknown release {', '.join(unknown)}; {USAGE}")
    packages = [DebianPackage(release) for release in releases]
    for one in packages:
        one.make()
    print(f"\n{table(packages)}\npackages: {OUTPUT}")


def image() -> None:
    began = time.monotonic()
    dockerfile.test_image((REPOSITORY / "packaging/docker/Dockerfile").read_text())
    print(f"the image's steps succeeded in {time.monotonic() - began:.0f} s")


def main(arguments: list[str]) -> None:
    if reason := reason_not_possible():
        print(f"skipped: {reason}")
        return
    if arguments[:1] == ["package"]:
        package(arguments[1:])
    elif arguments == ["image-test"]:
        image()
    elif arguments[:1] == ["on"] and len(arguments) > 2 and arguments[1] in RELEASES:
        sys.exit(trial.run(arguments[1], arguments[2:]))
    else:
        sys.exit(USAGE)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CommandFailed as error:
        sys.exit(f"error: {error}")
