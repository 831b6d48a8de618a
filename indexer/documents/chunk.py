"""Split text into chunks along its structure, sized in the model's tokens."""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from cdesearch.store.schema import Chunk, text_hash
from indexer.documents.openings import licence_end, opening_start
from indexer.documents.parsing import SplitterOf, splitter_for, with_definitions
from indexer.documents.places import Places, Trails
from indexer.formats.format import Document, UnreadableError

CHUNK_TOKENS = 256  # at most so many tokens in a chunk of a document that does not stay whole
WHOLE_TOKENS = 512  # a document of at most so many tokens is one chunk, if the model can read it whole
SPECIAL_TOKENS = 2
CHARACTERS_PER_TOKEN = 4  # a first guess; pieces that turn out too long are split again
HEADER_SHARE = 4  # title and trail may take a quarter of a chunk
MAX_INDENT = 1_000  # characters
# For each piece that it makes, the splitter looks at all cells, words and signs of its input. So a text is first cut
# into a few large pieces, and then each of these into chunks.
COARSE_CHARACTERS = 50_000
MAX_SPLIT_CHARACTERS = 1_000_000  # of the text that is cut into large pieces
# The time for a line without sentences grows with the square of its length, so that a long line is cut beforehand.
MAX_LINE_CHARACTERS = 20_000
LINE_ENDS = (". ", "。", " ")  # where a long line is cut, the best first
MOST_WORDS, LONGEST_WORD = 100_000, 100  # whose tokens are remembered, and characters of each

_WORD = re.compile(r"[^ \t\n\r]+")
_LONG_LINE = re.compile(rf"^[^\n]{{{MAX_LINE_CHARACTERS + 1},}}", re.MULTILINE)

Piece = tuple[int, str]  # offset in the document, text
SizedPiece = tuple[int, str, int]  # with the number of its tokens, without special tokens


class Chunker:
    """Splits documents so that no chunk, with title and heading trail, has more than `max_tokens`."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._tokens = TokenCounts(tokenizer)
        self._count = self._tokens.of
        self._max_tokens = min(max_tokens, WHOLE_TOKENS)

    def split(self, document: Document) -> Iterator[Chunk]:
        """The document's chunks in order; none for a document without text. Each non-blank character is in one of them.

        Raises UnreadableError if a splitter fails on the text.
        """
        try:
            yield from self._chunks(document)
        except (UnreadableError, MemoryError):
            raise
        except BaseException as error:  # a panic of the splitters, which are written in Rust, is not an Exception
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise UnreadableError(f"its text cannot be split ({type(error).__name__})") from error

    def _chunks(self, document: Document) -> Iterator[Chunk]:
        if not document.text.strip():
            return
        document = with_definitions(document)
        places = Places(document)
        ordinal = 0
        for pieces in self._pieces(document, places.trails):
            for offset, body in pieces:
                header = self._header(document, places.trails.at(offset), body)
                yield _chunk(document, ordinal, (offset, body), header, places)
                ordinal += 1

    def _pieces(self, document: Document, trails: Trails) -> Iterator[list[Piece]]:
        licence = licence_end(document)
        if licence:  # else it would have a share in the vector of the text after it
            yield self._cut(document, trails, (0, document.text[:licence]))
        whole = document.text[licence:].strip()
        may_fit = not document.pages and len(whole) <= self._max_tokens * 16
        if may_fit and self._fits(document, trails.at(0), whole, self._max_tokens):
            yield [(document.text.index(whole, licence), whole)]
            return
        for start, part in _parts(document, licence):
            yield self._cut(document, trails, (start, part))

    def _cut(self, document: Document, trails: Trails, part: Piece) -> list[Piece]:
        size = min(CHUNK_TOKENS, self._max_tokens)
        budget = size - SPECIAL_TOKENS - size // HEADER_SHARE
        splitter = splitter_for(part[1], document.layout, document.language)
        coarse = [part]
        if len(part[1]) > COARSE_CHARACTERS:
            coarse = [(part[0] + at, piece) for at, piece in splitter(COARSE_CHARACTERS).chunk_indices(part[1])]
        cut = self._split_to_fit(coarse, splitter, budget, budget * CHARACTERS_PER_TOKEN)
        return self._move_openings(document, trails, _merge_small(cut, document.text, budget))

    def _move_openings(self, document: Document, trails: Trails, pieces: list[Piece]) -> list[Piece]:
        """The pieces, each with the lines that open it, such as a term or the line of a function, if they fit."""
        moved, text = pieces[:1], document.text
        for offset, body in pieces[1:]:
            before, last = moved[-1]
            end = before + len(last)
            start = opening_start(document, trails.starts, (before, end), offset)
            joined = text[start : offset + len(body)]
            if start < end and self._fits(document, trails.at(start), joined, CHUNK_TOKENS):
                rest = text[before:start].rstrip()
                moved[-1:] = [(before, rest), (start, joined)] if rest else [(start, joined)]
            else:
                moved.append((offset, body))
        return moved

    def _fits(self, document: Document, trail: tuple[str, ...], body: str, max_tokens: int) -> bool:
        """Whether a chunk of this trail and text has at most `max_tokens`, or as many as the model can read."""
        text, most = self._header(document, trail, body) + body, min(max_tokens, self._max_tokens)
        return self._tokens.at_most(text) <= most or self._count([text])[0] <= most

    def _split_to_fit(
        self, pieces: list[Piece], splitter_of: SplitterOf, budget: int, capacity: int
    ) -> list[SizedPiece]:
        """Split each piece at `capacity` characters, and split it further if it has more than `budget` tokens."""
        splitter = splitter_of(capacity)
        cut = [
            (offset + start, body)
            for offset, text in pieces
            for start, body in splitter.chunk_indices(text)
            if body.strip()
        ]
        fitting: list[SizedPiece] = []
        for (offset, body), count in zip(cut, self._count([body for _, body in cut]), strict=True):
            if count - SPECIAL_TOKENS <= budget or len(body) == 1:
                fitting.append((offset, body, count - SPECIAL_TOKENS))
            else:
                finer = max(1, min(len(body) - 1, capacity * budget * 9 // (count * 10)))
                fitting += self._split_to_fit([(offset, body)], splitter_of, budget, finer)
        return fitting

    def _header(self, document: Document, trail: tuple[str, ...], body: str) -> str:
        """Title and heading trail, one line each, truncated to a quarter of a chunk.

        A title that the body starts with is left out.
        """
        title = "" if body.lstrip("# ").startswith(document.title) else document.title
        lines = [line for line in (title, " > ".join(trail)) if line]
        if not lines:
            return ""
        header = "\n".join(lines)
        limit = min(CHUNK_TOKENS, self._max_tokens) // HEADER_SHARE
        if self._count([header])[0] - SPECIAL_TOKENS > limit:
            offsets = self._tokenizer.encode(header, add_special_tokens=False).offsets[:limit]
            header = header[: offsets[-1][1]]
        return header + "\n"


def _merge_small(pieces: list[SizedPiece], text: str, budget: int) -> list[Piece]:
    """Join neighbouring pieces if one of the two is smaller than a third of a chunk, such as a heading alone."""
    merged: list[Piece] = []
    sizes: list[int] = []
    for offset, body, size in pieces:
        if merged and sizes[-1] + size <= budget and min(sizes[-1], size) < budget // 3:
            start = merged[-1][0]
            merged[-1] = (start, text[start : offset + len(body)])
            sizes[-1] += size
        else:
            merged.append((offset, body))
            sizes.append(size)
    return merged


def _parts(document: Document, first: int) -> Iterator[Piece]:
    """The pages, which no chunk crosses, or else the text from `first`, in slices small enough for the splitter."""
    text = document.text
    for start, end in pairwise([*(document.pages or (first,)), len(text)]):
        for stop in [*_cuts_of_long_lines(text, start, end), end]:
            while stop - start > MAX_SPLIT_CHARACTERS:
                middle = text.rfind("\n", start, start + MAX_SPLIT_CHARACTERS) + 1
                yield start, text[start:middle]
                start = middle  # noqa: PLW2901 (the rest of the same part)
            yield start, text[start:stop]
            start = stop  # noqa: PLW2901


def _cuts_of_long_lines(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets between `start` and `end` that divide the lines of more than MAX_LINE_CHARACTERS."""
    for line in _LONG_LINE.finditer(text, start, end):
        stop = line.start()
        while line.end() - stop > MAX_LINE_CHARACTERS:
            least, most = stop + MAX_LINE_CHARACTERS // 2, stop + MAX_LINE_CHARACTERS
            stop = next((at + len(mark) for mark in LINE_ENDS if (at := text.rfind(mark, least, most)) >= 0), most)
            yield stop


def _indent(document: Document, offset: int) -> str:
    """The blanks before a chunk of code that begins a line; the splitter removes them."""
    if document.layout != "code":
        return ""
    start = document.text.rfind("\n", max(0, offset - MAX_INDENT - 1), offset) + 1
    before = document.text[start:offset] if start or offset <= MAX_INDENT else ""
    return before if not before.strip(" \t") else ""


def _chunk(document: Document, ordinal: int, piece: Piece, header: str, places: Places) -> Chunk:
    offset, body = piece
    text = header + body
    line, line_end = places.lines(offset, body)
    page = places.page(offset)
    own = places.of_record or line
    return Chunk(
        id=text_hash("\n".join(map(str, (document.id, document.record, ordinal, own, page, text, *document.fields)))),
        document_id=document.id,
        record=document.record,
        ordinal=ordinal,
        path=document.path,
        title=document.title,
        trail=places.trails.at(offset),
        text=text,
        body_start=len(header),
        line_start=line,
        line_end=line_end,
        page=page,
        anchor=places.anchor(offset),
        indent=_indent(document, offset),
        places=places.within(offset, body),
        inlines=places.inlines(offset, body),
        fields=document.fields,
    )


class TokenCounts:
    """Counts the tokens of texts, with special tokens, as a tokenizer does.

    One of BERT divides texts at blanks, whatever is around them. So it counts by words, because most words of a corpus
    come again and again. With others, whole texts are tokenized.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        parts = isinstance(tokenizer.normalizer, BertNormalizer), isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        added = tokenizer.get_added_tokens_decoder().values()
        self._is_by_word = all(parts) and all(_WORD.fullmatch(token.content) for token in added)
        self._n_special = tokenizer.num_special_tokens_to_add(is_pair=False)
        self._of_word: dict[str, int] = {}

    def of(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        if not self._is_by_word:
            return [len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        return [self._n_special + self._by_word(_WORD.findall(text)) for text in texts]

    def at_most(self, text: str) -> int:
        """A number that the tokens of a text do not exceed: a letter of ASCII is at most one token of BERT."""
        if not (self._is_by_word and text.isascii()):
            return sys.maxsize
        words = _WORD.findall(text)
        return self._n_special + sum(map(self._of_word.get, words, map(len, words)))

    def _by_word(self, words: Sequence[str]) -> int:
        known = self._of_word
        if len(known) > MOST_WORDS:
            known.clear()
        fresh = list({word for word in words if word not in known})
        if fresh:
            encodings = self._tokenizer.encode_batch_fast(fresh, add_special_tokens=False)
            known.update((word, len(encoding.ids)) for word, encoding in zip(fresh, encodings, strict=True))
        count = sum(map(known.__getitem__, words))
        for word in fresh:
            if len(word) > LONGEST_WORD:
                del known[word]
        return count
