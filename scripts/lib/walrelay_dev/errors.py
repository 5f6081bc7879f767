"""The one exception of this package."""


class ServerError(Exception):
    """A server cannot be had or did not do as told.

    The message is one line for a person: what failed, and what to do about it where that is known.
    The command-line tools print it as it stands.
    """
