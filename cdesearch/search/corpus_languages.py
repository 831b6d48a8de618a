"""Describe the languages of an index, which of them its model does not read, and which model does."""

from cdesearch.languages.known import LANGUAGES, names_of
from cdesearch.languages.shares import described, percentage, text_language, unread
from cdesearch.models.catalog import models_reading
from cdesearch.store.folder import rebuild_command
from cdesearch.store.index import Index


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
    return f"{said} The model {readers[0]} reads them: {rebuild_command(index.folder, readers[0])}."


def unfit_text_language(index: Index) -> str | None:
    """Say that full text stems words of another language than most chunks now have; None if the choice still fits."""
    manifest = index.manifest
    fitting = text_language(manifest.languages)
    if not manifest.languages or fitting == manifest.text_language:
        return None
    stems = names_of([manifest.text_language])
    return f"Full text stems words of {stems}, not of {LANGUAGES[fitting].name}: {rebuild_command(index.folder)}."
