"""What can go wrong, as exceptions with one sentence for the user."""


class Error(Exception):
    """A recording that cannot be read, or a part of Tapelens that is not there. Its text is what the command line says."""


class UsageError(Error, ValueError):
    """What was asked for cannot be: a table, a column, a process, a device that the recording does not have."""
