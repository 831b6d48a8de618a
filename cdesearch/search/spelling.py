"""Replace words of a query that no text contains by words of the texts that are spelled alike."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

from cdesearch.encode.load import default_tokenizer
from cdesearch.search.documents import read_candidates
from cdesearch.search.lexical import any_of, searched_words
from cdesearch.search.query_syntax import QUOTED
from cdesearch.store.index import Index
from cdesearch.words.detection import main_language
from cdesearch.words.known import ENGLISH
from cdesearch.words.stems import folded, stems

N_READ = 30  # chunks in which a word that is spelled alike is looked for
FIRST = 3  # is added to the rank of a chunk, so that a word in the first one does not outweigh those in all others
UNLIKELY = 0.25  # another letter in place of one, compared with a letter too much, one too few, or two swapped
LEAST_PART = 3  # letters of a word that was written together with the one after it
LONGEST = 30  # letters of a word that may be misspelled
LEAST_IN_OTHERS = 6  # letters of a word that may be misspelled, in a corpus that is mainly in another language
_OPERATOR = r"(?<!\S)-\S+|(?<!\S)-?(?:path|type):\S+|(?<!\S)\S+://\S+"
_WORD = re.compile(r"[^\W\d_]+")
_PLURAL = re.compile(r"(?<=..)(?:ies|(?<![su])s)\Z")
_PART = re.compile(r"[A-Z]?[a-z]+")  # of a name such as cancelShipment


def respelled(index: Index, text: str, unknown: Iterable[str]) -> str:
    """The text of a query, in which words of the corpus replace the `unknown` ones that are spelled alike.

    Phrases in quotation marks and operators stay as they are. Of words of questions about six folders, misspelled
    by chance, 88% become what they were or another form of it, and 3% another word; see benchmarks/results/LOG.md.
    """
    for word in filter(partial(_may_be_misspelled, main_language(index.manifest.languages)), unknown):
        if (other := _word_like(index, word, text)) is not None:
            pieces = re.split(f"({QUOTED}|{_OPERATOR})", text)
            pieces[::2] = [re.sub(rf"\b{re.escape(word)}\b", other, piece) for piece in pieces[::2]]
            text = "".join(pieces)
    return text


def _may_be_misspelled(language: str, word: str) -> bool:
    """Whether a word is no acronym and no common English one, which the default model's tokenizer does not divide."""
    forms = (word.lower(), *stems(word.lower(), ENGLISH))
    is_known = any(len(default_tokenizer().encode(form, add_special_tokens=False)) == 1 for form in forms)
    return (
        not (is_known or word.isupper())
        and len(word) <= LONGEST
        and (language == ENGLISH or len(word) >= LEAST_IN_OTHERS)
    )


def _word_like(index: Index, word: str, query: str) -> str | None:
    """The word that is spelled like another one, chosen by the rest of the query; None if the corpus has none."""
    found: defaultdict[str, float] = defaultdict(float)
    for rank, text in enumerate(_texts_with_words_like(index, word, query)):
        for other in sorted({one.lower() for one in (*_WORD.findall(text), *_PART.findall(text))}):
            found[other] += _likeness_of_forms(folded(word.lower()), folded(other)) / (FIRST + rank)
        for pair in pairwise(_WORD.findall(text.lower())):
            if "".join(pair) == word.lower() and min(map(len, pair)) >= LEAST_PART:
                found[" ".join(pair)] += 1 / (FIRST + rank)
    best = max(found, key=found.__getitem__, default="")
    return best if found[best] else None


def _texts_with_words_like(index: Index, word: str, query: str) -> list[str]:
    """Texts with words that may be spelled like another one, those with most of the rest of the query first."""
    search: Any = index.async_chunks.query()  # loads LanceDB
    from lancedb import query as lance

    match: Any = partial(lance.MatchQuery, column="words", boost=0.0)
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    shorter = [word[:at] + word[at + 1 :] for at in range(1, len(word))]
    parts = [(word[:at], word[at:]) for at in range(LEAST_PART, len(word) - LEAST_PART + 1)]
    near = dict.fromkeys(stem for other in (*swapped, *shorter) for stem in searched_words(index, other))
    alike = [
        match(" ".join(near)),
        match(_stem(index, word), fuzziness=1, prefix_length=1),
        *(lance.BooleanQuery([(lance.Occur.MUST, match(_stem(index, one))) for one in both]) for both in parts),
    ]
    needed = lance.BooleanQuery([(lance.Occur.SHOULD, one) for one in alike])
    others = any_of(searched_words(index, query))
    search = search.nearest_to_text(lance.BooleanQuery([(lance.Occur.MUST, needed), (lance.Occur.SHOULD, others)]))
    texts: list[str] = read_candidates(index, search, ["_score", "text"], N_READ, None)["text"].to_pylist()
    return texts


def _stem(index: Index, word: str) -> str:
    return next(iter(searched_words(index, word)), word)


def _likeness_of_forms(word: str, other: str) -> float:
    """The likeness of two words without accents, or of their singular forms, which is less likely."""
    likeness = _likeness(word, other)
    if likeness or not other or word[0] != other[0] or "s" not in (word[-1], other[-1]):
        return likeness
    one, two = (_PLURAL.sub(lambda ending: "y" if ending[0] == "ies" else "", name) for name in (word, other))
    return UNLIKELY * _likeness(one, two)


def _likeness(word: str, other: str) -> float:
    """How likely a word is written in place of another one; 0 if more than one letter differs, or the first one."""
    shorter = min(len(word), len(other))
    start = next((at for at in range(shorter) if word[at] != other[at]), shorter)  # of what differs
    rest, rest_of_other = word[start:], other[start:]
    is_swapped = rest[:2] == rest_of_other[1::-1] and rest[2:] == rest_of_other[2:]
    if is_swapped or (start and (rest[1:] == rest_of_other or rest == rest_of_other[1:])):
        return float(word != other)
    return UNLIKELY if start and rest[1:] == rest_of_other[1:] else 0.0
