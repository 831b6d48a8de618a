"""`GET /api/v1/search`: the hits of a query."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.cli.render import result_as_json
from cdesearch.search.reader import Mode
from cdesearch.search.result import SearchResult
from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.state import state_of

MAX_K = 100
MAX_OFFSET = 1_000
QueryText = Annotated[str, Query(description="What to search for.", max_length=4_000)]
PathGlobs = Annotated[
    list[str] | None, Query(description="Only files that match this glob, or one of several.", max_length=100)
]
Suffix = Annotated[
    str | None, Query(alias="type", pattern=r"^\w{1,20}$", description="Only files of this type, such as py.")
]
IndexName = Annotated[str | None, Query(alias="index", description="The name of an index; default: the first.")]

router = APIRouter(tags=["search"])


@router.get("/search")
async def search(
    request: Request,
    q: QueryText,
    k: Annotated[int, Query(ge=1, le=MAX_K, description="How many hits.")] = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many of the best hits to leave out.")] = 0,
    mode: Annotated[Mode, Query(description="Ranking method.")] = "hybrid",
    path: PathGlobs = None,
    suffix: Suffix = None,
    index: IndexName = None,
) -> JSONResponse:
    """The best chunks, best first."""
    state = state_of(request)
    served = state.indexes[index]
    paths = globs_of(path, suffix)
    result = await state.admission.run(lambda: served.search(q, offset + k, mode, paths))
    return JSONResponse(_answer(served, q, mode, offset, k, result))


def globs_of(paths: list[str] | None, suffix: str | None) -> tuple[str, ...] | None:
    """The globs one of which a path must match; None: every path."""
    if suffix is None:
        return None if paths is None else tuple(paths)
    return tuple(glob for path in paths or ("**",) for glob in _of_type(path.rstrip("/"), suffix))


def _of_type(path: str, suffix: str) -> tuple[str, ...]:
    """Globs for the files that match `path` and have the suffix: those below a folder, and files themselves."""
    itself = path if path.endswith(f".{suffix}") else f"{path}.{suffix}" if path.endswith("*") else None
    below = f"{path}/**/*.{suffix}"
    return (below,) if itself is None else (below, itself)


def _answer(served: ServedIndex, query: str, mode: str, offset: int, k: int, result: SearchResult) -> dict[str, Any]:
    values = result_as_json(query, mode, result)
    for shown, hit in zip(values["hits"], result.hits, strict=True):
        shown["chunk"] = hit.chunk.id
        shown["location"] = hit.chunk.location
    return {
        "query": query,
        "mode": mode,
        "index": served.name,
        "generation": result.generation,
        "stage": result.stage,
        "milliseconds": values["milliseconds"],
        "truncated_to": result.truncated_to,
        "offset": offset,
        "more": len(result.hits) == offset + k < served.index.manifest.n_chunks,
        "hits": values["hits"][offset:],
    }
