#!/usr/bin/python3
"""The language of the project: no file contains a phrase that the glossary in CONTRIBUTING.md rejects."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The glossary itself, and data that others wrote or that a run of the benchmark produced.
EXCLUDED = ("CONTRIBUTING.md", "LICENSE", "docs/benchmarks/", "tests/unit/golden/",
            "tests/lint/language_test.py", "tests/conformance/cases.json")


def rejected_phrases() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paragraph = text[text.index("rejects these phrases"):].split("\n\n")[0]
    return re.findall(r"`([^`]+)`", paragraph)


def files() -> list[Path]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True,
                            check=False)
    # A source archive has no index: then every file counts but what a build leaves behind.
    names = listed.stdout.split("\0")[:-1] if listed.returncode == 0 else [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
        if path.is_file() and path.relative_to(ROOT).parts[0] not in {"build", ".git"}]
    return [ROOT / name for name in names if not name.startswith(EXCLUDED)]


def problems_of(text: str, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """Line and phrase. A phrase may be broken over two lines, also of a comment or a string literal."""
    return [(text.count("\n", 0, match.start()) + 1, match.group()) for match in pattern.finditer(text)]


def pattern_of(phrases: list[str]) -> re.Pattern[str]:
    gap = r"[\s\"/#*]+"
    # A phrase in quotes of its own is a name: the user "nobody".
    return re.compile(r"(?<![\"'=])\b(?:" + "|".join(gap.join(map(re.escape, phrase.split())) for phrase in phrases) + r")\b",
                      re.IGNORECASE)


class LanguageTest(unittest.TestCase):
    def test_no_file_contains_a_rejected_phrase(self) -> None:
        pattern = pattern_of(rejected_phrases())
        found = []
        for path in files():
            try:
                text = path.read_text()
            except (UnicodeDecodeError, FileNotFoundError):
                continue
            found += [f"{path.relative_to(ROOT)}:{line}: {' '.join(phrase.split())}"
                      for line, phrase in problems_of(text, pattern)]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_comments_have_a_subject(self) -> None:
        """A comment of src/ or include/ does not begin with "Of ...", "What ..." or the like."""
        headless = re.compile(r"^\s*//+ (?:Of|What|Which|Whose|In which|Likewise|Whoever|Whatever)\b")
        found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for folder in ("src", "include")
                 for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".cc", ".h", ".def"}
                 for number, line in enumerate(path.read_text().splitlines(), 1) if headless.search(line)]
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_the_glossary_lists_phrases(self) -> None:
        self.assertGreater(len(rejected_phrases()), 20)
        self.assertIn("is wanted", rejected_phrases())

    def test_a_phrase_is_found_across_lines(self) -> None:
        pattern = pattern_of(["for example"])
        self.assertEqual([line for line, _ in problems_of("a\n// this is for\n// example", pattern)], [2])
        self.assertEqual(len(problems_of('"this is for "\n    "example"', pattern)), 1)
        self.assertEqual(problems_of("forexample", pattern), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
