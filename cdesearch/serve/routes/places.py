"""The places of the lines of a chunk as JSON, from which clients find the place of any passage in it."""

from typing import Any

from cdesearch.store.schema import Chunk


def places_as_json(chunk: Chunk) -> dict[str, Any]:
    """Return for each kind of place the lines of the chunk, counted from 0, from which on it has another value."""
    return {
        "trails": [[0, list(chunk.trail)], *([line, list(trail)] for line, trail in chunk.places.trails)],
        "anchors": [[0, chunk.anchor], *map(list, chunk.places.anchors)],
        "numbers": [[0, chunk.line_start], *map(list, chunk.places.numbers)],
    }
