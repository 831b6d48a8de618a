"""The sentences of passages that an answer may quote, and those that answer a question best."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import Context
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.search.confidence import QUESTION_WORDS
from cdesearch.search.passages import OMISSION, Passage
from cdesearch.search.readable import is_marked_up, lines_as_text, suffix_of
from cdesearch.search.sentences import Kind, Sentence, split_sentences
from cdesearch.search.sheets import BAR, NO_NAME, cells_of, is_sheet
from cdesearch.store.line_places import value_at
from cdesearch.store.vector_format import VectorFormat
from cdesearch.words.analyzer import query_words, runs_of, text_words
from cdesearch.words.known import ENGLISH
from cdesearch.words.numbers import month_of
from cdesearch.words.scripts import UNSPACED
from cdesearch.words.word_forms import TOKEN

Scores = NDArray[np.floating[Any]]

LEAST_COLUMNS = 2  # of a table whose cells get names
MIN_WORDS = 3  # a shorter sentence cannot be understood alone
MIN_ENTRY = 2  # words of an item of a list or of a field, such as "- 2 eggs" and "Status: open"
SHORT = 3  # words of a sentence that is quoted with the one before it, such as "Default is 6379."
MAX_CHARACTERS = 400  # a longer sentence or paragraph of code is truncated
MAX_RECORD = 600  # a longer record is divided into sentences

_MARKER = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")
# An item of a list, a field such as "Owner: Ann", or a line of a diary that begins with a date
_ENTRY = re.compile(r"[-*+•] {1,3}\S|[A-Z][\w .'()-]{0,40}: \S|[\[(]?\d")
# The fields of a record in one line, such as "question: ... - answer: ..."
_FIELDS = re.compile(r"[^\n:]{1,60}: [^\n]+ - [^\n:]{1,60}: [^\n]+")
_CARDS = frozenset({".ics", ".vcf"})  # whose records have a field on each line
# What opens or closes a letter, and lines of programs that only name what they need of others
_GREETING = re.compile(
    r"(?:dear|hello|hi|hey|sehr geehrte[rs]?|liebe[rs]?|hallo|(?:ma |mon )?ch[eè]re?|bonjour|cordialement"
    r"|(?:kind|best|warm) (?:regards|wishes)|yours \w+|mit freundlichen|(?:viele|herzliche) grüße)"
    r"(?![-\w])[^:?!]{0,60}(?<!\.)[,!]?",
    re.IGNORECASE,
)
_NEEDED = re.compile(
    r"(?:(?:import|using(?! var)|use|require|include|package|#include|@import|export \*)\b(?!\s*[:=-])|from .+ import\b"
    r"|\S+ = require\b|(?:\w+ ){0,3}_*log(?:ger)?(?::[^=]+)? :?= [^\n]*logg(?:er|ing))[^\n]*\n?",
    re.IGNORECASE,
)
_IMPORTED = re.compile(r"[ \t]*\w+,\n|\s+|[)}\]];?\n?")  # the lines below, and what closes them
_QUESTION, _COLON = ("?", "\uff1f", "\u061f"), (":", "\uff1a")
# Also the full stops of Chinese, Hindi and Urdu, and the marks of questions in Chinese and Arabic
_END = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1a\uff1f\u061f\u06d4\u0964][\"')\]*_`\u201d\u2019\u300d\u300f]*$")
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|[\s|:-]+")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)  # in a mail, at the start of a line
# In a program: the mark before a line of a comment, or before a docstring.
_COMMENT = re.compile(r"^[ \t]*(?:(?://+|#+|/?\*+|--)[ \t]|\"{3}|'{3})", re.MULTILINE)
_FENCE = re.compile(r"(?:```|~~~).*\n?")
_MORE_THAN_A_QUESTION = re.compile(r"[^:?]{1,40}: [^?]+, ")  # such as "Ann: away in May, who stands in for her?"
_NUMBERED_NAME = re.compile(r"\b[A-Za-z]?[a-z]{2,}\d+\b")  # such as base64, whose number tells nothing
_WHY = re.compile(r"\b(?:why|what caused|how come|warum|weshalb|wieso|pourquoi|waarom)\b", re.IGNORECASE)
_CAUSE = re.compile(
    r"\b(?:caus(?:e[ds]?|ing)|because|reasons?|due to|owing to|weil|grund|ursache|parce que|raison|omdat|reden)\b",
    re.IGNORECASE,
)
# What a question asks for, and how a text looks that has it: a sum of money, or the address of a house
_KINDS = (
    (
        r"\bhow much\b|\b(?:costs?|prices?|fees?|kost\w+|preise?|gebühr|wie ?viel|wie hoch|combien|prix|coûte)\b",
        r"[$€£¥]\s?\d|\d\s?[$€£¥]|\d (?:EUR|USD|GBP|CHF|(?i:euros?|dollars?|pounds?|franken))\b",
    ),
    (
        r"(?<!mail )(?<!ip )\baddress|\b(?:post)?adresse|\banschrift|\bwohn(?:t|en|haft)\b|\bwhere\b.*\blives?\b",
        r"\b(?!(?:19|20)\d\d )\d{4,5} [A-ZÄÖÜ]\w|\b[A-Z]{1,2}\d[\dA-Z]? \d[A-Z]{2}\b|\b[A-Z]{2} \d{5}\b",
    ),
)
MAX_SENTENCES = 4
MAX_COSINE = 0.85  # two sentences with a higher cosine say the same, so only one of them is quoted
# The weights were chosen on development data, see benchmarks/results/LOG.md. Scores are in standard deviations of the
# question's cosines with the context.
WORDS_WEIGHT = 1.0  # multiplies the share of the question's words that a sentence contains
PASSAGE_WEIGHT = 2.0  # multiplies the score of the passage, divided by that of the best passage
FRAGMENT_PENALTY = 2.0  # of prose that does not end like a sentence, such as a caption
HEADING_PENALTY = 0.5  # of the score of a heading as that of the sentence below it
KIND_WEIGHT = 4.0  # of what the question asks for, by _KINDS
EXACT_WEIGHT, MOST_EXACT = 3.0, 2  # of a number, an identifier or a date of the question, and of how many in a sentence
MARGIN = 4.0  # a sentence is left out if its score is lower than the best one by more than this


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that an answer may quote: a sentence, a row of a table, or a paragraph of code."""

    text: str
    kind: Kind
    passage: int  # the position of its passage, counted from 0
    line: int | None  # its line in the file, counted from 1; None if the format has no lines
    location: str  # in the form `path:line`, `path#page=n` or `path#anchor`, or the path alone
    trail: tuple[str, ...]  # the headings above it, outermost first
    position: int  # its position in the passage, counted from 0
    short: str = ""  # the short sentence after it, which is quoted with it
    heading: str = ""  # the heading directly above it, unless that is the title of the document
    lead: str = ""  # of code: the sentence before it that ends with a colon
    labelled: str = ""  # a row, where the name of its column stands before each cell
    is_best: bool = False  # of the sentences of its passage that are quoted


def candidates_of(passages: Sequence[Passage]) -> list[Candidate]:
    """The sentences of all passages in order, except headings, questions, leads and those below MIN_WORDS."""
    return [one for number, passage in enumerate(passages) for one in _candidates(number, passage)]


def _candidates(number: int, passage: Passage) -> Iterator[Candidate]:
    if _is_record(passage):
        sentences = [Sentence(0, len(passage.text), "row")]
    else:
        sentences = split_sentences(passage.text, is_sheet=is_sheet(passage.path))
    headings: set[str] = set()  # of pages, on which they have no marks
    if passage.page is not None:
        headings = {passage.title, *passage.trail, *(name for _, trail in passage.places.trails for name in trail)}
    heading = lead = head = ""  # directly above the sentence, and the head of the table
    for position, (sentence, following) in enumerate(zip(sentences, [*sentences[1:], None], strict=True)):
        text = _shown(passage, sentence)
        if following and _RULE.fullmatch(passage.text, following.start, following.end):
            head = passage.text[sentence.start : sentence.end]
            continue
        is_code, is_prose, is_last = sentence.kind == "code", sentence.kind == "prose", following is None
        is_row = sentence.kind == "row"
        head = head if is_row else ""
        # In a program, a line such as "# How it works" is a comment, which may answer.
        is_heading = text in headings or (sentence.kind == "heading" and is_marked_up(passage.path))
        is_entry = is_prose and sentence.is_first and _ENTRY.match(passage.text, sentence.start)
        # The last sentence may be incomplete, because a chunk can end within a sentence.
        is_cut = is_prose and is_last and position > 0 and not (is_entry or _END.search(text))
        n_words, least = _number_of_words(text), MIN_ENTRY if is_entry else MIN_WORDS
        is_question = not is_row and text.endswith(_QUESTION) and not _MORE_THAN_A_QUESTION.match(text)
        is_greeting = is_prose and not is_entry and _GREETING.fullmatch(text)
        is_empty = is_greeting or (is_code and not is_marked_up(passage.path) and _is_only_needed(text))
        if not (is_heading or is_cut or is_question or is_empty or text.endswith(_COLON) or n_words < least):
            row = passage.text.count("\n", 0, sentence.start)
            place = passage.line_at(row), passage.location_at(row), passage.trail_at(row)
            short = "" if text.endswith(OMISSION) else _short_after(passage, sentence, following)
            before = lead if is_code else ""
            labelled = _labelled(passage, row, passage.text[sentence.start : sentence.end], head) if is_row else ""
            if labelled is not None:
                yield Candidate(text, sentence.kind, number, *place, position, short, heading, before, labelled)
        if is_heading:
            title = text.lstrip("# ")
            heading, lead = "" if title == passage.title else title, ""
        elif is_prose and text.endswith(_COLON):
            lead = text
        elif n_words:
            heading = lead = ""


def _is_record(passage: Passage) -> bool:
    """Whether a passage is a short record, whose fields belong together."""
    if len(passage.text) > MAX_RECORD:
        return False
    return suffix_of(passage.path) in _CARDS or bool(_FIELDS.fullmatch(passage.text))


def _is_only_needed(code: str) -> bool:
    """Whether a part of a program only names what it needs of others, or makes a logger."""
    at, has_needed = 0, False
    while at < len(code):
        needed = _NEEDED.match(code, at)
        found = needed or _IMPORTED.match(code, at)
        if found is None:
            return False
        at, has_needed = found.end(), has_needed or needed is not None
    return has_needed


def _labelled(passage: Passage, n: int, line: str, head: str) -> str | None:
    """A row with the name of its column before each cell; "" if these are not known, and None if it is their row.

    `head` is the head of a table of Markdown. That of a sheet is the last heading above the line below.
    """
    if is_sheet(passage.path):
        names = [*passage.trail_at(n + 1), ""][-2].split(BAR)
        cells = cells_of(line, value_at(passage.places.anchors, n, passage.anchor))
    else:
        names, cells = ([cell.strip() for cell in _BAR.split(row.strip()[1:-1])] for row in (head, line))
    if cells is None or len(cells) > len(names) or len(names) < LEAST_COLUMNS:
        return ""
    if [cell or NO_NAME for cell in cells] == names:
        return None
    pairs = ((name, cell) for name, cell in zip(names, cells, strict=False) if cell)
    labelled = (cell if name in ("", NO_NAME) else f"{name}: {cell}" for name, cell in pairs)
    return " ".join(lines_as_text(passage.path, [BAR.join(labelled)]))[:MAX_CHARACTERS]


def _short_after(passage: Passage, sentence: Sentence, following: Sentence | None) -> str:
    """The short sentence that is quoted with the sentence before it, unless that is short itself; empty without one."""
    if following is None or not _is_short(passage, following) or _is_short(passage, sentence):
        return ""
    return _shown(passage, following)


def _is_short(passage: Passage, sentence: Sentence) -> bool:
    """Whether a sentence that is not the first of its paragraph has at most SHORT words."""
    text = passage.text[sentence.start : sentence.end]
    return not sentence.is_first and _number_of_words(text) <= SHORT and text.endswith((".", "!", "\u3002", "\uff01"))


def _number_of_words(text: str) -> int:
    """The number of words, which have two letters on average in scripts without blanks."""
    return len(TOKEN.findall(UNSPACED.sub(" ", text))) + len("".join(UNSPACED.findall(text))) // 2


def _shown(passage: Passage, sentence: Sentence) -> str:
    """A sentence in one line without marks before its lines, or code without its fence; long text is truncated."""
    text = passage.text[sentence.start : sentence.end].removesuffix(OMISSION)
    mark = _QUOTE if is_marked_up(passage.path) else _COMMENT
    if sentence.kind != "code" or all(map(mark.match, text.split("\n"))):
        text = mark.sub("", text)
    around_end = passage.text[sentence.end - 3 : sentence.end + 2]
    if sentence.kind == "prose" and ('"' * 3 in around_end or "'" * 3 in around_end):
        text = text.rstrip("\"'")  # the end of a docstring, which the sentence has in part
    if sentence.kind == "code":
        text = _FENCE.sub("", text).rstrip()
        end = text.rfind("\n", 0, MAX_CHARACTERS)
    else:
        text = " ".join(filter(None, lines_as_text(passage.path, text.split("\n"))))
        text = " ".join(_MARKER.sub("", text, count=1).split())
        end = text.rfind(" ", 0, MAX_CHARACTERS)
    if len(text) <= (MAX_RECORD if sentence.kind == "row" else MAX_CHARACTERS):
        return text
    return text[: end if end > 0 else MAX_CHARACTERS] + OMISSION


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A model and the context of an index, with which questions and sentences are compared."""

    encoder: Encoder
    context: Context | None  # None for a stage of an unfinished build that has no vectors
    stored_as: VectorFormat  # of the vectors in the index, as which those of sentences are rounded

    def z(self, vectors: Floats, vector: Floats) -> Scores:
        """The z-scores of vectors' (n, d) cosines with a question, relative to those of the context chunks.

        `vector` (d,) is the vector of the question. Without a context, they are relative to each other.
        """
        cosines = to_unit(self.stored_as.rounded(vectors)) @ vector
        null = cosines if self.context is None else self.context.sample_vectors @ vector
        z: Scores = (cosines - null.mean()) / max(float(null.std()), 1e-6)
        return z

    def tokens(self, text: str) -> NDArray[np.int64]:
        """The distinct token ids of a text, in ascending order."""
        return np.unique(np.array(self.encoder.tokenizer.encode(text, add_special_tokens=False).ids, np.int64))

    def idf(self, tokens: NDArray[np.int64]) -> Scores:
        """The idf of tokens in the corpus, or ones if the model does not weight tokens."""
        exponent = self.encoder.config.statistics.idf_exponent
        if exponent == 0 or self.context is None:
            return np.ones(len(tokens))
        weights = self.context.inputs.token_weights[tokens].astype(np.float64)
        return np.maximum(weights ** (1 / exponent) - 0.5, 0)

    def coverage(self, question: str, texts: Sequence[str]) -> Scores:
        """The share of the question's tokens, weighted by idf, that each of the n texts contains, (n,)."""
        words = [word for word in TOKEN.findall(question.lower()) if word not in QUESTION_WORDS]
        asked = self.tokens(" ".join(words) or question)
        idf = self.idf(asked)
        total = max(float(idf.sum()), 1e-9)
        return np.array([float(idf[np.isin(asked, self.tokens(text))].sum()) / total for text in texts])


def extract(question: str, passages: Sequence[Passage], corpus: CorpusView) -> list[Candidate]:
    """At most MAX_SENTENCES sentences of the passages that answer the question.

    Sentences of the same passage are in the order of the text, after those of passages with a better sentence.
    """
    candidates = candidates_of(passages)
    if not candidates:
        return []
    vector: Floats = corpus.encoder.encode([question], "query", corpus.context)[0]
    texts, n = [one.labelled or f"{one.lead} {one.text}".lstrip() for one in candidates], len(candidates)
    headings = list(dict.fromkeys(one.heading for one in candidates if one.heading))
    vectors = corpus.encoder.encode([*texts, *headings], "document", corpus.context)
    judged = corpus.z(vectors, vector) + WORDS_WEIGHT * corpus.coverage(question, [*texts, *headings])
    # A heading that resembles the question is answered by the sentence below it.
    above = dict(zip(headings, judged[n:] - HEADING_PENALTY, strict=True))
    scores = np.maximum(judged[:n], [above.get(one.heading, -np.inf) for one in candidates])
    best = max(1e-6, *(passage.score for passage in passages))
    scores = scores + PASSAGE_WEIGHT * np.array([passages[one.passage].score / best for one in candidates])
    scores = scores + EXACT_WEIGHT * _exact_words(question, texts)
    scores = scores + KIND_WEIGHT * with_asked_kind(question, texts)
    if _WHY.search(question):
        scores = _with_causes(scores, candidates)
    is_fragment = [one.kind == "prose" and not _END.search(one.text) for one in candidates]
    kinds = [one.kind for one in candidates]
    chosen = _different(scores - FRAGMENT_PENALTY * np.array(is_fragment), vectors[:n], kinds)
    before = {(one.passage, one.position + 1): one for one in candidates if one.short}
    quoted: dict[Candidate, bool] = {}  # whether each is the best one of its passage
    order: dict[int, int] = {}
    for one in (candidates[row] for row in chosen):
        quoted.setdefault(before.get((one.passage, one.position), one), one.passage not in order)
        order.setdefault(one.passage, len(order))
    in_order = sorted(quoted, key=lambda one: (order[one.passage], one.position))
    return [replace(one, text=f"{one.text} {one.short}".rstrip(), is_best=quoted[one]) for one in in_order]


def with_asked_kind(question: str, texts: Sequence[str]) -> Scores:
    """1.0 for each of the n texts with a sum or an address if the question asks for one, otherwise 0.0, (n,)."""
    kinds = [found for asked, found in _KINDS if re.search(asked, question, re.IGNORECASE)]
    return np.array([any(re.search(found, text) for found in kinds) for text in texts], np.float64)


def _exact_words(question: str, texts: Sequence[str]) -> Scores:
    """How many words with digits of a question each of the n texts contains, (n,). A month is one of any year."""
    words = query_words(_NUMBERED_NAME.sub("", question), ())
    asked = {word for word in words if len(word) > 1 and any(map(str.isdigit, word))}
    names = [run for run in runs_of(question)[1:] if run[0].isupper() and (len(run) > 3 or run == "May")]
    months = {f"-{month:02}" for month in map(month_of, names) if month}
    if not asked and not months:
        return np.zeros(len(texts))
    found = [text_words(text, ENGLISH).split() for text in texts]
    in_month = (any(len(word) == len("2024-05") and word[4:] in months for word in some) for some in found)
    counts = [len(asked.intersection(some)) + is_in for some, is_in in zip(found, in_month, strict=True)]
    return np.array([min(count, MOST_EXACT) for count in counts], np.float64)


def _with_causes(scores: Scores, candidates: Sequence[Candidate]) -> Scores:
    """The scores (n,), where a sentence that names a cause has at least that of the sentence before it.

    The first of "Nobody could log in. The cause was an expired certificate." resembles the question, but does not
    answer it.
    """
    raised = scores.copy()
    for at, (before, one) in enumerate(pairwise(candidates), start=1):
        if (before.passage, before.position + 1) == (one.passage, one.position) and _CAUSE.search(one.text):
            raised[at] = max(raised[at], raised[at - 1])
    return raised


def _different(scores: Scores, vectors: Floats, kinds: Sequence[Kind]) -> list[int]:
    """The rows with the best scores, best first. Of sentences with similar vectors, only the best is included."""
    chosen: list[int] = []
    for row in np.argsort(-scores, kind="stable").tolist():
        if scores[row] < scores.max() - MARGIN:
            break
        if kinds[row] == "row" or all(float(vectors[row] @ vectors[other]) <= MAX_COSINE for other in chosen):
            chosen.append(row)
        if len(chosen) == MAX_SENTENCES:
            break
    return chosen
