"""Every error a person can meet, each with one cause and one remedy.

CdesearchError                exit code 2 on the command line
├── InputError                what was typed or given cannot be used
│   ├── SourceError           no such folder or file, nothing readable in it, a column that is not there
│   └── QueryError            an empty query, one without words, one far too long
├── IndexStateError           the index on disk cannot be used as it is
│   ├── IndexNotFoundError    no index here or above
│   ├── IndexDamagedError     a file of the index is missing or does not parse
│   ├── IndexMismatchError    built by another model, another context or another format version
│   ├── IndexUntrustedError   asks for more than its user has confirmed, or is not made of plain files
│   └── IndexBusyError        another build holds the lock
├── ModelError                a checkpoint folder cannot be loaded
├── TrainingError             a run went wrong; its last good state is kept
└── StorageError              the disk is full, or the place is read-only
"""


class CdesearchError(Exception):
    """Root of the tree: `cause` says what is wrong, `remedy` how to mend it; `str()` gives both in one line."""

    exit_code = 2

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause} {remedy}")
        self.cause = cause
        self.remedy = remedy


class InputError(CdesearchError):
    """What was typed or given cannot be used."""


class SourceError(InputError):
    """A folder, file or column to index is missing or holds nothing readable."""


class QueryError(InputError):
    """The query is empty, holds no words, or is far too long."""


class IndexStateError(CdesearchError):
    """The index on disk cannot be used as it is."""


class IndexNotFoundError(IndexStateError):
    """There is no index here or in any folder above."""


class IndexDamagedError(IndexStateError):
    """A file of the index is missing or does not parse."""


class IndexMismatchError(IndexStateError):
    """The index was built by another model, another context or another format version."""


class IndexUntrustedError(IndexStateError):
    """The index asks for a model or folders that its user has not confirmed, or holds a link or a device."""


class IndexBusyError(IndexStateError):
    """Another build holds the lock of this index."""


class ModelError(CdesearchError):
    """A checkpoint folder cannot be loaded."""


class TrainingError(CdesearchError):
    """A run went wrong; its last good state is kept."""


class StorageError(CdesearchError):
    """The disk is full, or the place to write is read-only."""
