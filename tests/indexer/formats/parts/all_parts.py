"""All parts of all formats, and the table of them that docs/formats.md shows."""

from parts import mail, office, pdf, text

PARTS = [
    *text.PARTS,
    *mail.PARTS,
    *office.PARTS,
    *pdf.PARTS,
]


def table():
    """The rows of the table: the format, what is read of it, and what is left out."""
    rows = []
    for kind in dict.fromkeys(part.kind for part in PARTS):
        read, left_out = (
            ", ".join(part.name for part in PARTS if part.kind == kind and part.is_read is is_read)
            for is_read in (True, False)
        )
        rows.append(f"| {kind} | {read} | {left_out or '-'} |")
    return rows
