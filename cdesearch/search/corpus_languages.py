"""Describe the languages of an index, which of them its model does not read, and which model does."""

from cdesearch.languages.known import LANGUAGES, names_of
from cdesearch.languages.shares import described, percentage, text_language, unread
from cdesearch.models.catalog import models_reading
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_command

FREQUENT = 0.1  # the share of the chunks from which on a language that full text does not stem is named


def unread_languages(index: Index) -> str | None:
    """Say which share of the chunks the model does not read, and what helps; None if no such language is known."""
    manifest = index.manifest
    missed = unread(manifest.languages, manifest.model_languages)
    if not missed:
        return None
    total = f"{percentage(min(1.0, sum(missed.values())))} of the chunks are in languages that the model does not read"
    readers = models_reading([*missed, *(code for code in manifest.languages if code in manifest.model_languages)])
    said = f"{total} ({described(missed)}). Hybrid search relies on their words."
    if not readers:
        return said
    return f"{said} The model {readers[0]} reads them: {rebuild_command(index.place, model=readers[0])}."


def unfit_text_language(index: Index) -> str | None:
    """Say which languages of the corpus full text does not stem, and what helps; None if it stems all frequent ones."""
    manifest = index.manifest
    stems = names_of([manifest.text_language])
    fitting = text_language(manifest.languages)
    if not manifest.languages or fitting == manifest.text_language:
        others = {
            code: share
            for code, share in manifest.languages.items()
            if code != manifest.text_language and LANGUAGES[code].stemmer and share >= FREQUENT
        }
        return f"Full text stems words of {stems} alone, not those of {described(others)}." if others else None
    return f"Full text stems words of {stems}, not of {LANGUAGES[fitting].name}: {rebuild_command(index.place)}."
