"""The relay's program, and its configuration as a file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from walrelay_dev.errors import ServerError
from walrelay_dev.paths import REPOSITORY

# A value, or a list of tables such as {"column": "tenant", "to": "header"}.
Options = Mapping[str, Any]


def build_folder() -> Path:
    """$WALRELAY_BUILD_DIR, else build/dev."""
    return Path(os.environ.get("WALRELAY_BUILD_DIR", REPOSITORY / "build" / "dev")).resolve()


def relay_program() -> Path:
    """The built relay."""
    program = build_folder() / "src" / "cli" / "walrelay"
    if not program.exists():
        raise ServerError(f"{program} does not exist: build it, or set WALRELAY_BUILD_DIR")
    return program


def relay_environment() -> dict[str, str]:
    """This process' environment, without variables that configure a client or a relay."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PG", "WALRELAY_"))}


def to_toml(options: Options) -> str:
    """A configuration file with `options`, named section.key; options that are None are omitted."""
    sections: dict[str, list[str]] = {}
    for name, value in options.items():
        section, _, key = name.rpartition(".")
        # Names of librdkafka properties contain dots.
        if name.startswith("kafka.librdkafka."):
            section, key = "kafka.librdkafka", name.removeprefix("kafka.librdkafka.")
        if value is not None:
            sections.setdefault(section, []).append(f"{json.dumps(key)} = {_value(value)}\n")
    return "".join(f"[{section}]\n{''.join(lines)}" for section, lines in sections.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)  # strings, integers and booleans have the same syntax in TOML
