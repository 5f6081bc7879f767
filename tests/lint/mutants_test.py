#!/usr/bin/python3
"""The generator of the simulator's core: edits fit the source exactly once and keep its line numbers."""

import importlib.util
import re
import sys
import tempfile
import unittest
from pathlib import Path

_FILE = Path(__file__).resolve().parents[1] / "sim/mutants/generate.py"
_SPEC = importlib.util.spec_from_file_location("generate", _FILE)
generate = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(generate)


class MutantsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root, generate.ROOT = generate.ROOT, self.folder
        self.addCleanup(setattr, generate, "ROOT", self.root)
        (self.folder / "a.cc").write_text("one();\nif (two) {\n  three();\n}\nfour();\nfour();\n")

    def row(self, **edit: str) -> dict:
        return {"name": "Wrong", "edit": [{"file": "a.cc"} | edit]}

    def source(self, *rows: dict) -> list[str]:
        return generate.source_of("a.cc", list(rows)).split("\n")[2:]

    def test_replacement_is_behind_the_switch(self) -> None:
        lines = self.source(self.row(find="if (two)", replace="if (two && !MUTANT)"))
        self.assertEqual(lines[1], "if (two && !::walrelay::sim::Mutant(::walrelay::sim::MutantId::kWrong)) {")

    def test_inserted_lines_keep_the_numbers_of_the_others(self) -> None:
        lines = self.source(self.row(before="three();", insert="  if (MUTANT) {\n    return;\n  }"))
        self.assertEqual(lines[2:7], ["  if (::walrelay::sim::Mutant(::walrelay::sim::MutantId::kWrong)) {", "    return;",
                                      "  }", "#line 3", "  three();"])

    def test_text_that_is_missing_or_ambiguous_fails(self) -> None:
        for text, count in (("five();", 0), ("four();", 2)):
            with self.assertRaisesRegex(generate.Mismatch, f"Wrong: .* in a.cc, found it {count} times"):
                self.source(self.row(find=text, replace="MUTANT"))

    def test_overlapping_edits_fail(self) -> None:
        with self.assertRaisesRegex(generate.Mismatch, "overlap"):
            self.source(self.row(find="if (two)", replace="MUTANT"), self.row(find="(two) {", replace="MUTANT"))

    def test_seam_without_its_mutant_fails(self) -> None:
        with self.assertRaisesRegex(generate.Mismatch, "a.cc does not contain it"):
            generate.check_seam({"name": "Wrong", "seam": "a.cc"})

    def test_every_mutant_fits_the_present_source(self) -> None:
        generate.ROOT = self.root
        rows = generate.mutants()
        self.assertGreaterEqual(len(rows), 70)
        self.assertEqual(len({row["name"] for row in rows}), len(rows))
        generate.write(self.folder, rows)
        for row in rows:
            self.assertTrue(row.get("edit") or row.get("seam"), row["name"])
            self.assertTrue(all("MUTANT" in edit.get("replace", edit.get("insert")) for edit in row.get("edit", [])))

    def test_page_is_up_to_date(self) -> None:
        self.assertEqual((self.root / "docs/reference/mutants.md").read_text(), generate.page(),
                         "run scripts/dev docs")

    def test_production_code_contains_no_mutant(self) -> None:
        found = [path for folder in ("src", "include") for path in (self.root / folder).rglob("*.*")
                 if re.search(r"\bMutant", path.read_text())]
        self.assertEqual(found, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
