"""What throw-away servers have in common."""

from abc import ABC, abstractmethod
from typing import Self


class ThrowAway(ABC):
    """As a context manager a server exists from `with` to its end; also if it could not be started."""

    @abstractmethod
    def create(self) -> None:
        """Its folder, with all that it needs to start."""

    @abstractmethod
    def start(self) -> None:
        """Returns when it can be used."""

    @abstractmethod
    def remove(self) -> None:
        """Ends it if it runs; nothing of it is left."""

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
