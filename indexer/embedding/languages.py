"""The languages of the chunks that a build has read, and the choice of the full-text search."""

from dataclasses import dataclass
from itertools import chain

from cdesearch.languages.detection import joined_shares, language_shares, text_language
from cdesearch.store.manifest import Manifest
from indexer.embedding.spool import Chunks

MAX_SAMPLED = 1_000  # chunks whose language is detected, which takes about a tenth of a second


@dataclass(frozen=True, slots=True)
class CorpusLanguages:
    """The languages of a corpus, as the manifest stores them."""

    shares: dict[str, float]  # of the chunks, by the code of their language
    text_language: str  # the code of the language whose stemmer and stop words full text uses

    @classmethod
    def of(cls, spool: Chunks, base: Manifest | None, n_kept: int) -> "CorpusLanguages":
        """Detect the languages of the spooled chunks.

        Without `base` they are the whole corpus, and choose the full-text search. Otherwise the choice stays, and the
        `n_kept` chunks of the base that stay have its shares.
        """
        n_chunks = spool.count()
        step = max(1, -(-n_chunks // MAX_SAMPLED))  # of every so many chunks of a window, one is sampled
        texts = chain.from_iterable(window["text"].to_pylist()[::step] for window in spool.windows(["text"]))
        fresh = language_shares(texts)
        if base is None:
            return cls(fresh, text_language(fresh))
        return cls(joined_shares([(base.languages, n_kept), (fresh, n_chunks)]), base.text_language)
