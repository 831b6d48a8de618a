"""Read mail: a message is a document with its headers, and so is each attachment of a format that can be read."""

import binascii
import html
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from functools import partial
from io import BufferedIOBase
from pathlib import PurePosixPath, PureWindowsPath
from quopri import decodestring

from cdesearch.store.schema import Inline
from indexer.formats.encoding import decode
from indexer.formats.format import (
    LEAST,
    MAX_TITLE,
    Document,
    Format,
    OpenFile,
    UnreadableError,
    documents_inside,
    suffix_of,
)
from indexer.formats.html import Page, to_markdown

MAX_MESSAGE = 64_000_000  # bytes of a message in a mailbox
MAX_NESTED = 100  # parts that contain parts
MAX_ENCODED = 5  # messages that are encoded within one another
MAX_HEADER = 20_000  # characters of a header, such as a list of recipients
MAX_NAME = 200  # characters of the name of an attachment
# Of one message, so that it does not fill the index of a mailbox
MAX_FILES = 20  # attachments
MAX_ATTACHED = 1_000_000  # characters of text in all of them
# Of a mailbox, so that all attachments together stay below the limits for a file
MAX_OF_MAILBOX, PER_BYTE = 5_000_000, 5  # characters of text, and more for each byte of its messages
PLACEHOLDER = 30  # different words of plain text that the HTML beside it lacks; more of them say something of their own
SAME = 0.05  # of the words of the HTML may be missing in the plain text, which is then read in its place
BLOCK = 1 << 20
NOT_TEXT = ("css", "javascript")  # parts of a saved page
SUFFIXES = {  # of attachments without a name, such as invitations, or with one that has no suffix
    "text/calendar": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf", "application/pdf": ".pdf",
    "application/rtf": ".rtf", "application/msword": ".doc", "application/vnd.ms-excel": ".xls",
}  # fmt: skip
START = 4096  # bytes by which a message or a mailbox is recognised
FindFormat = Callable[[str], Format | None]  # the format of an attachment of this name, if it is read

SHOWN = ("From", "To", "Cc", "Date")

_NESTED = re.compile(rb"(?:\A|[\r\n])content-type:\s{0,99}(?:multipart|message)/", re.IGNORECASE)
# Headers with parameters: the time that the library takes to parse them grows with the square of their length.
_PARAMETERS = re.compile(
    rb"(?:\A|[\r\n])content-(?:type|disposition):[^\r\n]*(?:(?:\r\n|\r|\n)[ \t][^\r\n]*)*", re.IGNORECASE
)
# The line before a message in a mailbox, or the number of its bytes, after which Apple Mail writes what it knows of it
_ENVELOPE = re.compile(rb"(?:From [^\r\n]*|(\d{1,12})[ \t]*)\r?\n")
# After the first of them, a line of the text may begin alike: `From here on`.
_SENT = re.compile(rb"From (?:\S*@|-\s|.*\d:\d\d|\S*\s*\Z)")
_HEADERS = re.compile(rb"(?:(?:[!-9;-~]{1,99}:|[ \t])[^\n]*(?:\n|\Z))+")
_USUAL = re.compile(rb"(?mi)^(From|To|Date|Subject|Message-ID|Received|Return-Path|Delivered-To|MIME-Version):")
_BY_PROGRAM = re.compile(rb"(?mi)^(?:MIME-Version|Message-ID|Received):")
_DELETED = re.compile(rb"(?mi)^X-Mozilla-Status: [0-9a-f]{3}[89a-f]")  # but still in the mailbox
_NOT_SHOWN = re.compile(r"(?i)</?(?:style|script|title)\b[^<>]*>")
_WITHOUT_BLANKS = re.compile(r"(?i);\s*delsp\s*=\s*\"?yes")  # at the ends of flowed lines, which may divide words
_FLOWED_END = re.compile(r"(?m)(?<!^--) \r?\n(?:>+ ?| )?")
_TAG_OR_ADDRESS = re.compile(r"<[^<>]*>|https?://[^\s<>]*")
_A_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|\w+")
# A blank between two encoded words is not part of the text.
_ENCODED_WORD = re.compile(r"=\?([^?\s]{1,99})\?([bBqQ])\?([^?]{0,2000})\?=(?: (?==\?))?")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


class _WithAttachments(Format):
    def __init__(self, attached: FindFormat) -> None:
        self._attached = attached

    def _documents(self, file: OpenFile, data: bytes, record: str, left: int = MAX_ATTACHED) -> Iterator[Document]:
        """A message and `left` characters of its attachments. In a mailbox, `record` names it; it is "" in a file.

        Raises UnreadableError if the message cannot be read.
        """
        message = _checked(data)
        texts, files = [Page("", _headers(message))], dict[str, Message]()
        for leaf in _leaves(message):
            if isinstance(leaf, str):
                texts.append(Page("", leaf))
                continue
            name, is_text = _name(leaf, files.keys()), leaf.get_content_maintype() == "text"
            if name and not (is_text and self._attached(name) is None):
                files[name] = leaf
            elif is_text and leaf.get_content_subtype() not in NOT_TEXT:
                try:
                    texts.append(_text(leaf))
                except UnreadableError as error:
                    file.left_out.add(record or "text", f"cannot be read: {error}", "part")
        if files:
            texts.append(Page("", f"Attachments: {', '.join(files)}"))
        title = _header(message, "Subject")[:MAX_TITLE] or file.name
        text, inlines = _joined(texts)
        fields = tuple(_fields(message))
        yield Document.of(file, title, text, inlines=inlines, record=record or None, fields=fields)
        read = [(name, part, found) for name, part in files.items() if (found := self._attached(name)) is not None]
        for number, (name, part, found) in enumerate(read):
            whole = f"{record}/{name}" if record else name
            if number >= MAX_FILES:
                file.left_out.add(whole, f"is not one of the first {MAX_FILES} attachments", "part")
                continue
            for document in documents_inside(file, whole, partial(_bytes, part), found.read, left):
                left -= max(len(document.text), LEAST)
                yield replace(
                    document, title=f"{title}: {document.title}"[:MAX_TITLE], fields=(*fields, *document.fields)
                )


class Mail(_WithAttachments):
    """One message, or a page with its frames that a browser has saved as a message."""

    suffixes = frozenset({".eml", ".emlx", ".mht", ".mhtml"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        data = file.stream.read().lstrip()
        if envelope := _ENVELOPE.match(data):
            data = data[envelope.end() :][: int(envelope[1]) if envelope[1] else None]
        if not _HEADERS.match(data):
            raise UnreadableError("not a mail message")
        yield from self._documents(file, data, "")


class Mailbox(_WithAttachments):
    """Messages one after the other, each after a line that begins with "From ". A message is named by its number."""

    suffixes = frozenset({".mbox"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        is_read, left = False, MAX_OF_MAILBOX
        for number, data in enumerate(_messages(file.stream), start=1):
            left += len(data) * PER_BYTE
            try:
                if len(data) > MAX_MESSAGE:
                    raise UnreadableError(f"larger than {MAX_MESSAGE / 1e6:g} MB")
                if _DELETED.search(data[:START]):
                    continue
                for document in self._documents(file, data, str(number), min(left, MAX_ATTACHED)):
                    is_read, left = True, left - max(len(document.text), LEAST)
                    yield document
            except UnreadableError as error:
                file.left_out.add(number, f"cannot be read: {error}", "part")
        if file.left_out.n_lines and not is_read:
            raise UnreadableError(f"none of its messages can be read: {file.left_out.problems}")


def is_mail(start: bytes, *, is_called_text: bool = False) -> bool:
    """Whether a file that begins with these bytes, START or all, is a message or a mailbox.

    A file that `is_called_text` is one only if a program wrote its headers. People begin memos with `From:`, too.
    """
    envelope = _ENVELOPE.match(start)
    head = _HEADERS.match(start, envelope.end() if envelope else 0)
    if head is None or (is_called_text and not _BY_PROGRAM.search(head[0])):
        return False
    return len({name.lower() for name in _USUAL.findall(head[0])}) > 2


def _messages(stream: BufferedIOBase) -> Iterator[bytes]:
    """The bytes of each message, of which at most MAX_MESSAGE and a line are kept; raises UnreadableError."""
    lines: list[bytes] | None = None
    size, is_blank = 0, True
    while line := stream.readline(BLOCK):
        if is_blank and (_SENT.match(line) if lines is not None else line.startswith(b"From ")):
            if lines is not None:
                yield _QUOTED_FROM.sub(rb"\1", b"".join(lines))
            lines, size = [], 0
        elif lines is None and line.strip():
            raise UnreadableError("not a mailbox: its first line does not begin with `From `")
        elif lines is not None and size <= MAX_MESSAGE:
            lines.append(line)
            size += len(line)
        is_blank = not line.strip()
    if lines is not None:
        yield _QUOTED_FROM.sub(rb"\1", b"".join(lines))


def _checked(data: bytes) -> Message:
    """The message, unless the library would take minutes to parse it; raises UnreadableError."""
    if len(_NESTED.findall(data)) > MAX_NESTED:
        raise UnreadableError(f"mail of more than {MAX_NESTED} nested parts")
    if any(len(match[0]) > MAX_HEADER for match in _PARAMETERS.finditer(data)):
        raise UnreadableError(f"mail with the type of a part in more than {MAX_HEADER:,} characters")
    return message_from_bytes(data)


def _leaves(message: Message, n_encoded: int = 0) -> Iterator[Message | str]:
    """The parts that contain no other parts, and the headers of a message inside the message or of a report."""
    kind, payload = message.get_content_type(), message.get_payload()
    parts = [part for part in payload if isinstance(part, Message)] if isinstance(payload, list) else []
    if n_encoded < MAX_ENCODED and (data := _encoded_message(message, parts)):
        kind, parts, n_encoded = "message/rfc822", [_checked(data)], n_encoded + 1
    elif not message.is_multipart():
        yield message
        return
    if kind == "multipart/alternative":
        yield from _chosen([leaf for part in parts for leaf in _leaves(part, n_encoded)])
        return
    for part in parts:
        if kind == "message/delivery-status":
            yield "\n".join(f"{name}: {_decoded(str(value)[:MAX_HEADER])}" for name, value in part.raw_items())
        if kind == "message/rfc822":
            yield "\n".join(filter(None, [_header(part, "Subject"), _headers(part)]))
        yield from _leaves(part, n_encoded)


def _encoded_message(message: Message, parts: list[Message]) -> bytes:
    """The message in an attached file, or in Base64, which the library does not decode; b"" for another part."""
    if message.get_content_type() == "message/rfc822" and parts and not parts[0].keys():
        parts[0]["Content-Transfer-Encoding"] = message.get("Content-Transfer-Encoding", "")
        data = _bytes(parts[0])
    else:
        data = _bytes(message) if _name(message, ()).lower().endswith(".eml") else b""
    return data if _HEADERS.match(data) else b""


def _chosen(alternatives: list[Message | str]) -> Iterator[Message | str]:
    """Of alternatives, the plain text if it says what the HTML says, and else the HTML; and the files in all of them.

    Both are read if each says something of its own: the plain text may be a mere hint that the HTML cannot be shown.
    """
    texts: dict[str, list[Message]] = {}
    for leaf in alternatives:
        if isinstance(leaf, Message) and leaf.get_content_maintype() == "text" and not _name(leaf, ()):
            texts.setdefault(leaf.get_content_subtype(), []).append(leaf)
        else:
            yield leaf
    plain, rich = (_words(texts.get(kind, [])) for kind in ("plain", "html"))
    if len(rich - plain) > SAME * len(rich):
        is_hint = len(plain - rich) <= PLACEHOLDER and len(plain) < len(rich)
        kinds = ["html"] if is_hint or not plain else ["plain", "html"]
    else:
        kinds = ["plain"] if plain else list(texts)[-1:]
    for kind in kinds:
        yield from texts[kind]


def _words(parts: list[Message]) -> set[str]:
    """The words that parts show, without addresses."""
    words = set[str]()
    for part in parts:
        try:
            text = decode(_bytes(part), charset=_charset(part))
        except UnreadableError:
            continue
        if part.get_content_subtype() == "html":
            text = html.unescape(" ".join(_NOT_SHOWN.split(text)[::2]))
        words.update(_A_WORD.findall(_TAG_OR_ADDRESS.sub(" ", text).lower()))
    return words


def _bytes(part: Message) -> bytes:
    """The decoded contents of a part; b"" if it has none."""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> Page:
    """The text of a part, as Markdown if it is HTML; raises UnreadableError."""
    is_html = part.get_content_subtype() == "html"
    text = decode(_bytes(part), is_markup=is_html, charset=_charset(part))
    is_flowed = _WITHOUT_BLANKS.search(str(part.get("Content-Type", ""))[:MAX_HEADER])
    return to_markdown(text) if is_html else Page("", _FLOWED_END.sub("", text) if is_flowed else text)


def _joined(pages: Iterable[Page]) -> tuple[str, tuple[Inline, ...]]:
    """The texts of pages, one below the other, with their inline elements; without those that are empty."""
    text, inlines = "", list[Inline]()
    for page in pages:
        if page.text.strip():
            text += "\n\n" * bool(text)
            inlines += (one._replace(offset=len(text) + one.offset) for one in page.inlines)
            text += page.text
    return text, tuple(inlines)


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (ValueError, LookupError, TypeError):  # a parameter that is encoded, and broken
        return None


def _name(part: Message, used: Collection[str]) -> str:
    """The name of an attachment without folders, and with a number if it is used already; "" if it has none."""
    try:
        given = part.get_filename() or ""
    except (ValueError, LookupError, TypeError):
        return ""
    shown = "".join(letter for letter in _decoded(given[:MAX_HEADER]) if letter.isprintable())
    name = PurePosixPath(PureWindowsPath(shown).name).name
    if not suffix_of(name) and (suffix := SUFFIXES.get(part.get_content_type())):
        name = f"{name or 'attachment'}{suffix}"
    stem, suffix = PurePosixPath(name).stem[:MAX_NAME], PurePosixPath(name).suffix[:MAX_NAME]
    chosen, number = f"{stem}{suffix}", 1
    while chosen in used:
        number += 1
        chosen = f"{stem} ({number}){suffix}"
    return chosen


def _headers(message: Message) -> str:
    return "\n".join(f"{name}: {value}" for name in SHOWN if (value := _header(message, name)))


def _fields(message: Message) -> Iterator[tuple[str, str]]:
    """The names and addresses, the day and the subject of a message."""
    for name in ("From", "To", "Cc"):
        for person, address in getaddresses([_header(message, name)]):
            yield name, f"{person} <{address}>" if person and address else person or address
    with suppress(ValueError, TypeError):
        yield "Date", parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    yield "Subject", _header(message, "Subject")


def _header(message: Message, name: str) -> str:
    """The first header of this name in one line, decoded; "" if there is none."""
    values = (value for key, value in message.raw_items() if key.lower() == name.lower())
    return _decoded(str(next(values, ""))[:MAX_HEADER])


def _decoded(text: str) -> str:
    """A header in one line: words in the encoding of mail, or bytes in UTF-8 or Latin-1, become text."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return " ".join(_ENCODED_WORD.sub(_word, " ".join(text.split())).split())


def _word(match: re.Match[str]) -> str:
    charset, encoding, coded = match.groups()
    raw = coded.encode("utf-8", "replace")
    try:
        data = b64decode(raw + b"===") if encoding in "bB" else decodestring(raw, header=True)
        return decode(data, charset=charset.partition("*")[0])
    except (binascii.Error, UnreadableError):
        return match[0]
