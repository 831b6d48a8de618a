"""The tool `read` returns a range of the stored text of one document, within a budget of tokens."""

from cdesearch.cli.passage_text import readable, span
from cdesearch.cli.token_budget import Answer, Budget, Part
from cdesearch.search.passages import Fence
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.documents import NamedDocument, find_document, has_changed, index_and_path
from cdesearch.terminal import printable

STALE = "The file has changed since it was indexed, so this text may be out of date."


def read(indexes: ServedIndexes, index: str | None, path: str, context: int, part: Part) -> Answer:
    """What `path` names, with `context` lines, pages or parts on each side, or as much of it as fits into the budget.

    Raises CdesearchError.
    """
    served, path = index_and_path(indexes, index, path)
    document = find_document(indexes, served, path)
    budget = Budget(part.max_tokens, served.searcher.tokenizer)
    note = STALE if served.searcher.read(lambda index: has_changed(index, document.chunks[0].path)) else ""
    return _answer(served.name, document, document.positions(context), part.offset, budget, note)


def _answer(index: str, document: NamedDocument, requested: range, offset: int, budget: Budget, note: str) -> Answer:
    """An answer with a note and as many of the `requested` lines after the first `offset` as fit.

    Raises InputError if not one line fits.
    """
    positions = requested[offset:]
    fence, unit, title = Fence(), document.unit, readable(document.chunks[0].title)

    def span_of(first: int, last: int) -> str:
        return span(document.lines[first].number, document.lines[last].number)

    def answer(n_lines: int) -> Answer:
        start, following = positions.start, positions.start + n_lines
        shown = span_of(start, max(start, following - 1)) if positions else "none"
        text = readable("".join(line.text for line in document.lines[start:following]).removesuffix("\n"))
        heading = printable(f"{document.path}  {unit} {shown} of {document.total}  {title}".rstrip())
        place = {"index": index, "path": document.path, "title": title}
        data = {**place, unit: shown, "total": document.total, "text": text, **({"note": note} if note else {})}
        whole = "\n\n".join(filter(None, (fence.rule, fence.around(1, heading, text), note)))
        if following == positions.stop:
            return Answer(whole, data)
        left = printable(document.location(span_of(following, positions.stop - 1)))
        rest = following - requested.start
        more = f"To read the rest, use {left}, or the same call with offset={rest}."
        return Answer(f"{whole}\n\n{more}", data | {"left": left, "next_offset": rest})

    return budget.largest(answer, min(len(positions), budget.characters))
