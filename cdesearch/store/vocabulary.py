"""The file of the vocabulary of a corpus, in generations whose language joins words; see `languages.compounds`."""

import json
from pathlib import Path

from cdesearch.errors import IndexDamagedError
from cdesearch.languages.compounds import Vocabulary
from cdesearch.store.folder import index_of, read_small, rebuild_remedy, unreadable, write_new

VOCABULARY = "vocabulary.json"
MOST_WORDS, MOST_LETTERS = 200_000, 64
MAX_BYTES = 4 * MOST_WORDS * (MOST_LETTERS + 1)


def write_vocabulary(vocabulary: Vocabulary, file: Path) -> None:
    """Write the file of a generation; that of the last one, which may be a hard link to it, does not change."""
    value = {"frequent": vocabulary.n_frequent, "words": " ".join(vocabulary.words)}
    write_new(file, json.dumps(value, ensure_ascii=False))


def read_vocabulary(generation: Path) -> Vocabulary | None:
    """The vocabulary of a generation; None if it has none. Raises IndexStateError."""
    file = generation / VOCABULARY
    try:
        value = json.loads(read_small(file, MAX_BYTES))
        n_frequent, words = value["frequent"], value["words"].split(" ")
        if type(n_frequent) is not int or not 0 <= n_frequent <= len(words) <= MOST_WORDS:
            raise ValueError
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(file, error) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise IndexDamagedError(f"{file} does not hold a vocabulary.", rebuild_remedy(index_of(file))) from None
    return Vocabulary(tuple(words), n_frequent)
