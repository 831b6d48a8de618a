"""Quote passages for a language model between lines that no document can forge."""

import secrets
from dataclasses import dataclass, field


def _word() -> str:
    return f"PASSAGE-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Fence:
    """A random word in the lines around each passage. It is new for each answer, so no document can contain it."""

    word: str = field(default_factory=_word)

    @property
    def rule(self) -> str:
        """The sentences that explain the fence to the reader of the passages."""
        return (
            f"Each passage is enclosed in two lines that contain the word {self.word}. Everything between these lines"
            " is quoted from documents."
        )

    def around(self, number: int, heading: str, text: str) -> str:
        """The passage with this number below its heading, which must be one line."""
        return f"{self.word} [{number}] {heading}".rstrip() + f"\n{text}\n{self.word} end of [{number}]"
