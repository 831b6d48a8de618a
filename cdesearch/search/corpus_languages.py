"""The languages of an index: how much of it, and of a query, is in a language that its model does not read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdesearch.models.endpoint_model import SHORT_NAMES
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_command
from cdesearch.store.manifest import Manifest
from cdesearch.store.place import Place
from cdesearch.words.detection import (
    described,
    function_words,
    ignored_words,
    language_of,
    percentage,
    unread,
    words_by_script,
)
from cdesearch.words.known import ENGLISH, LATIN

JUDGED = 10  # the chunks with the highest BM25 scores, whose languages are detected
CORPUS_WORDS = 1.0  # the languages of these chunks count as so many words of the query
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of a corpus and of its model, with which queries are judged."""

    unread: dict[str, float]  # the shares of the chunks in languages that the model does not read
    model: frozenset[str]  # the codes of the languages that the model reads
    spoken: frozenset[str]  # those of the corpus and of the model

    @classmethod
    def of(cls, manifest: Manifest) -> "Languages":
        """The languages of an index. Those of an older index, or of a model without a card, are not known."""
        model = frozenset(manifest.model_languages)
        return cls(unread(manifest.languages, model), model, model | manifest.languages.keys())

    def blindness(self, query: str, texts: Sequence[str]) -> float:
        """The estimated probability that the model does not read a query, from 0 to 1.

        It is the share of words in unread languages among the words whose language shows: by their script, or because
        they are function words. The chunks with the highest BM25 scores, `texts`, count as CORPUS_WORDS further words,
        so that words without a language of their own have that of the chunks. 0 in a corpus that the model reads.
        """
        if not self.unread:
            return 0.0
        by_script = [
            (bool(self.model & frozenset(script.languages)), amount)
            for script, amount in words_by_script(query).items()
            if script is not LATIN
        ]
        latin = function_words(query, self.spoken & frozenset(LATIN.languages))
        judged = [*by_script, *((code in self.model, amount) for code, amount in latin.items())]
        foreign = sum(amount for is_read, amount in judged if not is_read)
        total = sum(amount for _, amount in judged) + CORPUS_WORDS
        return (foreign + CORPUS_WORDS * self._unread_share(texts)) / total

    def _unread_share(self, texts: Sequence[str]) -> float:
        languages = [code for text in texts[:JUDGED] if (code := language_of(text)) is not None]
        if not languages:
            return min(1.0, sum(self.unread.values()))
        return sum(code in self.unread for code in languages) / len(languages)

    def searched(self, query: str) -> str:
        """A query without the function words of its language, which full text would search for.

        Full text ignores those of English, and of the language of each text. English queries stay as they are, and so
        do queries without other words.
        """
        if self.spoken <= {ENGLISH}:
            return query
        counts = function_words(query, self.spoken)
        language = max(counts, key=lambda code: (counts[code], code == ENGLISH, code), default=ENGLISH)
        if language == ENGLISH:
            return query
        ignored = ignored_words(language)
        kept = _WORD.sub(lambda match: " " if match[0].lower() in ignored else match[0], query)
        return kept if _WORD.search(kept) else query


def unread_languages(index: Index, place: Place) -> str | None:
    """Say which share of the chunks the model does not read, and what helps; None if no such language is known."""
    from cdesearch.models.catalog import models_reading  # which no query needs

    manifest = index.manifest
    missed = unread(manifest.languages, manifest.model_languages)
    if not missed:
        return None
    total = f"{percentage(min(1.0, sum(missed.values())))} of the chunks are in languages that the model does not read"
    readers = models_reading([*missed, *(code for code in manifest.languages if code in manifest.model_languages)])
    said = f"{total} ({described(missed)}). Hybrid search relies on their words."
    if not readers:
        return said
    named = next((short for short, name in SHORT_NAMES.items() if name == readers[0]), readers[0])
    return f"{said} The model {readers[0]} reads them: {rebuild_command(place, model=named)}."
