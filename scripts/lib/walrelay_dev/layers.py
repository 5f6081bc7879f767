"""The folders of src/, as src/CMakeLists.txt lists them. A layer may be a folder in a folder: sinks/kafka/client."""

import re
from pathlib import Path

_LISTS = (Path(__file__).resolve().parents[3] / "src/CMakeLists.txt").read_text()


def _list(name: str) -> list[str]:
    return re.search(rf"set\({name} ([^)]*)\)", _LISTS)[1].split()


LAYERS = _list("layers")  # from the bottom up
PURE_LAYERS = frozenset(_list("pure_layers"))  # no I/O, no clock, no threads, no logging


def layer_of(path: str) -> str | None:
    """The layer of a path below src/ or tests/unit/, or of an include: "sinks/kafka/client/conf.h"."""
    return next((layer for layer in LAYERS if path.startswith(layer + "/")), None)
