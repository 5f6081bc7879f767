#!/usr/bin/python3
"""Writes the simulator's copy of the core, with every mutant behind a switch.

Each *.toml of this folder is a list of mutants: a name, the defect, and either edits of the core or the
file of tests/sim in which the mutant changes what passes through a seam. An edit either replaces a text
or inserts lines before the line that contains a text. Edits of one file do not overlap; those that insert at the same place keep
their order. MUTANT in the new
text is true while the simulator runs this mutant.

Fails if a text does not occur exactly once: a mutant that no longer fits the source must be fixed together
with the source.

  generate.py files          lists the edited files, as paths in the repository
  generate.py write FOLDER   writes FOLDER/core/<path below src> and FOLDER/mutants.def
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# In the order of the table in docs/reliability.md.
GROUPS = ("confirming", "starting", "gaps", "limit", "reading", "visibility", "feedback", "regressions", "kafka")


class Mismatch(Exception):
    """A row does not fit the source."""


def mutants() -> list[dict]:
    rows = []
    for group in GROUPS:
        rows += tomllib.loads((Path(__file__).parent / f"{group}.toml").read_text())["mutant"]
    return rows


def edited_files(rows: list[dict]) -> list[str]:
    return sorted({edit["file"] for row in rows for edit in row.get("edit", [])})


def check_seam(row: dict) -> None:
    if not re.search(rf"\bMutantId::k{row['name']}\b", (ROOT / row["seam"]).read_text()):
        raise Mismatch(f"mutant {row['name']}: {row['seam']} does not contain it")


def locate(edit: dict, name: str, text: str) -> tuple[int, int, str]:
    """Where an edit begins and ends in the source, and the text that takes its place."""
    anchor = edit.get("find", edit.get("before"))
    if (count := text.count(anchor)) != 1:
        raise Mismatch(f"mutant {name}: expected this text once in {edit['file']}, found it {count} times:\n{anchor}")
    begin = text.index(anchor)
    if "find" in edit:
        end, new = begin + len(anchor), edit["replace"]
    else:
        begin = end = text.rfind("\n", 0, begin) + 1
        new = edit["insert"].rstrip("\n") + "\n"
    return begin, end, re.sub(r"\bMUTANT\b", f"::walrelay::sim::Mutant(::walrelay::sim::MutantId::k{name})", new)


def source_of(file: str, rows: list[dict]) -> str:
    text = (ROOT / file).read_text()
    edits = sorted((locate(edit, row["name"], text) for row in rows for edit in row.get("edit", [])
                    if edit["file"] == file), key=lambda edit: edit[:2])
    out = f'#include "mutant.h"\n#line 1 "{ROOT / file}"\n'
    position = 0
    for begin, end, new in edits:
        if begin < position:
            raise Mismatch(f"two edits of {file} overlap at: {new}")
        out += text[position:begin] + new
        position = end
        # The lines that follow keep their numbers.
        if new.count("\n") != text[begin:end].count("\n"):
            line_end = position if new.endswith("\n") else text.index("\n", position) + 1
            out += text[position:line_end] + f"#line {text.count(chr(10), 0, line_end) + 1}\n"
            position = line_end
    return out + text[position:]


def write(folder: Path, rows: list[dict]) -> None:
    for row in rows:
        if "seam" in row:
            check_seam(row)
    for file in edited_files(rows):
        path = folder / "core" / Path(file).relative_to("src")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source_of(file, rows))
    definitions = [f'WALRELAY_MUTANT({row["name"]}, "{row["defect"]}")\n' for row in rows]
    (folder / "mutants.def").write_text("".join(definitions))


def main() -> int:
    rows = mutants()
    if sys.argv[1:] == ["files"]:
        print(";".join(edited_files(rows)), end="")
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "write":
        try:
            write(Path(sys.argv[2]), rows)
        except Mismatch as mismatch:
            print(mismatch, file=sys.stderr)
            return 1
        return 0
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main())
