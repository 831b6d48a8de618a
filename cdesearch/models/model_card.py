"""What a model's card, README.md, says: licence and languages in its front matter, and the prefixes of E5."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text
from cdesearch.words.known import MOST_LANGUAGES

CARD = "README.md"
SHOWN_LANGUAGES = 3
MAX_SHOWN = 40  # characters of a value
E5_PREFIXES = ("query: ", "passage: ")  # of queries and of documents, which only the cards of E5 models state
_FRONT = re.compile(r"\A\s*---[ \t\r]*\n(.*?)\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)
_CODE = re.compile(r"([a-z]{2,3})(?:-.*)?")  # with or without a region, such as `zh-CN`


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The statements of a card; empty where it states nothing."""

    licence: str = ""
    languages: tuple[str, ...] = ()  # as the card names them: mostly codes, or `multilingual`

    @property
    def language_codes(self) -> tuple[str, ...]:
        """The codes of the languages, in alphabetical order; `multilingual` names none."""
        codes = {match[1] for name in self.languages if (match := _CODE.fullmatch(name.lower()))}
        return tuple(sorted({"no" if code in ("nb", "nn") else code for code in codes}))

    @property
    def shown_languages(self) -> str:
        """The languages for people: their names, or how many there are."""
        names = self.languages
        return f"{len(names)} languages" if len(names) > SHOWN_LANGUAGES else ", ".join(names)


def read_card(folder: Path) -> ModelCard:
    """The card of a checkpoint folder; an empty one if there is none or it cannot be read."""
    try:
        front = _FRONT.match(read_fields_text(folder / CARD))
        # This loader reads every single value as text. The others fail in many ways at values with tags.
        fields = yaml.load(front[1], yaml.BaseLoader) if front else None
    except (OSError, ValueError, ModelError, yaml.YAMLError, RecursionError):
        return ModelCard()
    if not isinstance(fields, dict):
        return ModelCard()
    licence = fields.get("license_name") if fields.get("license") == "other" else fields.get("license")
    languages = fields.get("language")
    names = languages[:MOST_LANGUAGES] if isinstance(languages, list) else [languages]
    return ModelCard(_short(licence), tuple(filter(None, map(_short, names))))


def stated_prefixes(folder: Path) -> tuple[str, str]:
    """The prefixes of E5 if the card of a folder names both in quotation marks, as their cards do; else empty ones."""
    try:
        card = read_fields_text(folder / CARD)
    except (OSError, ValueError, ModelError):
        return "", ""
    return E5_PREFIXES if all(f'"{prefix}"' in card for prefix in E5_PREFIXES) else ("", "")


def _short(value: Any) -> str:
    """The beginning of a text without control characters; nothing for other values and null."""
    if not isinstance(value, str) or value in ("null", "~"):
        return ""
    return "".join(filter(str.isprintable, value[:MAX_SHOWN]))
