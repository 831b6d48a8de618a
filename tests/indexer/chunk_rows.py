"""Rows of the chunk schema, made without reading a file."""

import pyarrow as pa

from cdesearch.store.schema import chunk_schema, text_hash


def rows_of(chunks):
    """A record batch of (path, document id, text) triples, without vectors."""
    schema = chunk_schema(None)
    plain = {pa.string(): "", pa.int32(): 0, pa.int64(): 0}
    rows = []
    for number, (path, document, text) in enumerate(chunks):
        own = {"id": f"{document}/{number}", "document_id": document, "path": path, "text": text}
        own["content_hash"] = text_hash(text)
        rows.append({field.name: own.get(field.name, plain.get(field.type, [])) for field in schema})
    return pa.RecordBatch.from_pylist(rows, schema=schema)
