"""The one error of reading a file."""


class UnreadableError(Exception):
    """A file cannot be read; the message is the reason, for the list of skipped files."""
