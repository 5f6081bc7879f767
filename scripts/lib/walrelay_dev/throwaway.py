"""The common base class of temporary servers."""

from abc import ABC, abstractmethod
from typing import Self


class ThrowAway(ABC):
    """A context manager that creates and starts a server, and removes it at the end or if the start fails."""

    @abstractmethod
    def create(self) -> None:
        """Creates its folder, with everything that it needs to start."""

    @abstractmethod
    def start(self) -> None:
        """Starts it. Returns when it is ready."""

    @abstractmethod
    def remove(self) -> None:
        """Kills it if it runs, and deletes all its files."""

    def __enter__(self) -> Self:
        self.create()
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
