"""What throw-away servers have in common."""

from typing import Self


class ThrowAway:
    """As a context manager a server exists from `with` to its end; also if it could not be started."""

    def create(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def remove(self) -> None:
        raise NotImplementedError

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
