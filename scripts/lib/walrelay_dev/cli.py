"""What scripts/pg and scripts/kafka have in common."""

import sys
from collections.abc import Callable, Iterable

from .errors import ServerError

NOT_RUNNING = 3  # the exit code of a status command, as pg_ctl and init scripts have it


def run(program: str, main: Callable[[], int]) -> None:
    """Ends this process with the exit code of `main`, an error being one line on stderr."""
    try:
        sys.exit(main())
    except ServerError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def settings(words: Iterable[str]) -> dict[str, str]:
    """name=value words as a mapping."""
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ServerError(f"--set takes name=value, not {name + equals!r}")
    return {name: value for name, _, value in pairs}
