"""Bases of the tests of exactly-once delivery."""

from typing import Any

from .progress_case import ProgressCase


class OnceCase(ProgressCase):
    def options(self) -> dict[str, Any]:
        return super().options() | {"pipeline.delivery": "exactly_once"}
