"""The lines of a hit that are shown: its passage, and lines of context around the passage."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdesearch.search.documents import NOTHING, Surroundings
from cdesearch.search.query_syntax import QUOTATION_MARKS, QUOTED, parse_query
from cdesearch.search.readable import heading_of, is_answer, is_field, lines_as_text
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.schema import Chunk, Hit
from cdesearch.words.scripts import UNSPACED, without_article
from cdesearch.words.word_forms import TOKEN, folded, pieces, word_stem

# Words that hardly show what a text is about. They are searched, but do not decide which passage is shown.
_STOP_WORDS = frozenset(
    """a about after all also an and any are as at be because been before being between both but by can could did
    do does for from get had has have he her here him his how i if in into is it its just like me more most my
    no nor not of on only or other our out over own she should so some such than that the their them then there
    these they this those through to too under until up us use using very was we were what when where which
    while who whom whose why will with would you your""".split()  # noqa: SIM905 (a list would be a page)
)

PASSAGE_LINES = 4  # that are shown of a chunk
MAX_FOUND = 200  # words of a query in a line that are compared


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a document that is shown."""

    text: str
    number: int | None = None  # in the file, from 1; None if the format has no lines
    is_context: bool = False  # whether it is outside of the passage
    source: str = ""  # the line as it is in the document, with its markup
    row: int = 0  # its position among the lines of the chunk, from 0; negative above the chunk


def query_words(query: str) -> list[str]:
    """The stems of the query's words without accents, so that other forms of the words are found as well.

    Operators are left out, and stop words if there are others. Words in scripts without spaces are returned in pieces,
    and phrases in quotation marks as a whole, too.
    """
    lower = unicodedata.normalize("NFC", parse_query(query).words.lower())
    found = TOKEN.findall(UNSPACED.sub(" ", lower))
    words = [word for word in found if len(word) > 2 or not word.isascii()]
    chosen = [word for word in words if word not in _STOP_WORDS] or words
    phrases = [" ".join(folded(phrase.strip(QUOTATION_MARKS)).split()) for phrase in re.findall(QUOTED, lower)]
    stems = (word_stem(without_article(folded(word))) for word in chosen)
    return [*stems, *pieces(lower), *(phrase for phrase in phrases if " " in phrase)]


def best_position(text: str, words: Sequence[str], size: int) -> int:
    """Where the part of `size` characters begins that has most of the stems `words`, also inside of words; 0 if none.

    It begins with the first of these words.
    """
    tokens = ((token.start(), folded(token[0])) for token in TOKEN.finditer(text))
    found = [(start + at, word) for start, token in tokens for word in words if (at := token.find(word)) >= 0]
    found = found[:MAX_FOUND]

    def n_words(start: int) -> int:
        return len({word for at, word in found if start <= at < start + size})

    return max((at for at, _ in found), key=lambda at: (n_words(at), -at), default=0)


def count_words(text: str, words: Sequence[str]) -> int:
    """How many of the stems `words` a text contains; a phrase counts as all of its words."""
    return _number_of(_contained(text, words))


def shown_lines(hit: Hit, words: Sequence[str], **options: Any) -> list[Line]:
    """What `source_lines` returns, without lines that have only markup, such as the fences of code."""
    found = source_lines(hit, words, **options)
    return [line for line in found if line.text.strip() or not line.source.strip()]


def source_lines(
    hit: Hit, words: Sequence[str], *, full: bool, context: int = 0, around: Surroundings = NOTHING, blank: bool = False
) -> list[Line]:
    """The lines of the passage of a hit with and without their markup, with `context` lines before and after it.

    Blank lines are left out unless `blank`. `around` is the text of the document around the chunk, from which lines of
    context are taken.
    """
    chunk = hit.chunk
    body = chunk.body.rstrip() if around.after else chunk.body
    lines = list(_numbered(chunk, body, around))
    n_before = len(f"{around.before}x".splitlines()) - 1
    filled = [n for n, line in enumerate(lines) if line.text.strip()]
    own = [n for n in filled if n_before <= n < n_before + len(body.splitlines())]
    if not full and (matching := [n for n in own if lines[n].row in hit.matches]):
        own = matching[:PASSAGE_LINES]
    elif not full:
        own = [n for n in own if _may_answer(lines[n].text, words, chunk)] or own
    texts = lines_as_text(chunk.path, [line.text for line in lines])
    found = [_contained("\n".join({lines[n].text, texts[n]}), words) for n in own]
    passage = range(len(own)) if full else _passage([lines[n].text for n in own], found)
    if not passage:
        return []
    start, stop = own[passage[0]], own[passage[-1]]
    chosen = frozenset(own)
    kept = range(len(lines)) if blank else filled
    before = [n for n in kept if n < start][-context:] if context else []
    after = [n for n in kept if n > stop][:context]
    inside = [n for n in kept if start <= n <= stop and (n in chosen or full or context or blank)]
    if not (full or context or blank or hit.matches):
        inside = _below_headings([lines[n] for n in inside], inside, words, chunk)
    if not any(texts[n] for n in inside):
        texts = [line.text for line in lines]
    return [
        replace(lines[n], text=texts[n], source=lines[n].text, is_context=n not in inside)
        for n in (*before, *inside, *after)
    ]


def _below_headings(lines: Sequence[Line], places: list[int], words: Sequence[str], chunk: Chunk) -> list[int]:
    """The places of lines without headings that are shown above the passage, unless these are all of it."""
    above = chunk.trail_at(best_line(lines, words).row)
    kept = {n: line for n, line in zip(places, lines, strict=True) if heading_of(line.text) not in above}
    is_same = bool(kept) and chunk.trail_at(best_line([*kept.values()], words).row) == above
    return [*kept] if is_same else places


def _may_answer(line: str, words: Sequence[str], chunk: Chunk) -> bool:
    return is_answer(line, chunk) and (not is_field(line, chunk) or count_words(line, words) > 0)


def trail_of(line: Line, chunk: Chunk) -> tuple[str, ...]:
    """The headings of the section of a line, outermost first. A heading belongs to the section that it begins."""
    heading = heading_of(line.source or line.text)
    begun = (trail for row, trail in chunk.places.trails if row > line.row and heading in trail[-1:])
    return next(begun, chunk.trail_at(line.row))


def best_line(lines: Sequence[Line], words: Sequence[str]) -> Line:
    """The line of the passage that contains most of the words, the first of several."""
    passage = [line for line in lines if not line.is_context]
    return max(passage, key=lambda line: count_words(line.text, words), default=Line(""))


def matching_lines(lines: Sequence[Line], hit: Hit, query: str) -> frozenset[int]:
    """The positions of the lines of a hit that match: the pattern of the search, or else a phrase or words of a query.

    Of the lines with words of the query, those match that contain most of them.
    """
    own = {at: line for at, line in enumerate(lines) if not line.is_context}
    if hit.matches:
        return frozenset(at for at, line in own.items() if line.row in hit.matches)
    from cdesearch.search.confidence import asked_words, share_of_words  # they import NumPy
    from cdesearch.search.exact import exact_terms
    from cdesearch.words.analyzer import query_words as analyzed_words
    from cdesearch.words.analyzer import text_words
    from cdesearch.words.known import ENGLISH

    words = parse_query(query).words
    phrases = [term for term in exact_terms(words) if term.is_phrase]
    quoting = frozenset(at for at, line in own.items() if any(term.count(line.text) for term in phrases))
    if quoting:
        return quoting
    asked, analyzed = asked_words(words), analyzed_words(words, []).keys()
    shares = {at: share_of_words(asked, line.text) for at, line in own.items()}
    if not any(shares.values()):  # names and numbers in another spelling
        shares = {at: len(analyzed & set(text_words(line.text, ENGLISH).split(" "))) for at, line in own.items()}
    most = max(shares.values(), default=0.0)
    return frozenset(at for at, share in shares.items() if share == most > 0)


def best_row(hit: Hit, words: Sequence[str]) -> int:
    """Which line of a chunk contains most of the words, in its passage. The place of a hit is that of the line.

    The lines of the chunk are counted from 0.
    """
    return best_line(shown_lines(hit, words, full=False), words).row


def _passage(lines: Sequence[str], found: Sequence[frozenset[str]]) -> range:
    """The positions of at most PASSAGE_LINES lines that contain most of the words, without lines before the first."""
    if lines and heading_of(lines[-1]) is not None and any(found[:-1]):  # what follows it is in the next chunk
        lines, found = lines[:-1], found[:-1]
    if len(lines) <= PASSAGE_LINES:
        return range(len(lines))

    def quality(start: int) -> tuple[int, int, int, int]:
        # A line with all words is better than several lines that repeat one of them.
        inside = found[start : start + PASSAGE_LINES]
        n_before = next((at for at, words in enumerate(inside) if words), PASSAGE_LINES)
        return _number_of(frozenset().union(*inside)), sum(map(len, inside)), -n_before, -start

    best = max(range(len(lines)), key=quality)
    shown = range(best, min(len(lines), best + PASSAGE_LINES))
    for at in shown[1:]:
        if heading_of(lines[at]) is not None and at + 1 < len(lines):  # what follows a heading belongs to it
            below = range(at, min(len(lines), at + PASSAGE_LINES))
            n_above, n_below = (
                len(frozenset().union(*found[part.start : part.stop])) for part in (range(best, at), below)
            )
            is_last = at == shown[-1]
            if n_below > n_above or (is_last and found[at]):
                return below
            if is_last:
                return range(best, at)
    return shown


def _number_of(words: Iterable[str]) -> int:
    return sum(len(word.split()) for word in words)


def _contained(text: str, words: Sequence[str]) -> frozenset[str]:
    contents = folded(text)
    return frozenset(word for word in words if word in contents)


def _numbered(chunk: Chunk, body: str, around: Surroundings) -> Iterator[Line]:
    """Yield the lines of the text around a chunk, of the chunk, and of the text after it, with their numbers.

    Python ends lines at characters that do not end a line of a file, such as a form feed.
    """
    row, last = -around.before.count("\n"), body.rstrip().count("\n")
    for line in (around.before + body + around.after).splitlines(keepends=True):
        number = chunk.line_at(row) if 0 <= row <= last else _number_outside(chunk, around, row)
        yield Line(line.splitlines()[0], number, row=row)
        row += line.count("\n")


def _number_outside(chunk: Chunk, around: Surroundings, row: int) -> int | None:
    """The number of a line above or below a chunk; None if the format has no lines, or if it is unknown."""
    if chunk.line_start is None or chunk.line_end is None:
        return None
    if around.numbers and row >= around.numbers[0][0]:
        return LinePlaces(numbers=around.numbers).number_at(row, 0)
    has_gaps = chunk.line_end - chunk.line_start != chunk.body.rstrip().count("\n")
    return None if has_gaps else chunk.line_start + row
