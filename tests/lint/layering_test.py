#!/usr/bin/python3
"""Checks the architecture: includes point down, names stay in their layer, every test is registered.

A layer is a folder of src/; src/CMakeLists.txt lists them from the bottom up. The compiler also detects
that a layer uses a higher one; this test reports it in one line and covers rules that a compiler does not
check.
"""

import re
import sys
import unittest
from pathlib import Path

from walrelay_dev.layers import LAYERS, PURE_LAYERS, layer_of

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# (pattern, where it is allowed, what to use instead)
BANNED = [
    (r"\bstd::regex\b|#\s*include\s*<regex>", set(), "RE2: std::regex overflows the stack on row data"),
    (r"\bPQ[a-z]\w*\s*\(", {"postgres"}, "the classes of src/postgres"),
    (r"\brd_kafka_\w+", {"sinks/kafka"}, "the classes of src/sinks/kafka"),
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|strncpy)\s*\(", set(), "fmt::format, std::string"),
    (r"\bstd::(cout|cerr|endl)\b", set(), "fmt::print, or the log"),
    (r"\bthrow\b(?!ing)", set(), "absl::Status"),
    (r"\b(rand|srand)\s*\(", set(), "a seeded engine"),
]
BANNED_IN_PURE = [
    (r"\w+_clock::now\s*\(", "time comes in as a value"),
    (r"\bstd::(thread|mutex|atomic|condition_variable)\b", "one thread owns the state"),
    (r"\b(poll|read|write|open|socket|send|recv)\s*\(\s*\w+,", "no I/O"),
    (r"\bLog(Info|Warning|Debug|Status)?\s*\(", "return a Status; the outer layers log"),
]


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in {".h", ".cc", ".def"})


def code_of(path: Path) -> str:
    """The text without comments and string literals, line by line as in the file."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', path.read_text())
    return re.sub(r"//[^\n]*", "", text)


def layer_of_source(path: Path) -> str:
    return layer_of(str(path.relative_to(ROOT / "src"))) or ""


class LayeringTest(unittest.TestCase):
    def problems(self, pattern: str, path: Path, why: str) -> list[str]:
        return [f"{path.relative_to(ROOT)}:{number}: {line.strip()}  ({why})"
                for number, line in enumerate(code_of(path).splitlines(), 1) if re.search(pattern, line)]

    def expect_none(self, problems: list[str]) -> None:
        self.assertFalse(problems, "\n" + "\n".join(problems))

    def test_every_folder_of_src_is_a_layer(self) -> None:
        folders = {str(path.parent.relative_to(ROOT / "src")) for path in sources("src")}
        self.assertEqual(folders, set(LAYERS))

    def test_contributing_names_the_pure_layers(self) -> None:
        sentence = re.search(r"((?:`\w+`(?:,|\s|and)*)+)are pure", (ROOT / "CONTRIBUTING.md").read_text())
        self.assertEqual(set(re.findall(r"`(\w+)`", sentence[1])), PURE_LAYERS)

    def test_includes_point_down(self) -> None:
        problems = []
        for path in sources("src"):
            own = LAYERS.index(layer_of_source(path))
            for include in INCLUDE.findall(path.read_text()):
                target = layer_of(include)
                known = target is not None and LAYERS.index(target) <= own
                if ".." in include or not (known or include.split("/")[0] in {"walrelay", "absl"}):
                    problems.append(f"{path.relative_to(ROOT)} includes \"{include}\"")
        self.expect_none(problems)

    def test_public_headers_include_only_each_other(self) -> None:
        problems = [f"{path.relative_to(ROOT)} includes \"{include}\""
                    for path in sources("include") for include in INCLUDE.findall(path.read_text())
                    if include.split("/")[0] not in {"walrelay", "absl"}]
        self.expect_none(problems)

    def test_banned_names(self) -> None:
        problems = []
        for path in sources("src") + sources("include"):
            folder = path.parent.relative_to(ROOT / "src") if path.is_relative_to(ROOT / "src") else Path("include")
            for pattern, allowed, why in BANNED:
                if not any(folder.is_relative_to(each) for each in allowed):
                    problems += self.problems(pattern, path, why)
        self.expect_none(problems)

    def test_pure_layers_touch_nothing(self) -> None:
        problems = []
        for path in sources("src"):
            if layer_of_source(path) in PURE_LAYERS:
                for pattern, why in BANNED_IN_PURE:
                    problems += self.problems(pattern, path, why)
        self.expect_none(problems)

    def test_every_test_file_is_registered(self) -> None:
        registered = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("CMakeLists.txt"))
        tests = [path for path in (ROOT / "tests").rglob("*")
                 if re.search(r"(_test\.(cc|py)|^test_\w+\.py|_fuzz\.cc)$", path.name)]
        # The folders of tests/unit register all their files. A test written in Python is registered by its file's name,
        # or as a module: without ".py".
        missing = [str(path.relative_to(ROOT)) for path in tests
                   if path.stem not in registered and not path.is_relative_to(ROOT / "tests/unit")]
        self.expect_none(missing)


if __name__ == "__main__":
    sys.exit(unittest.main())
