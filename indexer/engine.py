"""Where a build reads and embeds: in processes of this machine, or on a cluster (`indexer.cluster.engine`)."""

from collections.abc import Callable, Sequence
from typing import Protocol

from cdesearch.encode.encoder import Encoder
from indexer.embedding.chunk_windows import embed_windows
from indexer.embedding.embed import Embed, embed_spool
from indexer.embedding.spool import Spool
from indexer.files.outcome import Source
from indexer.read_files import FilesRead, read_files
from indexer.workers.limits import Reading
from indexer.workers.pool import Pool

Advance = Callable[[int], None]


class Engine(Protocol):
    """Reads files and embeds chunks for a build, which does everything else itself."""

    def read(self, sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        """Read files into `spool`, in their order, and close it; `advance` is called with 1 after each file."""

    @property
    def embed(self) -> Embed:
        """Embeds every text of documents that are not in a set, and yields whenever vectors are stored."""


class Local:
    """Reads in the processes of a pool, which it ends then, and embeds in this process."""

    def __init__(self, pool: Pool, encoder: Encoder) -> None:
        self._pool = pool
        self.embed = embed_windows if encoder.joins_chunks else embed_spool

    def read(self, sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        read = read_files(sources, reading, self._pool, spool, advance)
        self._pool.close()
        return read
