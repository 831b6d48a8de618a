"""The confidence of a hit: the probability that it is relevant to the query.

A logistic model reads the rank of the hit, the share of the query's words that it contains, and its cosine. Cosines
depend on the corpus and on the model, so a cosine is also expressed in standard deviations of the cosines between the
chunks of the context. The context therefore calibrates the model to its corpus, and nothing else has to be stored.
Whitened vectors of different corpora are distributed alike, so there the cosine itself tells the most. Among few chunks
there are few that only resemble an answer, so the same cosine means more there. The weights for a small corpus are
therefore a mean of those for few chunks and those for many.

A query that is a name or a quoted phrase is answered by the chunks that contain it, whatever their other evidence is.
So is, with less confidence, a query of several words that a chunk contains word for word.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.search.exact import MAX_CHARACTERS, ExactTerm, exact_terms, is_exact
from cdesearch.search.fusion import MIN_NULL_SIZE
from cdesearch.store.schema import Chunk, Hit
from cdesearch.words.analyzer import UMLAUT, query_words, text_words
from cdesearch.words.compounds import JOINING, LEAST_PART
from cdesearch.words.detection import main_language
from cdesearch.words.known import ENGLISH
from cdesearch.words.scripts import UNSPACED
from cdesearch.words.word_forms import STEM, TOKEN, folded, pieces, without_accents, word_stem

# Function words of English questions. They do not show what a question is about, and are rare in many documents.
_QUESTION_WORDS = """
    a about an and any are as at be been but by can could did do does explain find for from get give had has have how
    i if in into is it its know like list make many may me mean much my need not of on or our please s should show so
    some tell than that the their them there these they this those to us use used using was we were what when where
    which who whom whose why will with would you your
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the logistic model, fitted to development data; see benchmarks/results/LOG.md."""

    bias: float
    cosine: float
    evidence: float  # of the cosine in standard deviations, or of the lexical evidence
    share: float  # of the share of the query's words that the hit contains
    rank: float  # of the logarithm of the rank

    def mixed(self, other: "Weights", share: float) -> "Weights":
        """The weighted mean with other weights, which have this share."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Weights(*(one + share * (another - one) for one, another in pairs))


CERTAIN = 0.9  # the confidence of a hit that contains the name or phrase that is asked for
VERBATIM = 0.5  # the confidence of a hit that contains a query of several words word for word
JOINED = 0.3  # the confidence of a hit with a compound of the only word of a query
FEW = 3  # hits with a name or phrase, up to which each of them is an answer
BY_COSINE = Weights(bias=-5.02, cosine=11.6, evidence=-0.45, share=1.68, rank=-1.20)
BY_DEVIATION = Weights(bias=-3.65, cosine=0.0, evidence=0.40, share=2.68, rank=-1.24)  # vectors are not whitened
BY_WORDS = Weights(bias=-4.24, cosine=0.0, evidence=0.88, share=2.99, rank=-1.61)  # for hits without a cosine
# The limit of BY_COSINE for few chunks, with its weight of the rank. The questions to which it is fitted have one
# answer each, so a fitted weight of the rank would hide second answers.
OF_FEW = Weights(bias=-5.60, cosine=10.7, evidence=0.0, share=2.94, rank=-1.20)
UNKNOWN_NAME = -1.2  # of a query with a name that the corpus lacks; see benchmarks/results/LOG.md
MANY = 512  # chunks of a context from which on BY_COSINE holds

_LETTERS = re.compile(r"[^a-z]")  # what follows the first letters of a word
# Letters and ends of lines with which a word may be written in another way
_OTHER_FORMS = re.compile(r"[^\W0-9_A-Za-z]|-\n")


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The distribution of the cosines between different chunks of a context.

    If there are too few chunks to measure it, the mean is 0 and the spread 1, and the weights do not read it.
    """

    mean: float
    spread: float  # the standard deviation
    weights: Weights  # of the model that reads the cosines

    @classmethod
    def of(cls, vectors: Floats, *, is_whitened: bool) -> "CosineScale | None":
        """Measure the scale of (J, d) unit vectors; None if all are the same, or too few and not whitened."""
        if len(vectors) < MIN_NULL_SIZE:
            return cls(0.0, 1.0, OF_FEW) if is_whitened else None
        weights = OF_FEW.mixed(BY_COSINE, min(len(vectors) / MANY, 1.0)) if is_whitened else BY_DEVIATION
        cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)].astype(np.float64)
        spread = float(cosines.std())
        return cls(float(cosines.mean()), spread, weights) if spread > 1e-6 else None

    def deviation(self, cosine: float) -> float:
        """A cosine in standard deviations from the mean."""
        return (cosine - self.mean) / self.spread


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words that show what a query is about, in lower case and without accents."""

    words: frozenset[str]
    may_be_joined: bool  # with others, as in the main language of the corpus

    @classmethod
    def of(cls, query: str, languages: Mapping[str, float]) -> "AskedWords":
        """The words of a query in a corpus of these `languages`, without English question words if there are others."""
        return cls(asked_words(query), main_language(languages) in JOINING)


def with_confidence(
    query: str,
    asked: AskedWords,
    hits: Sequence[Hit],
    scale: CosineScale | None,
    noise: float,
    *,
    has_unknown_name: bool = False,
) -> tuple[Hit, ...]:
    """The hits of a query, which is about the `asked` words, with their confidence.

    Without a scale or a cosine, the confidence depends on the words alone. `noise` is the BM25 score that many chunks
    reach with this query, as in `Evidence`; 0 if full text found nothing. `has_unknown_name` says that the query has a
    name that the corpus lacks.
    """
    sure = _exact_answers(query, hits)
    if asked.may_be_joined and len(asked.words) == 1:
        sure = _joined_answers(query.strip().lower(), hits) | sure
    offset = UNKNOWN_NAME if has_unknown_name else 0.0
    estimated = (max(_confidence(hit, asked, scale, noise, offset), sure.get(hit.rank, 0.0)) for hit in hits)
    return tuple(replace(hit, confidence=confidence) for hit, confidence in zip(hits, estimated, strict=True))


def _exact_answers(query: str, hits: Sequence[Hit]) -> dict[int, float]:
    """The least confidence of hits by their ranks: those that contain a name or quoted phrases that are all of a query.

    If files have this name, their hits are the answer. If more than FEW hits contain it, those that define it are, and
    the others the less the more there are.
    """
    name = ExactTerm(query.strip())
    if named := [hit.rank for hit in hits if name.is_name_of(hit.chunk.path)]:
        return dict.fromkeys(named, CERTAIN)
    terms = exact_terms(query)
    if not terms or not is_exact(query):
        return _verbatim_answers(query, hits)
    readable = {hit.rank: f"{hit.chunk.text}\n{hit.chunk.link_targets}" for hit in hits}
    holders = [hit for hit in hits if all(_contains(term, readable[hit.rank]) for term in terms)]
    share = FEW / max(FEW, len(holders))
    defining = [hit.rank for hit in holders if all(term.is_defined_in(hit.chunk.body) for term in terms)]
    return {hit.rank: CERTAIN * share for hit in holders} | dict.fromkeys(defining, CERTAIN)


def _verbatim_answers(query: str, hits: Sequence[Hit]) -> dict[int, float]:
    """The least confidence of hits by their ranks: those that contain a query of several words word for word."""
    if len(query) > MAX_CHARACTERS or len(_words(query) - QUESTION_WORDS) < 2:
        return {}
    phrase, words = ExactTerm(query.strip().rstrip("?.!"), is_phrase=True), _words(query)
    holders = [hit for hit in hits if words <= _words(hit.chunk.text) and phrase.is_in(hit.chunk.text)]
    return dict.fromkeys((hit.rank for hit in holders), VERBATIM * FEW / max(FEW, len(holders)))


def _joined_answers(word: str, hits: Sequence[Hit]) -> dict[int, float]:
    """The least confidence of hits by their ranks: those with a compound of a word, which may have `ue` for `ü`."""
    if len(word) < LEAST_PART:
        return {}
    texts = {hit.rank: f"{hit.chunk.text}\n{hit.chunk.path}".lower() for hit in hits}
    plain = UMLAUT.sub(r"\1", word)
    holders = [rank for rank, text in texts.items() if word in text or (plain != word and plain in folded(text))]
    return dict.fromkeys(holders, JOINED * FEW / max(FEW, len(holders)))


def _contains(term: ExactTerm, text: str) -> bool:
    """Whether a text contains a term, or a name or number in another spelling."""
    if term.count(text):
        return True
    whole = next(iter(query_words(term.text, [])), None)  # the first word of a name is the name itself
    return not term.is_phrase and whole in text_words(text, ENGLISH).split(" ")


def asked_words(query: str) -> frozenset[str]:
    """The words that show what a query is about, in lower case and without accents; otherwise all words."""
    words = _words(query)
    return words - QUESTION_WORDS or words


def share_of_words(asked: frozenset[str], text: str) -> float:
    """The share of the words of which the text contains a form; 0 without words."""
    return len(_contained(asked, text)) / max(len(asked), 1)


def _contained(asked: frozenset[str], text: str) -> frozenset[str]:
    """The words of which the text contains a form, which begins with the same stem, or the singular.

    A query may have thousands of words, so each is looked up in a sorted list.
    """
    found = sorted(_words(text))

    def contains(word: str) -> bool:
        if len(word) < STEM:
            return _has(found, word) or (len(word) == STEM - 1 and _has(found, f"{word}s"))
        stem = word_stem(word)
        first = bisect_left(found, stem)
        return (first < len(found) and found[first].startswith(stem)) or _has(found, word.removesuffix("s"))

    return frozenset(filter(contains, asked))


def _has(ordered: Sequence[str], word: str) -> bool:
    at = bisect_left(ordered, word)
    return at < len(ordered) and ordered[at] == word


def _confidence(hit: Hit, asked: AskedWords, scale: CosineScale | None, noise: float, offset: float) -> float:
    cosine = hit.dense_score
    if scale is None or cosine is None:
        ratio = hit.text_score / noise if hit.text_score is not None and noise > 0 else 1.0
        weights, evidence, cosine = BY_WORDS, float(np.log(max(ratio, 1.0))), 0.0
    else:
        weights, evidence = scale.weights, scale.deviation(cosine)
    share, rank = _share(asked, hit.chunk), float(np.log(hit.rank))
    logit = weights.bias + weights.cosine * cosine + weights.evidence * evidence
    logit += weights.share * share + weights.rank * rank + offset
    return float(1 / (1 + np.exp(-logit)))


def _share(asked: AskedWords, chunk: Chunk) -> float:
    """The share of the words of which a chunk contains a form: as a word, as a part of a name, or in its path.

    The analyzer finds parts of names, but it would take as long as the rest of a search to read all texts of hits.
    """
    found = _contained(asked.words, chunk.text)
    if missing := asked.words - found:
        found |= _contained(missing, text_words(_possible(f"{chunk.text}\n{chunk.path}", missing), ENGLISH))
    if asked.may_be_joined and (missing := asked.words - found):
        words = [*_words(f"{chunk.text}\n{chunk.path}")]
        found |= frozenset(word for word in missing if any(_is_part(word, one) for one in words))
    return len(found) / max(len(asked.words), 1)


def _is_part(word: str, other: str) -> bool:
    """Whether another word begins or ends with a word, or with a form of it, also with an umlaut in place of `ue`."""
    for form in {word, UMLAUT.sub(r"\1", word)}:
        stem = form.rstrip("ens")
        if len(stem) >= LEAST_PART and (other.startswith(form) or other.rstrip("ens").endswith(stem)):
            return True
    return False


def _possible(text: str, missing: frozenset[str]) -> str:
    """What the analyzer has to read of a text, because it may contain a form of a missing word."""
    stems = {_LETTERS.split(word_stem(word), maxsplit=1)[0] for word in missing}
    if "" in stems or _OTHER_FORMS.search(text):  # a number has other forms without any of its digits
        return text
    lower = text.lower()
    within = [stem for stem in stems if stem in lower]
    return " ".join(run for run in text.split() if any(stem in run.lower() for stem in within)) if within else ""


@lru_cache(maxsize=100)  # the texts of hits are asked for twice
def _words(text: str) -> frozenset[str]:
    lower = text.lower()
    if lower.isascii():
        return frozenset(TOKEN.findall(lower))
    return frozenset([*TOKEN.findall(without_accents(UNSPACED.sub(" ", lower))), *pieces(lower)])
