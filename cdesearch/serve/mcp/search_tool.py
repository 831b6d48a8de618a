"""The tool `search` returns the best passages for a query, within a budget of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cdesearch.cli.passage_text import LocatedPassage, located, passages_as_text, readable
from cdesearch.errors import InputError
from cdesearch.search.options import FILTERS
from cdesearch.search.passage_lines import best_row, query_words
from cdesearch.search.passages import Fence, fit_passages, tokens_of
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.serve.indexes import Selection, ServedIndexes
from cdesearch.serve.mcp.answers import Answer, Budget, Part
from cdesearch.store.copies import shown_source
from cdesearch.store.schema import Hit

MAX_RANK = 500  # no more passages are offered after this rank, because they are hardly relevant to the query


def search(indexes: ServedIndexes, index: str | None, request: SearchRequest, part: Part) -> Answer:
    """The passages of one page of hits, or as many of them as fit into the budget; raises CdesearchError."""
    chosen = indexes.together([] if index is None else [index])
    service, end = chosen.service, part.offset + request.k
    result, lacking = chosen.answer(replace(request, k=end + 1))
    hits = result.hits[part.offset : end]
    if not hits and not part.offset and request.has_filter and not service.has_file(request):
        raise InputError(
            f"No indexed file matches {_filters(request)}.",
            f"Paths and globs are relative to {_roots(chosen)}. The tool `outline` lists folders and files.",
        )
    stale = (f"{line} So it may be out of date." for line in lacking)
    notes = (*stale, *_notes(result, request, part.offset))
    page = _Page(chosen, part.offset, hits, len(result.hits) > end, notes)
    budget, words = Budget(part.max_tokens, service.tokenizer), query_words(request.text)
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


def _filters(request: SearchRequest) -> str:
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
    has_more: bool  # whether further hits follow
    notes: tuple[str, ...]
    fence: Fence = field(default_factory=Fence)

    def answer(self, passages: Sequence[LocatedPassage]) -> Answer:
        """The answer that consists of `passages`."""
        offset = self._next_offset({name for one in passages for name in one.passage.chunk_ids})
        root = _roots(self.chosen)
        nothing = "There are no more passages." if self.offset else "Nothing was found."
        notes = [*self.notes, *([] if passages else [nothing])]
        end = [*notes]
        if passages:
            end.append(f"Paths are relative to {readable(root)}.")
            if len(self.chosen.members) > 1:
                end.append("Each path follows the name of its index: `read` and `outline` understand both together.")
            following = (
                f"For more passages, repeat the call with offset={offset}, or better use a narrower query or path."
            )
            end.append(following if offset else "There are no more passages.")
        text = "\n\n".join(part for part in (passages_as_text(passages, self.fence), " ".join(end)) if part)
        data = {"index": self.chosen.name, "root": root, "passages": [*map(_data, passages)]}
        return Answer(text, data | ({"notes": notes} if notes else {}) | ({"next_offset": offset} if offset else {}))

    def _next_offset(self, shown: set[str]) -> int | None:
        """The number of hits up to the last one that is shown, or None if no hit follows it.

        Hits before it that are not shown only repeat the text of others.
        """
        last = max((n for n, hit in enumerate(self.hits, start=1) if hit.chunk.id in shown), default=0)
        has_more = last < len(self.hits) or self.has_more
        return self.offset + last if has_more and self.offset + last <= MAX_RANK else None


def _data(one: LocatedPassage) -> dict[str, Any]:
    best, passage = one.best, one.passage
    scores = {"score": (best.score, 3), "dense_score": (best.dense_score, 3), "text_score": (best.text_score, 2)}
    scores["confidence"] = (best.confidence, 2)
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
