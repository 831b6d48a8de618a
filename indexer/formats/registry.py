"""The registry of formats: a file is read by the one that lists its name."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BufferedIOBase

from indexer.formats.archive import Archive, Tar, Zip
from indexer.formats.code import Code, PlainText
from indexer.formats.compressed import NAMES as COMPRESSIONS
from indexer.formats.compressed import Compressed
from indexer.formats.configuration import Sections, YamlFile
from indexer.formats.docx import Docx
from indexer.formats.epub import Epub
from indexer.formats.format import Document, Format, OpenFile, UnreadableError, suffix_of
from indexer.formats.html import Html
from indexer.formats.json_file import JsonFile, JsonLines
from indexer.formats.mail import START, Mail, Mailbox, is_mail
from indexer.formats.manual import SECTION
from indexer.formats.markdown import Markdown
from indexer.formats.markup import AsciiDoc, Bibtex, Latex, Org
from indexer.formats.notebook import Canvas, Notebook
from indexer.formats.ocr import Image
from indexer.formats.old_office import Doc, Ppt
from indexer.formats.opendocument import Odp, Ods, Odt
from indexer.formats.outlook import OutlookMessage
from indexer.formats.pdf import Pdf
from indexer.formats.personal import Evernote, Properties
from indexer.formats.pptx import Pptx
from indexer.formats.private_keys import without_private_keys
from indexer.formats.restructured import RestructuredText
from indexer.formats.rtf import Rtf
from indexer.formats.subtitles import Subtitles
from indexer.formats.tables import Delimited, Parquet
from indexer.formats.tidy import tidy
from indexer.formats.xls import Xls
from indexer.formats.xlsx import Xlsx
from indexer.formats.xml_file import XmlFile

PLAIN_TEXT, IMAGE = PlainText(), Image()
POINTER = b"version https://git-lfs.github.com/"  # the start of a file that Git keeps elsewhere


def _attached_format(name: str) -> Format | None:
    return _find(name, _ATTACHED)


_ATTACHED: tuple[Format, ...] = (  # what a message or a PDF may have attached, so that no message has messages attached
    Markdown(), RestructuredText(), Org(), AsciiDoc(), Latex(), Bibtex(), Subtitles(), PLAIN_TEXT, Code(), JsonFile(),
    XmlFile(), YamlFile(), Sections(), Html(), Docx(), Odt(), Rtf(), Pptx(), Odp(), Xlsx(), Ods(), Epub(),
    Notebook(), Canvas(), Properties(), Evernote(), JsonLines(), Parquet(), Doc(), Ppt(), Xls(), Pdf(_attached_format),
    Delimited(),
)  # fmt: skip


def _attached_to_mail(name: str) -> Format | None:
    return _ZIP if suffix_of(name) in _ZIP.suffixes else _attached_format(name)


def format_of(name: str, stream: BufferedIOBase | None = None) -> Format:
    """The format that lists a name, or else plain text; either text is mail if the first bytes of `stream` are."""
    found = _find(name, (*FORMATS, IMAGE))
    if stream is not None and (found is None or found is PLAIN_TEXT):
        start = stream.read(START)
        stream.seek(0)
        if is_mail(start, is_called_text=found is not None):
            return _MAILBOX if start.startswith(b"From ") else _MAIL
    if found is None:
        return Compressed(PLAIN_TEXT) if suffix_of(name) in COMPRESSIONS else PLAIN_TEXT
    return found


def read(file: OpenFile) -> Iterator[Document]:
    """The documents in an open file; raises UnreadableError, whatever is wrong with it."""
    problems: dict[str, str] = {}
    start = POINTER
    try:
        start = file.stream.read(len(POINTER))
        file.stream.seek(0)
        if start == POINTER:
            raise UnreadableError("a pointer of Git LFS, whose file is not there")
        for document in format_of(file.name, file.stream).read(file):
            if file.fields:
                document = replace(document, fields=(*file.fields, *document.fields))  # noqa: PLW2901
            if not file.is_wanted:
                document = without_private_keys(document, file.left_out)  # noqa: PLW2901
            yield tidy(document, problems)
        for name, problem in problems.items():
            file.left_out.add(name, problem, "field")
    except MemoryError:
        raise
    except Exception as error:  # parsers raise many errors; only this file is lost
        if not start:
            raise UnreadableError("empty file") from None
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(f"its parser failed ({type(error).__name__})") from error


def is_known(name: str) -> bool:
    """Whether a format lists this name or its suffix, or its name without the suffix of a compression.

    Images do not count, because they are read only if text recognition is switched on.
    """
    # Most files have such a suffix. A search of all formats for each file takes a sixth of the time of a walk.
    return suffix_of(name) in _SUFFIXES or _find(name, FORMATS) is not None


def is_packed(one: Format) -> bool:
    """Whether files of a format are compressed, or archives, or mail, which may have compressed files attached."""
    return isinstance(one, Compressed | Mail | Mailbox | OutlookMessage | Archive)


def _find(name: str, formats: Sequence[Format]) -> Format | None:
    """The format that lists the name of a file, or else its suffix, or else that of what is compressed in it."""
    lower, suffix = name.lower(), suffix_of(name)
    found = next((one for one in formats if lower in one.names), None)
    found = found or next((one for one in formats if suffix in one.suffixes), None)
    if found is not None:
        return found
    if SECTION.fullmatch(suffix):
        return PLAIN_TEXT
    stem = name.rpartition(".")[0]
    if suffix not in COMPRESSIONS or suffix_of(stem) in COMPRESSIONS:
        return None
    # A table in Parquet is compressed by itself, and cannot be read from its start to its end.
    inner = _find(stem, [one for one in formats if not isinstance(one, Parquet | Image)])
    if inner is None and "." in stem.strip(".") and suffix_of(stem) == "":
        inner = PLAIN_TEXT  # a page of the manual such as `cat.1.gz`, or an old log such as `cat.log.2.gz`
    return Compressed(inner) if inner is not None else None


_ZIP = Zip(read, is_known)
_MAIL, _MAILBOX = Mail(_attached_to_mail), Mailbox(_attached_to_mail)
FORMATS: tuple[Format, ...] = (*_ATTACHED, _MAIL, _MAILBOX, OutlookMessage(_MAIL), _ZIP, Tar(read, is_known))
_SUFFIXES = frozenset().union(*(one.suffixes for one in FORMATS))
