"""The tool `search`: the best passages for a query, within a budget of tokens."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from cdesearch.cli.passage_text import LocatedPassage, located, passages_as_text, readable
from cdesearch.cli.typed_path import globs_of
from cdesearch.errors import InputError
from cdesearch.search.documents import DocumentReader
from cdesearch.search.passages import OMISSION, Passage, fit_passages, tokens_of
from cdesearch.search.sentences import split_sentences
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.budget import Answer, Budget, too_small
from cdesearch.serve.mcp.cursor import make_cursor, start_of
from cdesearch.store.folder import shown_path
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk, Hit

MAX_K = 50
MAX_RANK = 500  # a cursor does not lead further: such passages hardly concern the query
SNIPPET = 240  # characters
STEM = 4  # letters that two forms of a word must share


def search(indexes: ServedIndexes, values: dict[str, Any]) -> Answer:
    """The passages of one page of hits; raises CdesearchError."""
    served = indexes[values["index"]]
    call = tuple(values[name] for name in ("query", "mode", "path"))
    offset, _ = start_of(served, call, values["cursor"])
    paths = None if values["path"] is None else globs_of(values["path"], served.index)
    result = served.search(values["query"], offset + values["k"] + 1, values["mode"], paths)
    hits = result.hits[offset : offset + values["k"]]
    if not hits and not offset and paths is not None and not served.has_file(*paths):
        raise InputError(
            f"No indexed file matches the path {values['path']:.200}.",
            f"Paths and globs are relative to {shown_path(served.index.root)};"
            " the tool `outline` lists folders and files.",
        )
    notes = []
    if result.truncated_to is not None:
        notes.append(f"The query is longer than {result.truncated_to} tokens: only its start was compared by meaning.")
    if result.stage != "complete" and values["mode"] != "text":
        notes.append(f"The index is not complete yet ({result.stage}): passages without a vector are found by words.")
    page = _Page(served, call, offset, hits, len(result.hits) > offset + len(hits), tuple(notes))
    return _fitted(page, values["query"], values["detail"], Budget(values["max_tokens"], served.encoder.tokenizer))


def _fitted(page: "_Page", query: str, detail: str, budget: Budget) -> Answer:
    """As many passages as fit, with their numbers and places."""
    hits, room = page.hits, budget.max_tokens
    if detail == "full":
        hits = tuple(_with_neighbours(page.served, hits))
    snippets = _snippets(hits, query, budget) if detail == "low" else []
    while True:
        passages = _first(snippets, room) if detail == "low" else fit_passages(hits, room, budget.tokenizer)
        answer = page.answer(located(passages, hits))
        cost = budget.cost(answer)
        if cost <= budget.max_tokens and (passages or not hits):
            return answer
        if not passages:
            raise too_small(budget.max_tokens)
        used = sum(tokens_of(passage, budget.tokenizer) for passage in passages)
        room = min(room - 1, used * budget.max_tokens // cost)  # places and names take a share


@dataclass(frozen=True, slots=True)
class _Page:
    """Some consecutive hits of a search, and how the passages that were made of them are answered."""

    served: ServedIndex
    call: tuple[object, ...]
    offset: int  # hits before these
    hits: tuple[Hit, ...]
    has_more: bool  # whether hits follow these
    notes: tuple[str, ...]

    def answer(self, passages: Sequence[LocatedPassage]) -> Answer:
        """The answer that consists of `passages`."""
        cursor = self._cursor({name for one in passages for name in one.passage.chunk_ids})
        root = shown_path(self.served.index.root)
        notes = [*self.notes, *([] if passages else ["Nothing was found."])]
        end = [*notes]
        if passages:
            end.append(f"Paths are relative to {readable(root)}.")
            following = f'More: the same call with cursor="{cursor}"; a narrower query or path is better.'
            end.append(following if cursor else "These are the last ones.")
        text = "\n\n".join(part for part in (passages_as_text(passages), " ".join(end)) if part)
        data: dict[str, Any] = {"index": self.served.name, "root": root, "passages": [*map(_data, passages)]}
        return Answer(text, data | ({"notes": notes} if notes else {}) | ({"cursor": cursor} if cursor else {}))

    def _cursor(self, shown: set[str]) -> str | None:
        """The cursor behind the last hit that is shown; the hits before it are shown too, or repeat others."""
        last = max((n for n, hit in enumerate(self.hits, start=1) if hit.chunk.id in shown), default=0)
        if last < len(self.hits) or (self.has_more and self.offset + last < MAX_RANK):
            return make_cursor(self.served, self.call, self.offset + last)
        return None


def _data(one: LocatedPassage) -> dict[str, Any]:
    best = one.best
    values = {
        "rank": best.rank,
        "path": one.passage.path,
        "record": one.passage.document_id if one.passage.record is not None else None,
        "lines": one.lines,
        "page": one.page,
        "part": one.part,
        "heading": readable(one.headings) or None,
        "score": round(best.score, 3),
        "dense_score": None if best.dense_score is None else round(best.dense_score, 3),
        "text_score": None if best.text_score is None else round(best.text_score, 2),
        "text": readable(one.passage.text),
    }
    return {name: value for name, value in values.items() if value is not None}


def _with_neighbours(served: ServedIndex, hits: Sequence[Hit]) -> Iterator[Hit]:
    """Each hit, followed by the chunks after and before it with its rank and score, unless they are hits themselves."""
    known = {hit.chunk.id for hit in hits}
    documents: dict[str, tuple[Chunk, ...]] = {}
    for hit in hits:
        yield hit
        name = hit.chunk.document_id
        if name not in documents:
            documents[name] = served.read(partial(_document, name))
        near = [chunk for chunk in documents[name] if _is_neighbour(chunk, hit.chunk) and chunk.id not in known]
        known |= {chunk.id for chunk in near}
        yield from (replace(hit, chunk=chunk) for chunk in sorted(near, key=lambda chunk: -chunk.ordinal))


def _document(name: str, index: Index) -> tuple[Chunk, ...]:
    return DocumentReader(index).document(name)


def _is_neighbour(chunk: Chunk, hit: Chunk) -> bool:
    return chunk.record == hit.record and abs(chunk.ordinal - hit.ordinal) == 1


def _snippets(hits: Sequence[Hit], query: str, budget: Budget) -> list[tuple[Passage, int]]:
    """The places of the hits with the sentence of each that has most words of the query, and the tokens of each."""
    words = {word[: max(STEM, len(word) - 3)] for word in re.findall(r"\w+", query.lower()) if len(word) > 2}
    snippets = []
    for hit in hits:
        (passage,) = fit_passages([hit], budget.characters, budget.tokenizer)
        snippet = replace(passage, text=_snippet(hit.chunk.body, words))
        snippets.append((snippet, tokens_of(snippet, budget.tokenizer)))
    return snippets


def _first(snippets: Sequence[tuple[Passage, int]], room: int) -> tuple[Passage, ...]:
    """As many snippets as have at most `room` tokens together."""
    ends = accumulate(tokens for _, tokens in snippets)
    return tuple(snippet for (snippet, _), end in zip(snippets, ends, strict=True) if end <= room)


def _snippet(body: str, words: set[str]) -> str:
    """The start of the text from the sentence that has most of the words."""
    sentences = split_sentences(body)
    best = max(sentences, key=lambda one: sum(word in body[one.start : one.end].lower() for word in words))
    text = " ".join(body[best.start :].split())
    return text if len(text) <= SNIPPET else text[:SNIPPET].rpartition(" ")[0] + OMISSION
