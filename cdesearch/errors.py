"""Every error that a user can see, each with one cause and one remedy.

CdesearchError                exit code 2 on the command line
├── InputError                an argument or option cannot be used
│   ├── SourceError           a folder, file or column does not exist, or holds nothing readable
│   └── QueryError            a query is empty, has no words, or is far too long
│       └── NotIndexedError   the index has no such chunk, document or file
├── IndexStateError           the index on disk cannot be used as it is
│   ├── IndexNotFoundError    there is no index in this folder or above it
│   ├── IndexDamagedError     a file of the index is missing or does not parse
│   ├── IndexMismatchError    another model, context or format version built the index
│   ├── IndexUntrustedError   the index needs what its user has not confirmed, or is not made of plain files
│   └── IndexBusyError        another build holds the lock
├── ModelError                a checkpoint folder cannot be loaded
├── LanguageModelError        the language model that writes answers fails
├── BusyError                 a server has too many searches to do, or one took too long
├── TrainingError             training failed; its last good state is kept
└── StorageError              the disk is full, or a folder is read-only
"""


class CdesearchError(Exception):
    """The root of the tree. `cause` says what is wrong, `remedy` how to fix it; `str()` joins both in one line."""

    exit_code = 2

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause} {remedy}")
        self.cause = cause
        self.remedy = remedy


class InputError(CdesearchError):
    """An argument or option cannot be used."""


class SourceError(InputError):
    """A folder, file or column to index is missing or holds nothing readable."""


class QueryError(InputError):
    """The query is empty, holds no words, or is far too long."""


class NotIndexedError(QueryError):
    """The index has no such chunk, document or file."""


class IndexStateError(CdesearchError):
    """The index on disk cannot be used as it is."""


class IndexNotFoundError(IndexStateError):
    """There is no index in a folder or in any folder above it."""


class IndexDamagedError(IndexStateError):
    """A file of the index is missing or does not parse."""


class IndexMismatchError(IndexStateError):
    """Another model, context or format version built the index."""


class IndexUntrustedError(IndexStateError):
    """The index needs a model or folders that its user has not confirmed, or contains a link or a device."""


class IndexBusyError(IndexStateError):
    """Another build holds the lock of this index."""


class ModelError(CdesearchError):
    """A checkpoint folder cannot be loaded."""


class LanguageModelError(CdesearchError):
    """The language model that writes answers cannot be reached, refuses, or stops in the middle."""


class BusyError(CdesearchError):
    """A server has too many searches to do, or one took too long."""


class TrainingError(CdesearchError):
    """Training failed; its last good state is kept."""


class StorageError(CdesearchError):
    """The disk is full, or the folder to write to is read-only."""


def is_panic(error: BaseException) -> bool:
    """Whether Rust code of a library panicked. The error classes cannot be imported, and one is not an Exception."""
    return type(error).__name__ in ("RustPanic", "PanicException")
