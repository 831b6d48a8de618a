"""Files of Office 97 to 2003, each as small as it can be: compound files with the streams that a reader needs."""

from itertools import pairwise
from struct import pack

SECTOR, SMALL_SECTOR, SMALL = 512, 64, 4096
FREE, END, IN_TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(streams: dict[str, bytes]) -> bytes:
    """A compound file of streams, whose names may contain folders with "/" between them."""
    sectors, table, small_table, small_data = list[bytes](), list[int](), list[int](), bytearray()

    def chain(data: bytes, size: int, places: list[int]) -> int:
        count = -(-len(data) // size)
        first = len(places)
        places.extend([*range(first + 1, first + count), END] if count else [])
        return first if count else END

    def store(data: bytes) -> int:
        first = chain(data, SECTOR, table)
        sectors.extend(data[start : start + SECTOR].ljust(SECTOR, b"\0") for start in range(0, len(data), SECTOR))
        return first

    entries: list[tuple[str, int, int, int]] = [("Root Entry", 5, END, 0)]  # the name, the type, the start and the size
    children: dict[str, list[tuple[str, int]]] = {"": []}
    for path, data in streams.items():
        above = ""
        for folder in path.split("/")[:-1]:
            inside = f"{above}/{folder}"
            if inside not in children:
                children[inside] = []
                children[above].append((inside, len(entries)))
                entries.append((folder, 1, END, 0))
            above = inside
        if len(data) < SMALL:
            start = chain(data, SMALL_SECTOR, small_table)
            small_data += data + bytes(-len(data) % SMALL_SECTOR)
        else:
            start = store(data)
        children[above].append(("", len(entries)))
        entries.append((path.rpartition("/")[2], 2, start, len(data)))
    entries[0] = ("Root Entry", 5, store(bytes(small_data)), len(small_data))
    first_child = {0: next((number for _, number in children[""]), FREE)}
    right = {}
    for inside in children.values():
        for (_, number), (_, following) in pairwise(inside):
            right[number] = following
        first_child |= {number: children[folder][0][1] for folder, number in inside if folder}
    directory = b""
    for number, (name, kind, start, size) in enumerate(entries):
        wide = (name + "\0").encode("utf-16-le")
        links = pack("<III", FREE, right.get(number, FREE), first_child.get(number, FREE))
        directory += wide.ljust(64, b"\0") + pack("<HBB", len(wide), kind, 1) + links + bytes(36)
        directory += pack("<IQ", start, size)
    directory += bytes(-len(directory) % SECTOR)
    directory_start = store(directory)
    small_start = store(pack(f"<{len(small_table)}I", *small_table))
    n_tables = -(-(len(table) + 1) // (SECTOR // 4 - 1))
    first_table = len(table)
    table += [IN_TABLE] * n_tables
    table += [FREE] * (-len(table) % (SECTOR // 4))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += pack("<IIIIIIIII", 0, n_tables, directory_start, 0, SMALL, small_start, int(bool(small_table)), END, 0)
    header += b"".join(pack("<I", first_table + number if number < n_tables else FREE) for number in range(109))
    return header + b"".join(sectors) + pack(f"<{len(table)}I", *table)


TEXT, NOTES, MARGINS, COMMENTS, BOXES = 0, 1, 2, 4, 6  # stories of a Word document


def word(stories: dict[int, str], deleted: str = "", flags: int = 0x200, version: int = 0xC1) -> bytes:
    """A Word document of these stories, in which one part of the text has been deleted."""
    text = "".join(stories.get(number, "") for number in range(8))
    start = 1536
    first = start + 2 * text.index(deleted)
    places = [start, first, first + 2 * len(deleted), start + 2 * len(text)]
    page = pack("<4I", *places) + bytes([0, 100, 0])
    page = page.ljust(200, b"\0") + pack("<BHB", 3, 0x0800, 1)
    page = page.ljust(511, b"\0") + b"\x03"
    characters = pack("<III", start, places[-1], 2)
    pieces = b"\x02" + pack("<IIIHIH", 16, 0, len(text), 0, start, 0)
    head = bytearray(1024)
    head[:4], head[10:12] = pack("<HH", 0xA5EC, version), pack("<H", flags)
    head[0x4C : 0x4C + 32] = pack("<8I", *(len(stories.get(number, "")) for number in range(8)))
    head[0xFA : 0xFA + 8] = pack("<II", 0, len(characters))
    head[0x1A2 : 0x1A2 + 8] = pack("<II", len(characters), len(pieces))
    return compound({"WordDocument": bytes(head) + page + text.encode("utf-16-le"), "1Table": characters + pieces})


def record(kind: int, body: bytes, variant: int = 0, *, is_container: bool = False) -> bytes:
    """A record of a presentation."""
    return pack("<HHI", variant << 4 | 15 * is_container, kind, len(body)) + body


def container(kind: int, *records: bytes, variant: int = 0) -> bytes:
    """A record of a presentation that contains records."""
    return record(kind, b"".join(records), variant, is_container=True)


def text_box(text: str, role: int) -> bytes:
    """A text on a slide: 0 for a title, 2 for notes, 4 for other texts."""
    return record(3999, pack("<I", role)) + record(4000, text.encode("utf-16-le"))


def powerpoint(
    title: str = "", box: str = "", notes: str = "", comment: str = "", footer: str = "", deleted: str = ""
) -> bytes:
    """A PowerPoint presentation of one slide, and of another one that has been deleted."""
    remark = container(12000, record(4026, b"M\0e\0"), record(4026, comment.encode("utf-16-le"), 1)) if comment else b""
    tags = container(5000, container(5002, record(5003, remark)))
    shape = container(1036, container(0xF00D, text_box(box, 4)))
    records = [
        container(
            1000,
            container(4057, record(4026, footer.encode("utf-16-le"), 2)) if footer else b"",
            container(4080, record(1011, pack("<IIIII", 2, 0, 0, 256, 0)), text_box(title, 0)),
            container(4080, record(1011, pack("<IIIII", 3, 0, 0, 257, 0)), variant=2),
        ),
        container(1006, record(1007, pack("<12xIII", 0, 257, 0)), shape, tags),
        container(1008, container(1036, container(0xF00D, text_box(notes, 2)))),
        container(1006, container(1036, container(0xF00D, text_box(deleted, 4)))),
    ]
    places = [sum(map(len, records[:number])) for number in range(4)]
    directory = record(6002, pack("<I4I", 1 | 4 << 20, *places))
    start = sum(map(len, records))
    edit = record(4085, pack("<IIIIII", 0, 0, 0, start, 1, 0))
    user = record(4086, pack("<III", 20, 0xE391C05F, start + len(directory)))
    return compound({"PowerPoint Document": b"".join([*records, directory, edit]), "Current User": user})


def excel_record(kind: int, body: bytes = b"") -> bytes:
    """A record of a workbook."""
    return pack("<HH", kind, len(body)) + body


def excel_text(text: str, size: str = "H") -> bytes:
    """A text in a record of a workbook after its length, whose `size` is that of `struct`."""
    return pack(f"<{size}B", len(text), 1) + text.encode("utf-16-le")


def excel(texts: list[str], rows: bytes = b"", name: str = "Prices", before: bytes = b"") -> bytes:
    """A workbook of one sheet, whose first row has the texts; `rows` and `before` are further records."""
    start = excel_record(0x809, pack("<HH", 0x600, 5))
    shared = excel_record(0xFC, pack("<II", len(texts), len(texts)) + b"".join(map(excel_text, texts)))
    shared += excel_record(0x41E, pack("<H", 164) + excel_text("yyyy-mm-dd"))
    shared += excel_record(0xE0, pack("<HH", 0, 0)) + excel_record(0xE0, pack("<HH", 0, 164))
    head = start + before + shared
    end = excel_record(0x0A)
    sheet = excel_record(0x85, pack("<IH", 0, 0) + excel_text(name, "B"))
    sheet = excel_record(0x85, pack("<IH", len(head) + len(sheet) + len(end), 0) + excel_text(name, "B"))
    cells = b"".join(excel_record(0xFD, pack("<HHHI", 0, number, 0, number)) for number in range(len(texts)))
    return compound({"Workbook": head + sheet + end + start + cells + rows + end})


def excel_shape(number: int, text: str) -> bytes:
    """A shape with a text on a sheet."""
    shape = excel_record(0x5D, pack("<HHHH", 0x15, 18, 25, number))
    text_of_shape = excel_record(0x1B6, pack("<HH6xHH", 0, 0, len(text), 0))
    return shape + text_of_shape + excel_record(0x3C, b"\x01" + text.encode("utf-16-le")) + excel_record(0x3C, bytes(8))


def excel_comment(row: int, column: int, text: str) -> bytes:
    """A comment on a cell."""
    return excel_shape(7, text) + excel_record(0x1C, pack("<4H", row, column, 0, 7))


def outlook(properties: dict[str, str | bytes], more: dict[str, bytes] | None = None) -> bytes:
    """A message of these properties, by their numbers, such as "0037" for the subject."""
    streams = {"__properties_version1.0": bytes(32) + b"\x40\0\x39\0" + pack("<IQ", 0, 133_500_000_000_000_000)}
    for number, value in properties.items():
        is_text = isinstance(value, str)
        data = value.encode("utf-16-le") if isinstance(value, str) else value
        streams[f"__substg1.0_{number}{'001F' if is_text else '0102'}"] = data
    return compound(streams | (more or {}))


def attached(name: str, data: bytes, folder: str = "__attach_version1.0_#00000000") -> dict[str, bytes]:
    """The streams of an attachment of a message."""
    return {f"{folder}/__substg1.0_3707001F": name.encode("utf-16-le"), f"{folder}/__substg1.0_37010102": data}


FILES = {
    "a.doc": word({TEXT: "The cat\rsleeps on \x07the \x07\x07mat.\r", NOTES: "\x02 A note\r"}, "on "),
    "a.ppt": powerpoint("Cats", "They purr", "slowly", "Loudly!", "2024"),
    "a.xls": excel(
        ["Name", "Age"],
        excel_record(0x203, pack("<HHHd", 1, 1, 1, 45_000))
        + excel_record(0xBD, pack("<HH", 2, 0) + pack("<Hi", 0, 7 << 2 | 2) * 2 + pack("<H", 1))
        + excel_record(0x06, pack("<HHH6sH", 3, 0, 0, bytes(6), 0xFFFF) + bytes(8))
        + excel_record(0x207, excel_text("result"))
        + excel_comment(1, 0, "hungry"),
    ),
    "a.msg": outlook({"0037": "Cats", "0C1A": "Ann", "1000": "They purr."}, attached("a.md", b"# Food\n\nHoney.\n")),
}
