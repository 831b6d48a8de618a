"""Change what the footer and the page headers of a Parquet file state. Both are Thrift's compact protocol.

A structure is a dict from the number of a field to [type, value], a list a pair of the items' type and the items.
"""

import struct

BYTE, DOUBLE, TEXT, LIST, STRUCT = 3, 7, 8, 9, 12
INTEGERS = (4, 5, 6)
BOOLS = (1, 2)
SCHEMA, ROWS, GROUPS = 2, 3, 4  # fields of the footer
COLUMNS, GROUP_BYTES, GROUP_ROWS = 1, 2, 3  # of a group of rows
VALUES, UNPACKED, PACKED, DATA_OFFSET, DICTIONARY_OFFSET = 5, 6, 7, 9, 11  # of a column chunk
PAGE_UNPACKED, PAGE_PACKED, DATA_PAGE, DICTIONARY_PAGE = 2, 3, 5, 7  # of a page header


def with_footer(data, change):
    """The file with a footer that `change` has edited."""
    size = struct.unpack("<I", data[-8:-4])[0]
    footer, _ = _read_struct(data, len(data) - 8 - size)
    change(footer)
    encoded = _struct(footer)
    return data[: -8 - size] + encoded + struct.pack("<I", len(encoded)) + b"PAR1"


def with_page(data, change, column=-1, offset=DATA_OFFSET):
    """The file with an edited header of the page at `offset` of a column; `data` has a single group of rows.

    The footer states the new size of the column. The pages behind the edited one are lost.
    """
    size = struct.unpack("<I", data[-8:-4])[0]
    footer, _ = _read_struct(data, len(data) - 8 - size)
    start = column_of(footer, column)[offset][1]
    header, end = _read_struct(data, start)
    change(header)
    encoded = _struct(header)

    def grown(footer):
        column_of(footer, column)[PACKED][1] += len(encoded) - (end - start)

    return with_footer(data[:start] + encoded + data[end:], grown)


def group_of(footer, number=0):
    """A group of rows."""
    return footer[GROUPS][1][1][number]


def column_of(footer, number=-1):
    """The metadata of a column chunk in the first group of rows."""
    return group_of(footer)[COLUMNS][1][1][number][3][1]


def nest(footer, depth):
    """Put the last column below `depth` groups."""
    kind, (root, *others, last) = footer[SCHEMA][1]
    names = [b"g%d" % level for level in range(depth)]
    groups = [{3: [5, 0], 4: [TEXT, name], 5: [5, 1]} for name in names]
    footer[SCHEMA][1] = (kind, [root, *others, *groups, last])
    path = column_of(footer)[3]
    path[1] = (TEXT, [*names, *path[1][1]])


def _read_unsigned(data, place):
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, place


def _read(kind, data, place):
    if kind in INTEGERS:
        number, place = _read_unsigned(data, place)
        return (number >> 1) ^ -(number & 1), place
    if kind in BOOLS:
        return kind == 1, place
    if kind == LIST:
        head, place = data[place], place + 1
        count = head >> 4
        if count == 15:
            count, place = _read_unsigned(data, place)
        items = []
        for _ in range(count):
            item, place = _read(BYTE if head & 15 in BOOLS else head & 15, data, place)
            items.append(item)
        return (head & 15, items), place
    if kind == STRUCT:
        return _read_struct(data, place)
    size, place = {BYTE: (1, place), DOUBLE: (8, place)}.get(kind) or _read_unsigned(data, place)
    return data[place : place + size], place + size


def _read_struct(data, place):
    fields, number = {}, 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            number, place = _read(5, data, place)
        value, place = _read(head & 15, data, place)
        fields[number] = [head & 15, value]
    return fields, place + 1


def _unsigned(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def _value(kind, value):
    if kind in INTEGERS:
        return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind in BOOLS:
        return b""
    if kind == TEXT:
        return _unsigned(len(value)) + value
    if kind == LIST:
        of, items = value
        head = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([0xF0 | of]) + _unsigned(len(items))
        return head + b"".join(item if of in BOOLS else _value(of, item) for item in items)
    return _struct(value) if kind == STRUCT else value


def _struct(fields):
    encoded, before = b"", 0
    for number in sorted(fields):
        kind, value = fields[number]
        if kind in BOOLS:
            kind = 1 if value else 2
        encoded += bytes([(number - before) << 4 | kind]) + _value(kind, value)
        before = number
    return encoded + b"\0"
