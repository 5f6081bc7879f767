"""The folders of src/, as src/CMakeLists.txt lists them."""

import re
from pathlib import Path

_LISTS = (Path(__file__).resolve().parents[3] / "src/CMakeLists.txt").read_text()


def _list(name: str) -> list[str]:
    return re.search(rf"set\({name} ([^)]*)\)", _LISTS)[1].split()


LAYERS = _list("layers")  # from the bottom up
PURE_LAYERS = frozenset(_list("pure_layers"))  # no I/O, no clock, no threads, no logging
