"""The registry of formats, and the choice of the format that reads a file."""

from collections.abc import Sequence

from indexer.formats.code import Code
from indexer.formats.compressed import NAMES as COMPRESSIONS
from indexer.formats.compressed import Compressed
from indexer.formats.configuration import Sections, YamlFile
from indexer.formats.delimited import Delimited
from indexer.formats.docx import Docx
from indexer.formats.epub import Epub
from indexer.formats.format import Format, find_format, suffix_of
from indexer.formats.html import Html
from indexer.formats.json_file import JsonFile
from indexer.formats.jsonl import JsonLines
from indexer.formats.mail import Mail, Mailbox
from indexer.formats.manual import SECTION
from indexer.formats.markdown import Markdown
from indexer.formats.markup import AsciiDoc, Latex, Org, RestructuredText
from indexer.formats.notebook import Notebook
from indexer.formats.ocr import Image
from indexer.formats.opendocument import Odp, Ods, Odt
from indexer.formats.parquet import Parquet
from indexer.formats.pdf import Pdf
from indexer.formats.plain_text import PlainText
from indexer.formats.pptx import Pptx
from indexer.formats.rtf import Rtf
from indexer.formats.subtitles import Subtitles
from indexer.formats.xlsx import Xlsx
from indexer.formats.xml_file import XmlFile

PLAIN_TEXT = PlainText()
_ATTACHED: tuple[Format, ...] = (  # what a message may have attached, so that attachments have no attachments
    Markdown(),
    RestructuredText(),
    Org(),
    AsciiDoc(),
    Latex(),
    Subtitles(),
    PLAIN_TEXT,
    Code(),
    JsonFile(),
    XmlFile(),
    YamlFile(),
    Sections(),
    Html(),
    Pdf(),
    Docx(),
    Odt(),
    Rtf(),
    Pptx(),
    Odp(),
    Xlsx(),
    Ods(),
    Epub(),
    Notebook(),
    JsonLines(),
    Parquet(),
)
# A message is read with everything that it contains, so an attached table needs no column of texts.
_ATTACHED_TABLE = Delimited(as_sheet=True)


def _attached_format(name: str) -> Format | None:
    return _find(name, (*_ATTACHED, _ATTACHED_TABLE))


FORMATS: tuple[Format, ...] = (*_ATTACHED, Delimited(), Mail(_attached_format), Mailbox(_attached_format))
IMAGE = Image()
_SUFFIXES = frozenset().union(*(one.suffixes for one in FORMATS))


def format_of(name: str) -> Format:
    """The format of a file of this name. A file of an unknown name that is read nevertheless is plain text."""
    found = _find(name, FORMATS) or (IMAGE if is_image(name) else None)
    if found is not None:
        return found
    return Compressed(PLAIN_TEXT) if suffix_of(name) in COMPRESSIONS else PLAIN_TEXT


def is_image(name: str) -> bool:
    """Whether a file is an image whose text can be recognised."""
    return suffix_of(name) in IMAGE.suffixes


def is_known(name: str) -> bool:
    """Whether a format lists this name or its suffix, or its name without the suffix of a compression.

    Images do not count, because they are read only if text recognition is switched on.
    """
    # Most files have such a suffix. A search of all formats for each file takes a sixth of the time of a walk.
    return suffix_of(name) in _SUFFIXES or _find(name, FORMATS) is not None


def is_packed(name: str) -> bool:
    """Whether a file is compressed, or is mail, which may have compressed files attached."""
    return suffix_of(name) in COMPRESSIONS or isinstance(format_of(name), Mail | Mailbox)


def _find(name: str, formats: Sequence[Format]) -> Format | None:
    found = find_format(name, formats)
    if found is None and SECTION.fullmatch(suffix_of(name)):
        return PLAIN_TEXT
    stem, _, suffix = name.rpartition(".")
    if found is not None or f".{suffix.lower()}" not in COMPRESSIONS:
        return found
    # A table in Parquet is compressed by itself, and cannot be read from its start to its end.
    inner = find_format(stem, [one for one in formats if not isinstance(one, Parquet)])
    if inner is None and "." in stem.strip(".") and (suffix_of(stem) == "" or SECTION.fullmatch(suffix_of(stem))):
        inner = PLAIN_TEXT  # a page of the manual such as `cat.1.gz`, or an old log such as `cat.log.2.gz`
    return Compressed(inner) if inner is not None else None
