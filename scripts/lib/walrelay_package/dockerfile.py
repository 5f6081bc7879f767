"""Executes the steps of a Dockerfile in bare systems: a test of the image that needs no container engine.

Knows the instructions that packaging/docker/Dockerfile uses; another one is an error. A stage starts from the base
system of Debian's release instead of its image.
"""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from walrelay_package.chroot import RELEASES, Chroot, CommandFailed

IMAGES = {f"debian:{number}-slim": release for release, number in RELEASES.items()}


@dataclass
class Step:
    instruction: str
    argument: str

    def words(self) -> list[str]:
        return json.loads(self.argument) if self.argument.startswith("[") else shlex.split(self.argument)


@dataclass
class Stage:
    image: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def last(self, instruction: str) -> Step | None:
        return next((step for step in reversed(self.steps) if step.instruction == instruction), None)


def parse(text: str) -> list[Stage]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    stages: list[Stage] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        instruction, _, argument = line.strip().partition(" ")
        if instruction == "FROM":
            words = argument.split()
            stages.append(Stage(words[0], words[2] if len(words) == 3 else ""))
        else:
            stages[-1].steps.append(Step(instruction, argument.strip()))
    return stages


class Build:
    """The systems of the stages. close() deletes them."""

    def __init__(self) -> None:
        self.systems: dict[str, Chroot] = {}
        self.folder = "/"
        self.arguments: dict[str, str] = {}  # of ARG, with their default values

    def close(self) -> None:
        for system in self.systems.values():
            system.close()

    def stage(self, stage: Stage) -> Chroot:
        system = self.systems[stage.name] = Chroot(IMAGES[stage.image])
        self.folder, self.arguments = "/", {}
        for step in stage.steps:
            print(f"{step.instruction} {step.argument[:100]}", flush=True)
            self.step(system, step)
        return system

    def step(self, system: Chroot, step: Step) -> None:
        if step.instruction == "RUN":
            system.run(["sh", "-c", step.argument], folder=self.folder, environment=self.arguments)
        elif step.instruction == "ARG":
            name, _, value = step.words()[0].partition("=")
            self.arguments[name] = value
        elif step.instruction == "WORKDIR":
            self.folder = step.argument
            system.path(self.folder).mkdir(parents=True, exist_ok=True)
        elif step.instruction == "COPY":
            self.copy(system, step.words())
        elif step.instruction not in {"USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD", "LABEL"}:
            raise CommandFailed(f"unknown instruction {step.instruction}")

    def copy(self, system: Chroot, words: list[str]) -> None:
        if not words[0].startswith("--from="):
            if words[0] != ".":
                raise CommandFailed(f"COPY {words}: only the whole tree can be copied")
            system.copy_tree(words[1])
            return
        source = self.systems[words[0].removeprefix("--from=")].path(words[1])
        target: Path = system.path(words[2])
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)


def test_image(text: str) -> None:
    """Builds the last stage, and runs its entry point and health check as its user."""
    build = Build()
    try:
        stages = parse(text)
        systems = [build.stage(stage) for stage in stages]
        image, system = stages[-1], systems[-1]
        user = image.last("USER").argument
        entry = image.last("ENTRYPOINT").words()
        print(system.run([*entry, "version"], user=user), end="")
        health = image.last("HEALTHCHECK").argument
        done = system.attempt(json.loads(health[health.index("CMD ") + 4:]), user=user)
        if done.returncode != 69:  # no relay runs
            raise CommandFailed(f"HEALTHCHECK: expected exit code 69, got {done.returncode}: {done.stdout}")
        done = system.attempt([*entry, *image.last("CMD").words()], user=user)
        if done.returncode != 78 or "source.dsn" not in done.stdout:  # nothing is configured
            raise CommandFailed(f"CMD: expected exit code 78, got {done.returncode}: {done.stdout}")
    finally:
        build.close()
