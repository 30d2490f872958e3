"""Exceptions with one sentence for the user."""


class Error(Exception):
    """A recording that cannot be read, or a missing part of Tapelens. Its text is the message of the command line."""


class UsageError(Error, ValueError):
    """A request for a table, a column, a process or a device that the recording does not have."""
