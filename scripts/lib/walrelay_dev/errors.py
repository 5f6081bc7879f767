"""The one exception of this package."""


class ServerError(Exception):
    """A server is unavailable or an operation on it failed.

    The message is one line: what failed, and what to do about it if that is known. The command-line
    tools print it unchanged.
    """
