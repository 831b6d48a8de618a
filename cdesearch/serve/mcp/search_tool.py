"""The tool `search` returns the best passages for a query, within a budget of tokens."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from cdesearch.cli.hits.passage_lines import best_row, query_words
from cdesearch.cli.passage_text import LocatedPassage, located, passages_as_text, readable
from cdesearch.errors import InputError
from cdesearch.search.documents import DocumentReader
from cdesearch.search.fence import Fence
from cdesearch.search.passages import OMISSION, Passage, fit_passages, tokens_of
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.search.sentences import split_sentences
from cdesearch.search.word_forms import pieces, word_stem
from cdesearch.serve.indexes import ServedIndex, ServedIndexes, ServedTogether
from cdesearch.serve.mcp.answers import Answer, Budget, Part, make_cursor
from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk, Hit

MAX_RANK = 500  # cursors end at this rank, because later passages are hardly relevant to the query
MAX_SNIPPET = 240  # characters

Detail = Literal["low", "normal", "full"]


def search(indexes: ServedIndexes, index: str | None, request: SearchRequest, detail: Detail, part: Part) -> Answer:
    """The passages of one page of hits, or as many of them as fit into the budget; raises CdesearchError."""
    served = indexes.together([] if index is None else [index])
    call = (replace(request, k=1),)
    offset = part.start(served, call)
    result = served.search(replace(request, k=offset + request.k + 1))
    hits = result.hits[offset : offset + request.k]
    if not hits and not offset and request.has_filter and not served.has_file(request):
        raise InputError(
            f"No indexed file matches {_filters(request)}.",
            f"Paths and globs are relative to {_roots(served)}. The tool `outline` lists folders and files.",
        )
    notes = tuple(_notes(result, request, detail, offset))
    page = _Page(served, call, offset, hits, len(result.hits) > offset + len(hits), notes, detail == "low")
    return _fitted(page, request.text, detail, Budget(part.max_tokens, served.tokenizer))


def _notes(result: SearchResult, request: SearchRequest, detail: Detail, offset: int) -> Iterator[str]:
    if result.truncated_to is not None:
        yield (
            f"The query is longer than {result.truncated_to} tokens. The model read only its start, but full text"
            " used all of its words."
        )
    if result.stage != "complete" and request.mode != "text":
        yield f"The index is not complete yet ({result.stage}): passages without a vector are found by words."
    if result.hits and not offset and not result.seems_answered and detail != "low":  # a low budget has no room
        yield "Nothing here seems to answer that."


def _filters(request: SearchRequest) -> str:
    """The filters as part of a sentence."""
    given = [("path", one) for one in request.path] + [("type", one) for one in request.type]
    given += [] if request.since is None else [("time", request.since)]
    return ", ".join(f"the {noun} {value:.200}" for noun, value in given)


def _roots(served: ServedIndex | ServedTogether) -> str:
    """The folders to which paths are relative, with the names of the indexes if there are several."""
    roots = [(member.name, shown_source(member.index.root)) for member in served.members]
    return roots[0][1] if len(roots) == 1 else ", ".join(f"{root} ({name})" for name, root in roots)


def _fitted(page: "_Page", query: str, detail: Detail, budget: Budget) -> Answer:
    """An answer with as many passages as fit into the budget."""
    hits, words = page.hits, query_words(query)
    if detail == "low":
        snippets = _snippets(hits, query, budget)
        n_fitting, answer = budget.largest(lambda n: page.answer(located(snippets[:n], hits)), len(snippets))
        if snippets and not n_fitting:
            raise budget.too_small()
        return answer
    if detail == "full":
        hits = tuple(_with_neighbours(page.served, hits))
    room = budget.max_tokens
    while True:
        passages = fit_passages(hits, room, budget.tokenizer, lambda hit: best_row(hit, words))
        answer = page.answer(located(passages, hits))
        cost = budget.cost(answer)
        if cost <= budget.max_tokens and (passages or not hits):
            return answer
        if not passages:
            raise budget.too_small()
        used = sum(tokens_of(passage, budget.tokenizer) for passage in passages)
        room = min(room - 1, used * budget.max_tokens // cost)  # locations and field names need some of the tokens


@dataclass(frozen=True, slots=True)
class _Page:
    """Consecutive hits of a search, and how their passages become an answer."""

    served: ServedIndex | ServedTogether
    call: tuple[object, ...]
    offset: int  # the number of hits before these
    hits: tuple[Hit, ...]
    has_more: bool  # whether further hits follow
    notes: tuple[str, ...]
    is_brief: bool  # whether passages are given without the parts of their scores
    fence: Fence = field(default_factory=Fence)

    def answer(self, passages: Sequence[LocatedPassage]) -> Answer:
        """The answer that consists of `passages`."""
        cursor = self._cursor({name for one in passages for name in one.passage.chunk_ids})
        root = _roots(self.served)
        notes = [*self.notes, *([] if passages else ["Nothing was found."])]
        end = [*notes]
        if passages:
            end.append(f"Paths are relative to {readable(root)}.")
            if len(self.served.members) > 1:
                end.append("Each path follows the name of its index: `read` and `outline` understand both together.")
            following = (
                f'For more passages, repeat the call with cursor="{cursor}", or better use a narrower query or path.'
            )
            end.append(following if cursor else "There are no more passages.")
        text = "\n\n".join(part for part in (passages_as_text(passages, self.fence), " ".join(end)) if part)
        data = {
            "index": self.served.name,
            "root": root,
            "passages": [_data(one, is_brief=self.is_brief) for one in passages],
        }
        return Answer(text, data | ({"notes": notes} if notes else {}) | ({"cursor": cursor} if cursor else {}))

    def _cursor(self, shown: set[str]) -> str | None:
        """A cursor after the last hit that is shown, or None if no hit follows it.

        Hits before it that are not shown only repeat the text of others.
        """
        last = max((n for n, hit in enumerate(self.hits, start=1) if hit.chunk.id in shown), default=0)
        if last < len(self.hits) or (self.has_more and self.offset + last < MAX_RANK):
            return make_cursor(self.served, self.call, self.offset + last)
        return None


def _data(one: LocatedPassage, *, is_brief: bool) -> dict[str, Any]:
    best, passage = one.best, one.passage
    scores: dict[str, tuple[float | None, int]] = {"score": (best.score, 3)}
    if not is_brief:
        scores |= {"dense_score": (best.dense_score, 3), "text_score": (best.text_score, 2)}
    scores |= {"confidence": (best.confidence, 2)}
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
        **{name: None if value is None else round(value, digits) for name, (value, digits) in scores.items()},
        "text": readable(passage.text),
        "copies": [readable(place) for place in one.copies] or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _with_neighbours(served: ServedIndex | ServedTogether, hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield each hit, and then the chunks after and before it, unless they are hits themselves.

    The added chunks have the rank and score of the hit.
    """
    known = {hit.chunk.id for hit in hits}
    documents: dict[tuple[str | None, str], tuple[Chunk, ...]] = {}
    for hit in hits:
        yield hit
        key = hit.index, hit.chunk.document_id
        if key not in documents:
            documents[key] = served.of(hit).read(partial(_document_of, hit))
        near = [chunk for chunk in documents[key] if _is_neighbour(chunk, hit.chunk) and chunk.id not in known]
        known |= {chunk.id for chunk in near}
        near.sort(key=lambda chunk: -chunk.ordinal)
        yield from (replace(hit, chunk=chunk, passage_line=None) for chunk in near)


def _document_of(hit: Hit, index: Index) -> tuple[Chunk, ...]:
    return DocumentReader(index).document(hit.chunk.document_id)


def _is_neighbour(chunk: Chunk, hit: Chunk) -> bool:
    return chunk.record == hit.record and abs(chunk.ordinal - hit.ordinal) == 1


def _snippets(hits: Sequence[Hit], query: str, budget: Budget) -> list[Passage]:
    """A passage with the most relevant sentence of each hit."""
    words = {word_stem(word) for word in re.findall(r"\w+", query.lower()) if len(word) > 2}
    words |= {*pieces(query)}
    snippets = []
    for hit in hits:
        (passage,) = fit_passages([hit], budget.characters, budget.tokenizer)
        start, text = _snippet(hit.chunk.body, words)
        row = hit.chunk.body.count("\n", 0, start)
        snippet = replace(
            passage,
            text=text,
            line_start=hit.chunk.line_at(row),
            line_end=hit.chunk.line_end,
            trail=hit.chunk.trail_at(row),
            anchor=hit.chunk.anchor_at(row),
        )
        snippets.append(snippet)
    return snippets


def _snippet(body: str, words: set[str]) -> tuple[int, str]:
    """The text from the sentence that contains most of the words, and where it begins in the body.

    It is truncated to MAX_SNIPPET characters.
    """
    sentences = split_sentences(body)
    best = max(sentences, key=lambda one: sum(word in body[one.start : one.end].lower() for word in words))
    text = " ".join(body[best.start :].split())
    shown = text if len(text) <= MAX_SNIPPET else text[:MAX_SNIPPET].rpartition(" ")[0] + OMISSION
    return best.start, shown
