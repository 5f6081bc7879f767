#!/usr/bin/python3
"""The pictures of docs/architecture.md show the present source tree."""

import importlib.util
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from walrelay_dev.layers import LAYERS, PURE_LAYERS

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "docs/images/generate.py")
pictures = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = pictures
SPEC.loader.exec_module(pictures)


class PicturesTest(unittest.TestCase):
    def test_pictures_are_up_to_date(self) -> None:
        for name, text in pictures.pictures().items():
            self.assertTrue((ROOT / "docs/images" / name).read_text() == text, f"{name}: run scripts/dev docs")

    def test_architecture_lists_the_folders_from_the_bottom_up(self) -> None:
        rows = re.findall(r"^\| `src/([\w/]+)/` \|.*?(\(pure\))? \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
        self.assertEqual([name for name, _ in rows], LAYERS)
        self.assertEqual({name for name, pure in rows if pure}, PURE_LAYERS)

    def expect_mismatch(self, step: tuple[str, str, str, str], message: str) -> None:
        with mock.patch.object(pictures, "STEPS", [step]), self.assertRaisesRegex(pictures.Mismatch, message):
            pictures.check_steps()

    def test_renamed_class_fails(self) -> None:
        self.expect_mismatch(("session", "src/relay/session.h", "Sessions", ""), "no class Sessions")

    def test_class_that_is_only_declared_fails(self) -> None:
        self.expect_mismatch(("relay", "src/relay/event_loop.h", "Relay", ""), "no class Relay")

    def test_moved_file_fails(self) -> None:
        self.expect_mismatch(("session", "src/stream/session.h", "Session", ""), "session.h does not exist")

    def test_reduction_omits_only_what_follows(self) -> None:
        graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a", "c"}, "e": {"a", "b"}}
        self.assertEqual(pictures.reduced(graph), {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}, "e": {"b"}})

    def test_new_folder_fails(self) -> None:
        with mock.patch.object(pictures, "LAYERS", ["base", "relay", "new"]), \
                self.assertRaisesRegex(pictures.Mismatch, "new"):
            pictures.check_folders()


if __name__ == "__main__":
    sys.exit(unittest.main())
