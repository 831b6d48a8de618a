"""Read and finish the tables of a generation on a worker of a cluster: LanceDB needs much memory for that.

One task finishes a table. A table of up to FRAGMENT_ROWS chunks is one fragment after compaction, and the task does all
of the work itself. For a larger table, it waits while lance-ray divides the work by fragments.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.context.context import ContextSample
from cdesearch.context.vectors import Floats
from cdesearch.errors import ClusterError
from cdesearch.search.drift import drift_of
from cdesearch.store.lance_manifest import TABLES
from cdesearch.store.open_tables import connect
from cdesearch.store.vector_format import VectorFormat
from indexer.cluster.dispatch import CONTINUES, run_on_worker
from indexer.embedding.context import sample_vectors
from indexer.generations.generation import CLUSTER
from indexer.generations.tables import GRAPH_OPTIONS, Tables

FRAGMENT_ROWS = 1_048_576  # to which Lance merges smaller fragments
# Of LanceDB's FTS. Lance has other names for some that are never set.
WORD_OPTIONS = ("with_position", "base_tokenizer", "language", "max_token_length", "custom_stop_words")
DOCUMENTS = "documents.arrow"  # the rows of the documents table, for the task that writes it


@dataclass(frozen=True, slots=True)
class ClusterIndexes:
    """Works on one table; its methods are those of IndexBuilder."""

    table: str  # its folder
    n_workers: int

    def compact(self) -> None:
        from lance_ray import compact_files

        with _reporting_failure():
            compact_files(self.table, num_workers=self.n_workers)

    def index_words(self, name: str, config: Any) -> None:
        """Build one segment for each worker. BM25 counts words in all of them, so the scores are those of one piece."""
        from lance_ray import create_scalar_index

        options = {option: value for option in WORD_OPTIONS if (value := getattr(config, option)) is not None}
        options |= {"column": "text", "index_type": "INVERTED", "name": name, "num_workers": self.n_workers}
        with _reporting_failure():
            create_scalar_index(self.table, **options)

    def index_vectors(self, name: str) -> None:
        """Build one graph for each fragment, as an update does with the chunks that it adds."""
        import lance
        from lance_ray import create_index

        n_fragments = len(lance.dataset(self.table).get_fragments())
        options: dict[str, Any] = {"num_workers": self.n_workers, "num_segments": n_fragments, "num_partitions": 1}
        with _reporting_failure():
            create_index(self.table, "vector", "IVF_HNSW_SQ", name, metric="cosine", **options, **GRAPH_OPTIONS)


def write_documents_on_worker(tables: Tables, vectors: VectorFormat, documents: pa.Table) -> None:
    """Write the documents table in one task, because LanceDB needs twice its memory for that; raises ClusterError."""
    file = tables.generation / CLUSTER / DOCUMENTS
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, documents.schema) as writer:
        writer.write_table(documents)
    run_on_worker(_write_documents, tables.generation, vectors, file)


def _write_documents(generation: Path, vectors: VectorFormat, file: Path) -> None:
    with pa.memory_map(str(file)) as source:
        Tables(generation, vectors).write_documents(pa.ipc.open_file(source).read_all())


def sample_vectors_on_worker(tables: Tables, vectors: VectorFormat, sample: ContextSample) -> Floats:
    """Return what `sample_vectors` returns, because LanceDB reads ahead in a column of all chunks."""
    found: Floats = run_on_worker(_sample_vectors, tables.generation, vectors, sample)
    return found


def _sample_vectors(generation: Path, vectors: VectorFormat, sample: ContextSample) -> Floats:
    return sample_vectors(Tables(generation, vectors), sample)


def drift_on_worker(tables: Tables, vectors: VectorFormat, sample: Floats, folder: Path) -> float | None:
    """Return the drift of tables from the vectors `sample` (n, d), in standard errors; their documents are written."""
    found: float | None = run_on_worker(_drift, tables.generation, vectors, sample, folder)
    return found


def _drift(generation: Path, vectors: VectorFormat, sample: Floats, folder: Path) -> float | None:
    documents = connect(generation).open_table("documents").to_arrow()
    return drift_of(sample, Tables(generation, vectors).chunks, documents, vectors, folder).standard_errors


def finish_on_worker(tables: Tables, vectors: VectorFormat, n_workers: int) -> None:
    """Finish tables in one task, so that the driver does not hold the index of their vectors; raises ClusterError."""
    is_large = tables.chunks.count_rows() > FRAGMENT_ROWS
    # A task that waits for others must not take one of the processors that they need.
    resources = {"num_cpus": 0} if is_large else {}
    given = (tables.generation, vectors, tables.text_language, n_workers if is_large else None)
    run_on_worker(_finish, *given, **resources)
    tables.chunks.checkout_latest()


def _finish(generation: Path, vectors: VectorFormat, text_language: str, n_workers: int | None) -> None:
    """Finish the tables of a generation, with lance-ray if `n_workers` are given."""
    table = generation / TABLES / "chunks.lance"
    builder = None if n_workers is None else ClusterIndexes(str(table), n_workers)
    Tables(generation, vectors, text_language).finish(builder)


@contextmanager
def _reporting_failure() -> Iterator[None]:
    """Raise ClusterError for a failure of lance-ray, whose tasks are not repeated when a worker dies."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise ClusterError(f"A step on the cluster has failed ({reason}).", CONTINUES) from None
