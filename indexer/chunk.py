"""Text to chunks: along the text's structure, sized in the model's tokens."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from semantic_text_splitter import CodeSplitter, MarkdownSplitter, TextSplitter
from tokenizers import Tokenizer

from cdesearch.schema import Chunk, text_hash
from indexer.read import Document, Heading

CHUNK_TOKENS = 256  # of a longer document's chunks
WHOLE_TOKENS = 512  # a document that has no more, and that the model can read whole, stays whole
SPECIAL_TOKENS = 2
CHARACTERS_PER_TOKEN = 4  # a first guess; pieces that turn out too long are split again
HEADER_SHARE = 4  # title and trail may take a quarter of a chunk
MAX_SPLIT_CHARACTERS = 1_000_000  # the splitter's cost grows faster than its input

Piece = tuple[int, str]  # offset in the document, text


class Chunker:
    """Cuts documents so that no chunk, with title and trail, is longer than `max_tokens`."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = min(max_tokens, WHOLE_TOKENS)

    def split(self, document: Document) -> Iterator[Chunk]:
        """The document's chunks in order; none for a document without text. Every non-blank character is in one."""
        if not document.text.strip():
            return
        lines = _line_starts(document.text) if document.has_lines else []
        ordinal = 0
        for pieces in self._pieces(document):
            for offset, body in pieces:
                yield _chunk(document, ordinal, (offset, body), self._header(document, offset, body), lines)
                ordinal += 1

    def _pieces(self, document: Document) -> Iterator[list[Piece]]:
        whole = document.text.strip()
        if not document.pages and self._fits_whole(document, whole):
            yield [(document.text.index(whole), whole)]
            return
        size = min(CHUNK_TOKENS, self._max_tokens)
        budget = size - SPECIAL_TOKENS - size // HEADER_SHARE
        for start, part in _parts(document):
            cut = self._split_to_fit([(start, part)], document, budget, budget * CHARACTERS_PER_TOKEN)
            yield self._merge_small(cut, document.text, budget)

    def _merge_small(self, pieces: list[Piece], text: str, budget: int) -> list[Piece]:
        """Join neighbours where one of the two is less than a third of a chunk: a lone heading answers nothing."""
        merged: list[Piece] = []
        sizes: list[int] = []
        for (offset, body), count in zip(pieces, self._count([body for _, body in pieces]), strict=True):
            size = count - SPECIAL_TOKENS
            if merged and sizes[-1] + size <= budget and min(sizes[-1], size) < budget // 3:
                start = merged[-1][0]
                merged[-1] = (start, text[start : offset + len(body)])
                sizes[-1] += size
            else:
                merged.append((offset, body))
                sizes.append(size)
        return merged

    def _fits_whole(self, document: Document, whole: str) -> bool:
        if len(whole) > self._max_tokens * 16:
            return False
        header = self._header(document, 0, whole)
        return self._count([header + whole])[0] <= self._max_tokens

    def _split_to_fit(self, pieces: list[Piece], document: Document, budget: int, capacity: int) -> list[Piece]:
        """Split each piece at `capacity` characters, and again, finer, where it has more than `budget` tokens."""
        splitter = _splitter(document.layout, document.language, capacity)
        cut = [
            (offset + place, body)
            for offset, text in pieces
            for place, body in splitter.chunk_indices(text)
            if body.strip()
        ]
        counts = self._count([body for _, body in cut])
        fitting = []
        for piece, n_tokens in zip(cut, counts, strict=True):
            if n_tokens - SPECIAL_TOKENS <= budget or len(piece[1]) == 1:
                fitting.append(piece)
            else:
                finer = max(1, min(len(piece[1]) - 1, capacity * budget * 9 // (n_tokens * 10)))
                fitting += self._split_to_fit([piece], document, budget, finer)
        return fitting

    def _header(self, document: Document, offset: int, body: str) -> str:
        """Title and heading trail, a line each, cut to a quarter of a chunk; nothing that the body starts with."""
        title = "" if body.lstrip("# ").startswith(document.title) else document.title
        trail = _trail(document, offset)
        lines = [line for line in (title, " > ".join(trail)) if line]
        if not lines:
            return ""
        header = "\n".join(lines)
        encoding = self._tokenizer.encode(header, add_special_tokens=False)
        limit = min(CHUNK_TOKENS, self._max_tokens) // HEADER_SHARE
        if len(encoding.ids) > limit:
            header = header[: encoding.offsets[limit - 1][1]]
        return header + "\n"

    def _count(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]


def _parts(document: Document) -> Iterator[Piece]:
    """Pages, which no chunk crosses; and slices of a text so long that the splitter would choke on it."""
    text = document.text
    for start, end in pairwise([*(document.pages or (0,)), len(text)]):
        while end - start > MAX_SPLIT_CHARACTERS:
            stop = text.rfind("\n", start, start + MAX_SPLIT_CHARACTERS) + 1 or start + MAX_SPLIT_CHARACTERS
            yield start, text[start:stop]
            start = stop  # noqa: PLW2901 (the rest of the same part)
        yield start, text[start:end]


@lru_cache(maxsize=64)
def _splitter(layout: str, language: str | None, capacity: int) -> TextSplitter | MarkdownSplitter | CodeSplitter:
    if layout == "markdown":
        return MarkdownSplitter(capacity)
    if layout == "code" and language is not None:
        from tree_sitter_language_pack import get_binding

        try:
            return CodeSplitter(get_binding(language), capacity)  # type: ignore[arg-type]
        except LookupError:  # a language without grammar is cut as plain text
            return TextSplitter(capacity)
    return TextSplitter(capacity)


def _trail(document: Document, offset: int) -> tuple[str, ...]:
    """Headings above `offset` but the title, outermost first; one that starts right there is in the chunk itself."""
    stack: list[Heading] = []
    for heading in document.headings:
        if heading.offset > offset:
            break
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        if heading.offset < offset:
            stack.append(heading)
    return tuple(heading.title for heading in stack if heading.title != document.title)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))]


def _chunk(document: Document, ordinal: int, piece: Piece, header: str, lines: list[int]) -> Chunk:
    offset, body = piece
    text = header + body
    line = bisect_right(lines, offset) if lines else None
    page = bisect_right(document.pages, offset) if document.pages else None
    return Chunk(
        id=text_hash(f"{document.id}\n{document.record}\n{ordinal}\n{line}\n{page}\n{text}"),
        document_id=document.id,
        record=document.record,
        ordinal=ordinal,
        path=document.path,
        title=document.title,
        trail=_trail(document, offset),
        text=text,
        body_start=len(header),
        line_start=line,
        line_end=bisect_right(lines, offset + len(body.rstrip()) - 1) if lines else None,
        page=page,
    )
