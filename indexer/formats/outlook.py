"""Read messages of Outlook, whose properties are streams of a compound file, as mail."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.utils import format_datetime
from io import BytesIO
from struct import unpack_from
from typing import Any

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.mail import MAX_NAME
from indexer.formats.old_office import OldOffice

# The numbers of properties
HEADERS = {"Subject": "0037", "To": "0E04", "Cc": "0E03"}
SENDER, ADDRESS, SMTP_ADDRESS, SENT = "0C1A", "0C1F", "5D01", b"\x40\0\x39\0"
PLAIN, HTML = "1000", "1013"
CONTENTS, MESSAGE, LONG_NAME, SHORT_NAME = "3701", "3701000D", "3707", "3704"
PROPERTIES = "__properties_version1.0"
STREAM = 2  # the type of an entry in olefile
MAX_DEPTH = 10  # of messages in messages


class OutlookMessage(OldOffice):
    """A message of Outlook and its attachments."""

    suffixes = frozenset({".msg", ".oft"})
    kind, newer_suffix = "Outlook", ".eml"

    def __init__(self, mail: Format) -> None:
        self.newer = mail

    def documents(self, file: OpenFile, compound: Any) -> Iterator[Document]:
        self.stream(compound, PROPERTIES)
        inside: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for path in compound.listdir():
            for depth, name in enumerate(path):
                inside[tuple(path[:depth])].add(name)
        return self.newer.read(replace(file, stream=BytesIO(_message(compound, [], inside))))


def _message(compound: Any, folder: list[str], inside: dict[tuple[str, ...], set[str]]) -> bytes:
    """The message in a folder of the compound file, in the format of mail; `inside` has the names in each folder."""
    message = EmailMessage()
    message.set_content(_text(compound, folder, PLAIN))
    if html := _stream(compound, folder, f"{HTML}0102"):
        message.add_alternative(decode(html, is_markup=True), subtype="html")
    for name in sorted(name for name in inside[tuple(folder)] if name.startswith("__attach")):
        attachment = [*folder, name]
        inner = [*attachment, f"__substg1.0_{MESSAGE}"]
        if data := _stream(compound, attachment, f"{CONTENTS}0102"):
            shown = _text(compound, attachment, LONG_NAME) or _text(compound, attachment, SHORT_NAME)
            shown = " ".join(shown.split())[-MAX_NAME:]
            message.add_attachment(data, maintype="application", subtype="octet-stream", filename=shown)
        elif compound.exists(inner) and len(folder) < 2 * MAX_DEPTH:
            message.add_attachment(message_from_bytes(_message(compound, inner, inside)))
    headers = {name: _text(compound, folder, number) for name, number in HEADERS.items()}
    address = _text(compound, folder, SMTP_ADDRESS) or _text(compound, folder, ADDRESS)
    headers["From"] = _text(compound, folder, SENDER) + (f" <{address}>" if "@" in address else "")
    properties = compound.openstream([*folder, PROPERTIES]).read()
    if (place := properties.find(SENT)) >= 0:
        microseconds = unpack_from("<Q", properties, place + 8)[0] // 10
        headers["Date"] = format_datetime(datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds))
    lines = (f"{name}: {' '.join(value.split())}\n" for name, value in headers.items())
    return "".join(lines).encode("utf-8", "replace") + message.as_bytes()


def _text(compound: Any, folder: list[str], number: str) -> str:
    if wide := _stream(compound, folder, f"{number}001F"):
        return wide.decode("utf-16-le", "replace").replace("\0", "")
    data = _stream(compound, folder, f"{number}001E").replace(b"\0", b"")
    try:
        return decode(data)
    except UnreadableError:  # most are too short for their encoding to be sure
        return data.decode("cp1252", "replace")


def _stream(compound: Any, folder: list[str], number: str) -> bytes:
    """The contents of a property; b"" if the message does not have it."""
    path = [*folder, f"__substg1.0_{number}"]
    return bytes(compound.openstream(path).read()) if compound.get_type(path) == STREAM else b""
