#!/usr/bin/python3
"""The status page in a browser: the text of each state, on a desktop and on a phone, with and without script.

`--screenshots FOLDER` stores screenshots of every sample.
"""

import argparse
import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from functools import cache
from pathlib import Path
from typing import ClassVar

PATIENCE = 120.0  # a browser's first start on a busy machine
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESK, PHONE = (1200, 1500), (390, 2600)

WORDS = {
    "streaming": ["Events flow", "3 events are in flight to Kafka.", "For 3 h 12 min.", "WR-2005",
                  "4,182,907 since the start", "Postgres retains 18.0 MiB of WAL for the slot."],
    "catching_up": ["Catching up", "Publishing a backlog of 3.0 GiB of WAL. Caught up in about 1 min 17 s.",
                    "41 min", "Waiting for Kafka to acknowledge"],
    "blocked": ["Blocked", "Publishing is blocked until an operator or a broker fixes the cause.", "WR-3004",
                "Make the column NOT NULL.", "id=7f3c1e9a-5b1d-4c7e-9a55-0d6b8f6a2c11", "What to do", "19 min",
                "at most 9120 not published, the oldest for 19 min; 12 rows from before the slot"],
    "degraded": ["Interrupted", "walrelay retries automatically.", "WR-4001", "Connection refused",
                 "21 times, last 3 s ago"],
    "standby": ["Standing by", "this one takes over when that one stops.",
                "Waiting for the slot, which another process holds."],
    "slot_almost_lost": ["Slot at risk", "reached in about 1 min 30 s", "WR-2108",
                         "ALTER SYSTEM SET max_slot_wal_keep_size", "application nightly export", "97 percent used",
                         "Table public.outbox has 6100400 dead rows", "VACUUM (FULL, ANALYZE) \"public\".\"outbox\";"],
}


@cache
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        if os.environ.get("CI") == "true":
            raise AssertionError("chromium is missing: apt-get install chromium")
        raise unittest.SkipTest("chromium is missing: apt-get install chromium")
    return found


class StatusPageTest(unittest.TestCase):
    pictures: ClassVar[Path | None] = None

    @classmethod
    def setUpClass(cls) -> None:
        browser()
        program = Path(os.environ["WALRELAY_BUILD_DIR"]) / "tests/browser/status_server"
        cls.server = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.stdout.close)
        cls.addClassCleanup(cls.server.stdin.close)
        cls.address = f"http://127.0.0.1:{cls.server.stdout.readline().strip()}"

    def browse(self, page: str, *options: str, size: tuple[int, int] = DESK, milliseconds: int = 500) -> str:
        """The output of Chromium with `options`, after `milliseconds` of virtual time."""
        with tempfile.TemporaryDirectory(prefix="walrelay-browser-", ignore_cleanup_errors=True) as profile:
            done = subprocess.run(
                [browser(), "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
                 f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}",
                 f"--virtual-time-budget={milliseconds}", *options, f"{self.address}/{page}"],
                capture_output=True, text=True, timeout=PATIENCE, env=os.environ | {"HOME": profile})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def dom(self, page: str, **how: int) -> str:
        return self.browse(page, "--dump-dom", **how)

    def raw(self, page: str) -> str:
        with urllib.request.urlopen(f"{self.address}/{page}", timeout=PATIENCE) as answer:
            return answer.read().decode()

    def test_text_of_each_state(self) -> None:
        for name, words in WORDS.items():
            with self.subTest(name):
                shown = text_of(self.dom(name))
                for expected in words:
                    self.assertIn(expected, shown)

    def test_page_is_complete_without_script(self) -> None:
        for name, words in WORDS.items():
            with self.subTest(name):
                page = self.raw(name)
                for expected in words:
                    self.assertIn(expected, text_of(page))
                self.assertIn('<noscript><meta http-equiv="refresh"', page)
                self.assertEqual(page.count("<svg"), 3)

    def test_overview_lists_the_pipelines_with_problems_first(self) -> None:
        shown = text_of(self.dom("fleet"))
        for expected in ("pipelines ready", "blocked", "Blocked WR-3004", "streaming", "Events flow"):
            self.assertIn(expected, shown)
        page = self.dom("fleet")
        places = [page.index(f'href="status/{name}"') for name in ("blocked", "catching_up", "streaming")]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("<img", page)  # of the hostile sample

    def test_page_refreshes_itself(self) -> None:
        before, after = (int(re.search(r"1,0(\d\d) since the start", self.dom("moving", milliseconds=time))[1])
                         for time in (500, 21_000))
        self.assertGreaterEqual(after - before, 3, "one refresh every five seconds")

    def test_policy_allows_only_this_script(self) -> None:
        page = self.raw("streaming")
        script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}'", page)

    def test_hostile_text_does_nothing(self) -> None:
        shown = self.dom("hostile")
        self.assertNotIn("<title>owned</title>", shown)
        self.assertNotIn("<img", shown)
        self.assertIn("document.title='owned'", text_of(shown))

    def test_page_fits_on_a_phone(self) -> None:
        widths = json.loads(re.search(r"<title>(.*?)</title>", self.dom("phone", milliseconds=5_000))[1])
        self.assertGreaterEqual(widths.keys(), WORDS.keys() | {"fleet"})
        self.assertEqual(set(widths.values()), {PHONE[0]}, widths)

    def take_pictures(self) -> None:
        assert self.pictures is not None
        self.pictures.mkdir(parents=True, exist_ok=True)
        for name in [*WORDS, "hostile", "starting", "no_relay", "fleet"]:
            for size in (DESK, PHONE):
                self.browse(name, f"--screenshot={self.pictures}/{name}-{size[0]}.png", size=size)


def text_of(page: str) -> str:
    """The visible text with normalized spaces, including the aria-labels."""
    body = re.sub(r"<(script|style)>.*?</\1>", " ", page, flags=re.DOTALL)
    labels = re.sub(r'<[^>]*aria-label="([^"]*)"[^>]*>', r" \1 ", body)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", labels)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshots", type=Path)
    arguments, rest = parser.parse_known_args()
    StatusPageTest.pictures = arguments.screenshots
    wanted = ["StatusPageTest.take_pictures"] if arguments.screenshots else rest
    unittest.main(argv=[sys.argv[0], *wanted], verbosity=2)
