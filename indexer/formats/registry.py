"""The registry of formats, and the choice of the format that reads a file."""

from indexer.formats.code import Code
from indexer.formats.delimited import Delimited
from indexer.formats.docx import Docx
from indexer.formats.format import Format, suffix_of
from indexer.formats.html import Html
from indexer.formats.jsonl import JsonLines
from indexer.formats.markdown import Markdown
from indexer.formats.notebook import Notebook
from indexer.formats.parquet import Parquet
from indexer.formats.pdf import Pdf
from indexer.formats.plain_text import PlainText
from indexer.formats.restructured_text import RestructuredText

PLAIN_TEXT = PlainText()
FORMATS: tuple[Format, ...] = (
    Markdown(),
    RestructuredText(),
    PLAIN_TEXT,
    Code(),
    Html(),
    Pdf(),
    Docx(),
    Notebook(),
    JsonLines(),
    Delimited(),
    Parquet(),
)


def format_of(name: str) -> Format:
    """The format of a file of this name. A file of an unknown name that is read nevertheless is plain text."""
    return _find(name) or PLAIN_TEXT


def is_known(name: str) -> bool:
    """Whether a format lists this name or its suffix."""
    return _find(name) is not None


def _find(name: str) -> Format | None:
    lower = name.lower()
    parts = lower.rsplit(".", 2)
    endings = {suffix_of(lower), f".{parts[1]}.{parts[2]}" if len(parts) == 3 else ""} - {""}
    by_name = (one for one in FORMATS if lower in one.names)
    by_suffix = (one for one in FORMATS if not endings.isdisjoint(one.suffixes))
    return next(by_name, None) or next(by_suffix, None)
