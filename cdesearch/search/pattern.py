"""Search chunks without words: which match a regular expression and in which lines, or which begin a file.

LanceDB matches with Rust's library, whose time is linear in the text. That of Python's library may be exponential.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal
from unicodedata import normalize

import numpy as np

from cdesearch.errors import QueryError
from cdesearch.search.documents import quoted, read_table
from cdesearch.search.nearest import RowIds
from cdesearch.store.index import Index
from cdesearch.store.storage import run_async

_START, _END = "\ufdd0", "\ufdd1"  # around each match; no character of a text has these codes


def pattern_condition(index: Index, regex: str) -> str:
    """The SQL condition for the chunks of which some text of their own matches; raises QueryError.

    `^` and `$` are the start and the end of a line.
    """
    pattern = _literal(regex)
    query = index.async_chunks.query().where(f"regexp_like('', {pattern})").select(["path"]).limit(1)

    async def match() -> None:
        await query.to_arrow()

    try:
        run_async(match())
    except (ValueError, RuntimeError) as error:
        if "regex parse error" in str(error) or "did not compile" in str(error):
            reason = re.search(r"^error: (.*?)\)?$", str(error), re.MULTILINE)
            raise QueryError(
                f"'{regex[:80]}' is not a pattern that can be searched for"
                f" ({reason[1] if reason else 'it is too large'}).",
                "Use a regular expression without look-around and references, and a backslash before literal signs.",
            ) from None
    # The title and the headings before a chunk are lines of others. All of its text is compared first, which is faster.
    return f"regexp_like(text, {pattern}) AND regexp_like({_BODY}, {pattern})"


def rows_in_order(index: Index, condition: str, first_of: Literal["path", "document"] | None = None) -> RowIds:
    """The row ids (n,) of all chunks that fulfil an SQL condition, in the order of their paths and lines.

    With `first_of`, only those of the first chunk of each path or document are returned.
    """
    query = index.async_chunks.query().where(condition)
    columns = {"path": "path", "document": "document_id", "line": _number("line_start")}
    table = read_table(index, query.select(columns).with_row_id())
    table = table.sort_by([("path", "ascending"), ("line", "ascending"), ("_rowid", "ascending")])
    rows: RowIds = table["_rowid"].to_numpy()
    if first_of is not None:
        _, firsts = np.unique(table[first_of].to_numpy(), return_index=True)
        rows = rows[np.sort(firsts)]
    return rows


def matching_lines(index: Index, regex: str, rows: RowIds) -> dict[int, tuple[int, ...]]:
    """The lines of chunks that match, counted from 0, by row id."""
    marked = f"regexp_replace({_BODY}, {_literal(regex)}, '{_START}${{0}}{_END}', 'g')"
    query = index.async_chunks.take_row_ids(np.unique(rows).tolist()).select({"marked": marked}).with_row_id()
    table = read_table(index, query)
    lines = (tuple(_marked(text.split("\n"))) for text in table["marked"].to_pylist())
    return dict(zip(table["_rowid"].to_pylist(), lines, strict=True))


def _marked(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines in which a match begins or goes on."""
    is_inside = False
    for number, line in enumerate(lines):
        if _START in line or (is_inside and not line.startswith(_END)):
            yield number
        last = max(line.rfind(_START), line.rfind(_END))
        is_inside = is_inside if last < 0 else line[last] == _START


def _literal(regex: str) -> str:
    return quoted(f"(?m){normalize('NFC', regex)}")


def _number(field: str) -> str:
    """A number in the column `place`, which is JSON, as an SQL expression; NULL if it has none."""
    return f"TRY_CAST(regexp_replace(place, '^.*\"{field}\":([0-9]+).*$', '${{1}}') AS BIGINT)"


_BODY = f"substr(text, 1 + {_number('body_start')})"
