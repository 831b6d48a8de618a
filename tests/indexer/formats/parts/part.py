"""A part of a file format, such as the footnotes of Word documents, and a file in which it holds a sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

_SYLLABLES = ("bra", "cor", "del", "fen", "gar", "hol", "jun", "kel", "lam", "mor", "nes", "pol", "ris", "tam", "vel")


@dataclass(frozen=True)
class Part:
    """One part of a format. `build` makes the bytes of a file whose only mention of a sentence is in this part."""

    kind: str  # the format as docs/formats.md names it, such as "Word (.docx)"
    name: str  # of the part, such as "footnotes"
    suffix: str  # of the file, with the dot
    build: Callable[[str], bytes]
    is_read: bool = True  # False for what must stay out, such as deleted text

    @property
    def sentence(self) -> str:
        """A sentence of invented words, which no other part has."""
        random = Random(f"{self.kind} {self.name}")
        words = ["".join(random.choices(_SYLLABLES, k=3)) for _ in range(4)]
        return f"The {words[0]} of the {words[1]} keeps a {words[2]} near the {words[3]}"

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.build(self.sentence)

    @property
    def file(self) -> str:
        """A name for the file that no other part has."""
        letters = "".join(letter if letter.isalnum() else "-" for letter in f"{self.kind} {self.name}".lower())
        return letters.strip("-") + self.suffix
