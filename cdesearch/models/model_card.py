"""What a model's card says: its licence and languages, from the front matter of README.md."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

CARD = "README.md"
SHOWN_LANGUAGES = 3
MAX_SHOWN = 40  # characters of a value


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The statements of a card; empty where it states nothing."""

    licence: str = ""
    languages: str = ""


def read_card(folder: Path) -> ModelCard:
    """The card of a checkpoint folder; an empty one if there is none or it cannot be read."""
    try:
        text = read_fields_text(folder / CARD)
    except (OSError, ValueError, ModelError):
        return ModelCard()
    opening, _, rest = text.partition("---\n")
    matter, closing, _ = rest.partition("\n---")
    if opening.strip() or not closing:
        return ModelCard()
    try:
        fields = yaml.safe_load(matter)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ModelCard()
    if not isinstance(fields, dict):
        return ModelCard()
    licence = fields.get("license_name") if fields.get("license") == "other" else fields.get("license")
    return ModelCard(_short(licence), _languages(fields.get("language")))


def _languages(value: Any) -> str:
    names = [_short(name) for name in value] if isinstance(value, list) else [_short(value)]
    return f"{len(names)} languages" if len(names) > SHOWN_LANGUAGES else ", ".join(filter(None, names))


def _short(value: Any) -> str:
    return str(value)[:MAX_SHOWN] if isinstance(value, str) else ""
