"""Whether an unfinished build may continue: only if the server still has the model that began it."""

from pathlib import Path

from cdesearch.encode.remote import is_same_model
from cdesearch.store.folder import write_new
from cdesearch.store.manifest import ServedModel
from indexer.generations.generation import PROBES


def continues_model(building: Path, served: ServedModel, dimension: int) -> bool:
    """Whether the model that began the build in `building` is `served`; a build without probes begins with it."""
    file = building / PROBES
    if not file.is_file():
        write_new(file, served.probes)
        return True
    begun = ServedModel(served.name, served.query_prefix, served.document_prefix, file.read_text(encoding="ascii"))
    return is_same_model(begun.vectors(dimension), served.vectors(dimension))
