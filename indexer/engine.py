"""Where a build reads and embeds: in processes of this machine, or on a cluster (`indexer.cluster.engine`)."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Protocol

from cdesearch.context.context import EncodingContext
from cdesearch.encode.encoder import Encoder
from indexer.embedding.chunk_windows import embed_windows
from indexer.embedding.embed import embed_spool
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import Chunks, Spool
from indexer.files.outcome import Source
from indexer.read_files import FilesRead, read_files
from indexer.workers.pool import Pool, Reading

Advance = Callable[[int], None]


class Engine(Protocol):
    """Reads files and embeds chunks for a build, which does everything else itself."""

    def read(self, sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        """Read files into `spool`, in their order, and close it; `advance` is called with 1 after each file."""

    def embed(
        self,
        spool: Chunks,
        unchanged: Container[str],
        cache: EmbeddingCache,
        encoder: Encoder,
        context: EncodingContext,
        advance: Advance,
    ) -> Iterator[None]:
        """Embed every text of documents that are not `unchanged`; yields whenever vectors are stored in `cache`."""


class Local:
    """Reads in the processes of a pool, which it ends then, and embeds in this process."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def read(self, sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        read = read_files(sources, reading, self._pool, spool, advance)
        self._pool.close()
        return read

    def embed(
        self,
        spool: Chunks,
        unchanged: Container[str],
        cache: EmbeddingCache,
        encoder: Encoder,
        context: EncodingContext,
        advance: Advance,
    ) -> Iterator[None]:
        embed = embed_windows if encoder.joins_chunks else embed_spool
        return embed(spool, unchanged, cache, encoder, context, advance)
