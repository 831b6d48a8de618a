"""What the first build of a folder would read, and how long it would take, for the question whether to begin it."""

from pathlib import Path

from cdesearch.builders import Survey
from indexer.files.outcome import Source
from indexer.files.walk import Selection, find_sources
from indexer.formats.format import suffix_of
from indexer.settings import MAX_FILE_BYTES

# Estimates for two cores: of starting and finishing, and of reading and embedding with the model that ships.
SECONDS = 3.0
SECONDS_PER_FILE = 0.002
BYTES_PER_SECOND = 60_000
# Most of the bytes of these are no text.
_SUFFIXES = ".pdf .docx .pptx .xlsx .odt .ods .odp .epub .doc .ppt .xls .msg .zip .gz .parquet .ipynb"
PACKED = frozenset(_SUFFIXES.split())
PACKED_SHARE = 0.1


def survey(folder: Path) -> Survey:
    """Count the files that a build would read, by the same walk. Globs of a configuration file are not known here."""
    n_files = n_bytes = 0
    n_texts = 0.0
    for found in find_sources([folder], folder, Selection(MAX_FILE_BYTES)):
        if isinstance(found, Source):
            n_files, n_bytes = n_files + 1, n_bytes + found.size
            n_texts += found.size * (PACKED_SHARE if suffix_of(found.path) in PACKED else 1)
    return Survey(n_files, n_bytes, SECONDS + n_files * SECONDS_PER_FILE + n_texts / BYTES_PER_SECOND)
