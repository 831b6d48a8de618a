"""The tools `search` and `related` return the best passages for a query or a passage, within a budget of tokens."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from cdesearch.cli.hits.grouping import with_other_files
from cdesearch.cli.passage_text import LocatedPassage, ages_of, located, passages_as_text, readable
from cdesearch.cli.token_budget import Answer, Budget, Part
from cdesearch.errors import InputError
from cdesearch.search.options import FILTERS
from cdesearch.search.passages import Fence
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult, no_text_contains, shown_instead
from cdesearch.serve.indexes import Selection, ServedIndexes
from cdesearch.serve.mcp.documents import find_document, index_and_path
from cdesearch.store.copies import shown_source
from cdesearch.store.schema import Hit

MAX_RANK = 500  # no more passages are offered after this rank, because they are hardly relevant to the query
RELATED = 5  # passages
MAX_PASSAGE = 4_000  # characters; the model reads less

# What a query takes for an operator, and a passage does not mean.
_OPERATORS = re.compile(r"(?<!\S)-+(?=\S)|\b(?:path|type):|[\"\uff02„“”«»「」『』]")


def search(indexes: ServedIndexes, index: str | None, request: SearchRequest, part: Part) -> Answer:
    """The passages of one page of hits, or as many of them as fit into the budget; raises CdesearchError."""
    chosen = indexes.together([] if index is None else [index])
    service, end = chosen.service, part.offset + request.k
    result, lacking = chosen.answer(replace(request, k=end + 1))
    found = hits = result.hits[part.offset : end]
    if not part.offset:
        ordered = with_other_files(chosen.service.search, request, replace(result, hits=found)).hits[: request.k]
        hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))
    if not hits and not part.offset and request.has_filter and not service.has_file(request):
        raise InputError(
            f"No indexed file matches {filters_of(request)}.",
            f"Paths and globs are relative to {_roots(chosen)}. The tool `outline` lists folders and files.",
        )
    notes = (*map(_stale, lacking), *_notes(result, request, part.offset))
    page = _Page(chosen, part.offset, hits, found, len(result.hits) > end, notes)
    return page.within(part.max_tokens, result.searched or request.text)


def related(indexes: ServedIndexes, index: str | None, path: str, part: Part) -> Answer:
    """The passages of other files that are nearest in meaning to the one that `path` names; raises CdesearchError."""
    chosen, request, result, lacking = related_hits(indexes, index, path)
    page = _Page(chosen, 0, result.hits, result.hits, None, tuple(map(_stale, lacking)))
    return page.within(part.max_tokens, request.text)


def related_hits(
    indexes: ServedIndexes, index: str | None, path: str
) -> tuple[Selection, SearchRequest, SearchResult, tuple[str, ...]]:
    """The hits of other files that are nearest in meaning to what `path` names, with the request that finds them.

    The last item has lines about changes of files that the hits lack. Raises CdesearchError.
    """
    served, path = index_and_path(indexes, index, path)
    document = find_document(indexes, served, path)
    text = "".join(document.lines[at].text for at in document.positions())
    words = _OPERATORS.sub(" ", f"{document.chunks[0].title}\n{text}"[:MAX_PASSAGE])
    own = {chunk.document_id for chunk in document.chunks}
    chosen = indexes.together([] if index is None else [index])
    request = SearchRequest(words, RELATED + min(len(document.chunks), MAX_RANK), mode="dense")
    result, lacking = chosen.answer(request)
    others = [hit for hit in result.hits if hit.chunk.document_id not in own or hit.index not in (None, served.name)]
    # Confidence is that of an answer to a query.
    hits = tuple(replace(hit, rank=rank, confidence=None) for rank, hit in enumerate(others[:RELATED], start=1))
    return chosen, request, replace(result, hits=hits), lacking


def _stale(line: str) -> str:
    return f"{line} So it may be out of date."


def _notes(result: SearchResult, request: SearchRequest, offset: int) -> Iterator[str]:
    if result.truncated_to is not None:
        yield (
            f"The query is longer than {result.truncated_to} tokens. The model read only its start, but full text"
            " used all of its words."
        )
    if result.stage != "complete" and request.mode != "text":
        yield f"The index is not complete yet ({result.stage}): passages without a vector are found by words."
    if result.hits and not offset and not result.seems_answered:
        yield "Nothing here seems to answer that."
    if (exclusion := request.query.exclusion) and not offset:
        yield exclusion
    if result.searched and not offset:
        yield shown_instead(result.searched)
    if result.unknown_name and not offset:
        yield no_text_contains(result.unknown_name)


def filters_of(request: SearchRequest) -> str:
    """The filters as part of a sentence."""
    given = [("operator", one) for one in request.query.filters]
    given += [(one.field, text) for one in FILTERS for text in one.texts_of(getattr(request, one.field))]
    return ", ".join(f"{name} {value:.200}" for name, value in given)


def _roots(chosen: Selection) -> str:
    """The folders to which paths are relative, with the names of the indexes if there are several."""
    roots = [(member.name, shown_source(member.index.root)) for member in chosen.members]
    return roots[0][1] if len(roots) == 1 else ", ".join(f"{root} ({name})" for name, root in roots)


@dataclass(frozen=True, slots=True)
class _Page:
    """Consecutive hits of a search, and how their passages become an answer."""

    chosen: Selection
    offset: int  # the number of hits before these
    hits: tuple[Hit, ...]
    found: tuple[Hit, ...]  # those of the search, in its order, of which others may take the place
    has_more: bool | None  # whether further hits follow; None if a call cannot ask for them
    notes: tuple[str, ...]
    fence: Fence = field(default_factory=Fence)

    def within(self, max_tokens: int, query: str) -> Answer:
        """The answer with as many passages as fit into the budget; raises InputError if not even one fits."""
        service = self.chosen.service
        ages = ages_of(self.hits, service.indexes)
        budget = Budget(max_tokens, service.tokenizer)
        return budget.of_hits(self.hits, query, lambda passages: self.answer(located(passages, self.hits, ages)))

    def answer(self, passages: Sequence[LocatedPassage]) -> Answer:
        offset = self._next_offset({name for one in passages for name in one.passage.chunk_ids})
        root = _roots(self.chosen)
        nothing = "There are no more passages." if self.offset else "Nothing was found."
        notes = [*self.notes, *([] if passages else [nothing])]
        end = [*notes]
        if passages:
            end.append(f"Paths are relative to {readable(root)}.")
            if len(self.chosen.members) > 1:
                end.append("Each path follows the name of its index: `read` and `outline` understand both together.")
            if offset:
                end.append(f"For more passages, use offset={offset}, or better a narrower query or path.")
            elif self.has_more is not None:
                end.append("There are no more passages.")
        text = "\n\n".join(part for part in (passages_as_text(passages, self.fence), " ".join(end)) if part)
        data = {"index": self.chosen.name, "root": root, "passages": [*map(_data, passages)]}
        return Answer(text, data | ({"notes": notes} if notes else {}) | ({"next_offset": offset} if offset else {}))

    def _next_offset(self, shown: set[str]) -> int | None:
        """The number of hits before the first one that is neither shown nor before one that is; None if there is none.

        Hits before one that is shown only repeat the text of others.
        """
        if self.has_more is None:
            return None
        last = max((n for n, hit in enumerate(self.hits, start=1) if hit.chunk.id in shown), default=0)
        passed = {hit.chunk.id for hit in self.hits[:last]}
        n_passed = len([*takewhile(lambda hit: hit.chunk.id in passed, self.found)])
        has_more = n_passed < len(self.found) or self.has_more
        return self.offset + n_passed if has_more and self.offset + n_passed <= MAX_RANK else None


def _data(one: LocatedPassage) -> dict[str, Any]:
    best, passage = one.best, one.passage
    values = {
        "index": best.index,
        "rank": best.rank,
        "path": passage.path,
        "record": passage.document_id if passage.record is not None else None,
        "lines": one.lines,
        "page": one.page,
        "part": one.part,
        "anchor": None if passage.anchor is None else readable(passage.anchor),
        "heading": readable(one.headings) or None,
        "confidence": None if best.confidence is None else round(best.confidence, 2),
        "age": one.age,
        "text": readable(passage.text),
        "copies": [readable(place) for place in one.copies] or None,
    }
    return {name: value for name, value in values.items() if value is not None}
