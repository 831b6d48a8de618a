"""The file of the vocabulary of a corpus, in generations whose language joins words; see `languages.compounds`."""

from pathlib import Path

import msgspec

from cdesearch.errors import IndexDamagedError
from cdesearch.store.folder import write_new
from cdesearch.store.guard import read_small, unreadable
from cdesearch.store.layout import index_of, rebuild_remedy
from cdesearch.store.place import Place
from cdesearch.words.compounds import Vocabulary

VOCABULARY = "vocabulary.json"
MAX_BYTES = 52_000_000  # of 200,000 words of 64 letters


class _Stored(msgspec.Struct):
    frequent: int
    words: str  # separated by spaces


def write_vocabulary(vocabulary: Vocabulary, file: Path) -> None:
    """Write the file of a generation; that of the last one, which may be a hard link to it, does not change."""
    write_new(file, msgspec.json.encode(_Stored(vocabulary.n_frequent, " ".join(vocabulary.words))).decode())


def read_vocabulary(generation: Path, place: Place | None = None) -> Vocabulary | None:
    """The vocabulary of a generation of the index at `place`; None if it has none. Raises IndexStateError."""
    file = generation / VOCABULARY
    try:
        stored = msgspec.json.decode(read_small(file, MAX_BYTES), type=_Stored)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(file, error) from None
    except (ValueError, msgspec.MsgspecError, RecursionError):
        remedy = rebuild_remedy(place or index_of(file))
        raise IndexDamagedError(f"{file} does not hold a vocabulary.", remedy) from None
    return Vocabulary(tuple(stored.words.split(" ")), stored.frequent)
