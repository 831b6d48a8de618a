"""A small file of meetings."""

import pyarrow as pa
import pyarrow.parquet as pq

TURNS = ["Ann: The moon pulls the tides of the sea.", "Bob: Let us bake bread.", "Ann: At 220 degrees.", "Bob: Good."]


def write_meetings(file):
    chunks = ["\n".join(TURNS[:2]), "\n".join(TURNS[2:])]
    questions = [{"text": "What pulls the tides?", "chunk": 0}, {"text": "How hot?", "chunk": 1}]
    pq.write_table(pa.Table.from_pylist([{"doc_id": "one", "chunks": chunks, "questions": questions}] * 2), file)
    return file
