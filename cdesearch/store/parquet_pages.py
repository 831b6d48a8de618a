"""The pages of a Parquet file by their own headers: the footer of a forged file may state other sizes.

pyarrow reserves the memory that the header of a page names, and shows no page headers. They are structures in the
compact protocol of Thrift.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_HEADER = 1 << 20  # bytes; a header contains the least and the greatest value of its page
MAX_DEPTH = 8  # of structures in structures; headers have three levels
BYTE, DOUBLE, TEXT, LIST, SET, STRUCT = 3, 7, 8, 9, 10, 12
TRUE_OR_FALSE, INTEGERS = (1, 2), (4, 5, 6)

Struct = dict[int, Any]  # by the number of the field


@dataclass(frozen=True, slots=True)
class Page:
    """What the header of a page states."""

    unpacked_bytes: int
    encoding: int | None  # as parquet.thrift numbers encodings; None for a dictionary page


def pages(file: Path, start: int, n_bytes: int) -> Iterator[Page]:
    """The pages of the column chunk in the `n_bytes` of `file` from `start`; raises OSError or ValueError."""
    with file.open("rb") as stream:
        end = start + n_bytes
        while start < end:
            stream.seek(start)
            header = _Decoder(stream.read(min(MAX_HEADER, end - start)))
            fields = header.struct(0)
            unpacked, packed = fields.get(2), fields.get(3)
            if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
                raise ValueError("a page has no size")
            # Both versions of data pages state their encoding; field 2 of the first, field 4 of the second.
            encodings = [fields[data][field] for data, field in ((5, 2), (8, 4)) if data in fields]
            yield Page(unpacked, encodings[0] if encodings else None)
            start += header.position + packed
        if start != end:
            raise ValueError("a page ends behind its column")


class _Decoder:
    """Decodes Thrift's compact protocol; raises ValueError for bytes that are none."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def struct(self, depth: int) -> Struct:
        """The fields of the structure at this position."""
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number in fields or depth > MAX_DEPTH:
                raise ValueError("a page header is broken")
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in TRUE_OR_FALSE:
            return kind == 1
        if kind in INTEGERS:
            return self._integer()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            kind_of_items = BYTE if head & 15 in TRUE_OR_FALSE else head & 15
            return [self._value(kind_of_items, depth + 1) for _ in range(count)]
        if kind not in (BYTE, DOUBLE, TEXT):
            raise ValueError("a page header is broken")
        return self._take({BYTE: 1, DOUBLE: 8}.get(kind) or self._unsigned())

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a page header is broken")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        taken = self._data[self.position : self.position + count]
        if len(taken) < count:
            raise ValueError("a page header is cut off")
        self.position += count
        return taken
