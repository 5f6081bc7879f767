#!/usr/bin/python3
"""The links of the documentation: every relative link, #anchor and `path` in *.md resolves, and README leads everywhere."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:src|include|tests|docs|scripts|bench|packaging|proto|cmake)/[\w./-]*)`")

TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)


def pages() -> list[Path]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "*.md"], capture_output=True, text=True,
                            check=False)
    # A source archive has no index.
    names = listed.stdout.split("\0")[:-1] or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")
                                               if path.relative_to(ROOT).parts[0] != "build"]
    return sorted(ROOT / name for name in names)


def prose_of(text: str) -> str:
    """Without blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.*)$", prose_of(text), re.MULTILINE):
        heading = LINK.sub(lambda match: match[0][1:match[0].index("]")], heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(anchor)
    return found


def links_of(page: Path) -> list[tuple[str, Path, str]]:
    """The relative links: as written, the file, the anchor."""
    return [(link, (page.parent / link.split("#")[0]).resolve() if not link.startswith("#") else page,
             link.partition("#")[2])
            for link in LINK.findall(prose_of(page.read_text())) if not re.match(r"[a-z]+:", link)]


class LinksTest(unittest.TestCase):
    def test_every_link_resolves(self) -> None:
        broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages() for link, target, anchor in links_of(page)
                  if not target.exists() or anchor and anchor not in anchors_of(target.read_text())]
        self.assertFalse(broken, "\n" + "\n".join(broken))

    def test_every_path_in_backticks_exists(self) -> None:
        missing = [f"{page.relative_to(ROOT)}: {path}" for page in pages()
                   for path in PATH.findall(prose_of(page.read_text()))
                   if not any((folder / path).exists() or list(folder.glob(path + ".*")) for folder in (ROOT, page.parent))]
        self.assertFalse(missing, "\n" + "\n".join(missing))

    def test_every_page_that_the_source_names_exists(self) -> None:
        missing = []
        for folder in ("src", "include", "scripts", "tests", "packaging", "proto", "bench"):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and path.suffix in {".h", ".cc", ".def", ".py", ".toml", ".yml", ".proto", ".service", ""}:
                    missing += [f"{path.relative_to(ROOT)}: {page}"
                                for page in re.findall(r"\bdocs/[\w/.-]+\.(?:md|svg)\b", path.read_text(errors="ignore"))
                                if not (ROOT / page).exists()]
        self.assertFalse(missing, "\n" + "\n".join(missing))

    def test_every_name_exists(self) -> None:
        """Codes, metrics, alerts and tests that a page names."""
        known = {r"WR-\d{4}": (ROOT / "docs/errors.md").read_text(),
                 r"walrelay_(?:slot|source|stage|oldest|visibility|events|produce|gap|kafka|last)_\w+":
                     (ROOT / "docs/reference/metrics.md").read_text(),
                 r"Walrelay[A-Z]\w+": (ROOT / "packaging/prometheus/walrelay.rules.yml").read_text(),
                 r"`test_\w+": "".join(f"`{path.stem}" for path in (ROOT / "tests").rglob("test_*.py")),
                 r"`[A-Z]\w+Test(?:\.\w+)?": "".join(f"`{one}.{two}" for path in (ROOT / "tests").rglob("*_test.cc")
                                                     for one, two in TEST.findall(path.read_text()))}
        missing = [f"{page.relative_to(ROOT)}: {name}" for page in pages() for pattern, text in known.items()
                   for name in re.findall(pattern, page.read_text(), re.MULTILINE)
                   if re.sub("_(bucket|sum|count)$", "", name) not in text]
        self.assertFalse(missing, "\n" + "\n".join(missing))

    def test_every_fuzz_target_is_described(self) -> None:
        described = (ROOT / "docs/reliability.md").read_text()
        for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc"):
            self.assertIn(f"| `{path.stem.removesuffix('_fuzz')}` |", described)

    def test_every_page_is_reached_from_the_readme(self) -> None:
        reached, waiting = set(), [ROOT / "README.md"]
        while waiting:
            page = waiting.pop()
            if page not in reached:
                reached.add(page)
                waiting += [target for _, target, _ in links_of(page) if target.suffix == ".md" and target.is_file()]
        lost = [str(page.relative_to(ROOT)) for page in pages()
                if page not in reached and page.relative_to(ROOT).parts[0] == "docs"]
        self.assertFalse(lost, "\n" + "\n".join(lost))

    def test_anchors_are_those_of_github(self) -> None:
        text = "# A `code`: title\n## From Debezium's, twice\n## [x](y.md) and_z\n## Same\n```sh\n# no heading\n```\n## Same\n"
        self.assertEqual(anchors_of(text),
                         {"a-code-title", "from-debeziums-twice", "x-and_z", "same", "same-1"})


if __name__ == "__main__":
    sys.exit(unittest.main())
