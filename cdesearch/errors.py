"""The errors that a user can see, each with one cause and one remedy."""

import sys
from importlib.util import find_spec


class CdesearchError(Exception):
    """The base class of all errors that a user can see.

    `cause` says what is wrong, and `remedy` says how to fix it. `str()` joins both in one line.
    """

    exit_code = 2

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause} {remedy}")
        self.cause = cause
        self.remedy = remedy

    def __reduce__(self) -> "tuple[type[CdesearchError], tuple[str, str]]":
        """What pickle needs, so that a process of a pool can pass the error on."""
        return type(self), (self.cause, self.remedy)


class InputError(CdesearchError):
    """An argument or option is invalid."""


class SourceError(InputError):
    """A folder, file or column to index does not exist, or contains nothing readable."""


class QueryError(InputError):
    """An argument of a search is invalid, for example an empty query, an unknown mode or an invalid glob."""


class NotIndexedError(QueryError):
    """The index does not contain the requested chunk, document, file or field."""


class IndexStateError(CdesearchError):
    """The index on disk cannot be used in its present state."""


class IndexNotFoundError(IndexStateError):
    """There is no index in the folder or in any folder above it."""


class IndexDamagedError(IndexStateError):
    """A file of the index is missing or cannot be parsed."""


class IndexUnreadableError(IndexStateError):
    """The system cannot read a file of the index now, for example for lack of a permission; the file may be sound."""


class IndexMismatchError(IndexStateError):
    """Another model, context or format version built the index."""


class IndexUntrustedError(IndexStateError):
    """The index needs a model or folders that the user has not confirmed, or contains a link or a device."""


class IndexBusyError(IndexStateError):
    """Another build holds the lock of this index."""


class ModelError(CdesearchError):
    """A checkpoint folder cannot be loaded."""


class ModelServerError(ModelError):
    """A server that computes vectors cannot be reached, refuses a request, or returns something else than vectors."""


class TextRefusedError(ModelServerError):
    """A server that computes vectors refuses a text, for example because it is too long."""

    def __init__(self, cause: str, remedy: str, position: int = 0) -> None:
        super().__init__(cause, remedy)
        self.position = position  # of the text among those that the caller gave


class LanguageModelError(CdesearchError):
    """The language model that writes answers cannot be reached, refuses the request, or stops before its end."""


class BusyError(CdesearchError):
    """A server has too many requests, or a search took too long."""


class BucketError(CdesearchError):
    """A bucket cannot be reached, does not exist, or refuses access."""


class ClusterError(CdesearchError):
    """A Ray cluster cannot be reached, or its workers fail again and again."""


class TrainingError(CdesearchError):
    """Training failed; its last good state is kept."""


class StorageError(CdesearchError):
    """The disk is full, or the folder to write to is read-only."""


def is_panic(error: BaseException) -> bool:
    """Whether an error is a panic of the Rust code of a library.

    The classes of these errors cannot be imported, and one of them is not a subclass of Exception.
    """
    return type(error).__name__ in ("RustPanic", "PanicException")


def extra_remedy(name: str) -> str:
    """The remedy for missing libraries of an extra."""
    return f"Run `pip install 'cdesearch[{name}]'`; with pipx or uv, install cdesearch again with the extra {name}."


def extra_with_torch(name: str) -> str:
    """The remedy for missing libraries of an extra that contains torch.

    On Linux, pip installs the torch for CUDA unless one is there, which brings NVIDIA's libraries.
    """
    remedy = extra_remedy(name)
    if sys.platform != "linux" or find_spec("torch") is not None:
        return remedy
    cpu = "`pip install torch --index-url https://download.pytorch.org/whl/cpu`"
    return f"{remedy} Without an NVIDIA GPU, run {cpu} first, which saves 5 GB."
