"""A LanceDB table whose vectors are embedded in the context of a corpus.

python examples/lancedb_table.py DATABASE_FOLDER
"""

import sys
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit(__doc__)

import lancedb
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector

import cdesearch.integrations.lancedb  # noqa: F401 (registers the function)
from cdesearch import Embedder

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
notes = ["Knead the dough and let it rise.", "The moon pulls the tides.", "Simmer the onions in butter."]

# The context is a file: it must be the same when rows are added and when queries are embedded.
context = folder / "context.safetensors"
Embedder().sample_context(notes).save(context)
embeddings = get_registry().get("cdesearch").create(context=str(context))


class Note(LanceModel):
    """A row, whose vector LanceDB computes from its text."""

    text: str = embeddings.SourceField()
    vector: Vector(embeddings.ndims()) = embeddings.VectorField()  # type: ignore[valid-type]


table = lancedb.connect(folder).create_table("notes", schema=Note, mode="overwrite")
table.add([{"text": note} for note in notes])
for row in table.search("how to make bread").limit(1).to_list():
    print(row["text"])
