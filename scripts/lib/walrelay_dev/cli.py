"""Common code of scripts/pg and scripts/kafka."""

import sys
from collections.abc import Callable, Iterable

from .errors import ServerError

NOT_RUNNING = 3  # the exit code of a status command, as in pg_ctl and init scripts


def run(program: str, main: Callable[[], int]) -> None:
    """Exits with the exit code of `main`; prints a ServerError as one line on stderr."""
    try:
        sys.exit(main())
    except ServerError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def settings(words: Iterable[str]) -> dict[str, str]:
    """Parses name=value words into a mapping."""
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ServerError(f"invalid --set: expected name=value, got {name + equals!r}")
    return {name: value for name, _, value in pairs}
