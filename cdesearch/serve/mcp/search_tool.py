"""The tool `search`: the best passages for a query, within a budget of tokens."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cdesearch.cli.passage_text import headings_of, passages_as_text, readable, span
from cdesearch.cli.typed_path import globs_of
from cdesearch.errors import InputError
from cdesearch.search.documents import DocumentReader
from cdesearch.search.passages import Passage, fit_passages, tokens_of
from cdesearch.search.sentences import split_sentences
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.budget import Answer, Budget, too_small
from cdesearch.serve.mcp.cursor import make_cursor, start_of
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
            f"Paths and globs are relative to {served.index.root}; the tool `outline` lists folders and files.",
        )
    notes = []
    if result.truncated_to is not None:
        notes.append(f"The query is longer than {result.truncated_to} tokens: only its start was compared by meaning.")
    page = _Page(served, call, offset, hits, len(result.hits) > offset + len(hits), tuple(notes))
    return _fitted(page, values["query"], values["detail"], Budget(values["max_tokens"], served.encoder.tokenizer))


def _fitted(page: "_Page", query: str, detail: str, budget: Budget) -> Answer:
    """As many passages as fit, with their numbers and places."""
    hits, room = page.hits, budget.max_tokens
    if detail == "full":
        hits = tuple(_with_neighbours(page.served, hits))
    while True:
        if detail == "low":
            passages = _snippets(hits, query, room, budget)
        else:
            passages = fit_passages(hits, room, budget.tokenizer)
        answer = page.answer(passages)
        excess = budget.excess(answer)
        if excess <= 0 and (passages or not hits):
            return answer
        if not passages:
            raise too_small(budget.max_tokens)
        room -= max(1, excess)


class _Page:
    """Some consecutive hits of a search, and how the passages that were made of them are answered."""

    def __init__(
        self,
        served: ServedIndex,
        call: tuple[object, ...],
        offset: int,
        hits: tuple[Hit, ...],
        has_more: bool,
        notes: tuple[str, ...],
    ) -> None:
        self.served = served
        self.hits = hits
        self._call = call
        self._offset = offset
        self._has_more = has_more  # whether hits follow these
        self._notes = notes
        self._by_id = {hit.chunk.id: hit for hit in hits}

    def answer(self, passages: Sequence[Passage]) -> Answer:
        """The answer that consists of `passages`."""
        shown = {name for passage in passages for name in passage.chunk_ids}
        last = max((n for n, hit in enumerate(self.hits, start=1) if hit.chunk.id in shown), default=0)
        cursor = None
        if last < len(self.hits) or (self._has_more and self._offset + last < MAX_RANK):
            cursor = make_cursor(self.served, self._call, self._offset + last)
        root = str(self.served.index.root)
        notes = [*self._notes, *([] if passages else ["Nothing was found."])]
        end = [*notes, f"Paths are relative to {readable(root)}."] if passages else notes
        if cursor:
            end.append(f'More: the same call with cursor="{cursor}"; a narrower query or path is better.')
        elif passages:
            end.append("These are the last ones.")
        text = "\n\n".join(part for part in (passages_as_text(passages), " ".join(end)) if part)
        data: dict[str, Any] = {"index": self.served.name, "root": root, "passages": [*map(self._data, passages)]}
        return Answer(text, data | ({"notes": notes} if notes else {}) | ({"cursor": cursor} if cursor else {}))

    def _data(self, passage: Passage) -> dict[str, Any]:
        hits = [self._by_id[name] for name in passage.chunk_ids if name in self._by_id]
        best = min(hits, key=lambda hit: hit.rank)
        has_parts = passage.page is None and passage.line_start is None and passage.record is None
        ordinals = [hit.chunk.ordinal + 1 for hit in hits]
        values = {
            "rank": best.rank,
            "path": passage.path,
            "record": passage.document_id if passage.record is not None else None,
            "lines": span(passage.line_start, passage.line_end),
            "page": span(passage.page, passage.page_end),
            "part": span(min(ordinals), max(ordinals)) if has_parts else None,
            "heading": readable(headings_of(passage)) or None,
            "score": round(best.score, 3),
            "dense_score": None if best.dense_score is None else round(best.dense_score, 3),
            "text_score": None if best.text_score is None else round(best.text_score, 2),
            "text": readable(passage.text),
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
            documents[name] = served.read(lambda index, name=name: DocumentReader(index).document(name))
        near = [chunk for chunk in documents[name] if _is_neighbour(chunk, hit.chunk) and chunk.id not in known]
        known |= {chunk.id for chunk in near}
        yield from (replace(hit, chunk=chunk) for chunk in sorted(near, key=lambda chunk: -chunk.ordinal))


def _is_neighbour(chunk: Chunk, hit: Chunk) -> bool:
    return chunk.record == hit.record and abs(chunk.ordinal - hit.ordinal) == 1


def _snippets(hits: Sequence[Hit], query: str, room: int, budget: Budget) -> list[Passage]:
    """The places of the hits with the sentence of each that has most words of the query, as many as fit."""
    words = {word[: max(STEM, len(word) - 3)] for word in re.findall(r"\w+", query.lower()) if len(word) > 2}
    snippets: list[Passage] = []
    for hit in hits:
        passages = fit_passages([hit], budget.characters, budget.tokenizer)
        snippet = replace(passages[0], text=_snippet(hit.chunk.body, words))
        room -= tokens_of(snippet, budget.tokenizer)
        if room < 0:
            break
        snippets.append(snippet)
    return snippets


def _snippet(body: str, words: set[str]) -> str:
    sentences = [" ".join(body[one.start : one.end].split()) for one in split_sentences(body) if one.kind != "heading"]
    best = max(sentences or [body.strip()], key=lambda text: sum(word in text.lower() for word in words))
    return best if len(best) <= SNIPPET else best[:SNIPPET].rpartition(" ")[0] + " …"
