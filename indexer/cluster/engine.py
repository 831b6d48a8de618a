"""Read and embed on a Ray cluster. The machine that runs the build joins the results, as it does without one."""

import platform
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa

from cdesearch.context.context import EncodingContext
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, load_encoder
from cdesearch.errors import CdesearchError, ClusterError, InputError, ModelError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.progress import Progress
from indexer.cluster.session import Session, connected, reason_of
from indexer.embedding.embed import CONTINUES, Texts
from indexer.embedding.embedding_cache import Embedded
from indexer.embedding.spool import KEY, Spool
from indexer.files.outcome import Source
from indexer.read_files import Advance, Engine, FilesRead, read_files
from indexer.settings import Options, Settings
from indexer.workers.messages import Reading, tasks_of
from indexer.workers.pool import Pool

GROUP_BYTES = 8_000_000  # of files that one task reads, which takes seconds; a task costs half a second
GROUP_FILES = 1_000
AHEAD = 2  # windows that a worker has been given, so that it does not wait for the next one

Window = tuple[list[str], list[str]]  # the keys of texts that are embedded together, and the texts


class _Cluster:
    """Reads groups of files in tasks, and embeds windows of chunks in workers with a model."""

    def __init__(self, session: Session, settings: Settings, encoder: Encoder, device: Device) -> None:
        assert not isinstance(settings.model, EndpointModel)
        self._session = session
        on_gpus: Device = "cuda" if session.n_gpus and device == "auto" else device
        self._is_on_gpus = on_gpus == "cuda"
        self._model = settings.model, on_gpus, settings.plain, (encoder.fingerprint, encoder.precision)

    def read(self, sources: Sequence[Source], reading: Reading, spool: Spool, advance: Advance) -> FilesRead:
        """Read files into `spool`, in their order, and close it."""
        import ray

        task: Any = ray.remote(max_retries=RETRIES)(read_group)
        shared, read = ray.put(reading), FilesRead()
        groups = tasks_of(sources, GROUP_FILES, GROUP_BYTES)
        found = results(lambda group: task.remote(group, shared), groups, 2 * self._session.n_workers)
        for group, (batches, of_group) in found:
            for batch in batches:
                spool.add(batch)
            read.records += of_group.records
            read.files += of_group.files
            read.columns |= of_group.columns
            advance(len(group))
        spool.close()
        return read

    def embed(self, given: Texts) -> Iterator[None]:
        """Embed every text with workers that load the model themselves; yields whenever vectors are stored."""
        import ray

        n_workers = self._session.n_gpus if self._is_on_gpus else self._session.n_workers
        n_gpus = int(self._is_on_gpus)
        actor: Any = ray.remote(max_restarts=RETRIES, max_task_retries=RETRIES, num_cpus=1, num_gpus=n_gpus)
        workers = [actor(Embedder).remote(*self._model) for _ in range(n_workers)]
        turns, shared = cycle(workers), ray.put(given.context)
        windows = _windows_to_embed(given)
        submit: Callable[[Window], Any] = lambda window: next(turns).embed.remote(window[1], shared)  # noqa: E731
        for (keys, _), made in results(submit, windows, AHEAD * n_workers):
            given.cache.add(dict(zip(keys, made, strict=True)))
            given.advance(len(keys))
            yield
        for worker in workers:
            ray.kill(worker)


class Embedder:
    """A worker that embeds texts with its own copy of the model."""

    def __init__(self, model: Path | None, device: Device, is_plain: bool, expected: tuple[str, str]) -> None:
        """`expected` are the fingerprint and the precision of the model as the build has opened it."""
        self._model, self._device, self._is_plain, self._expected = model, device, is_plain, expected

    @cached_property
    def _encoder(self) -> Encoder:
        """The model, which is loaded in the first task: Ray would report an error in `__init__` as a dead worker."""
        encoder = load_encoder(self._model, self._device, fetch=False, plain=self._is_plain)
        encoder.limit_threads(1)  # there is a worker for each core
        if (encoder.fingerprint, encoder.precision) != self._expected and self._device != "cuda":
            raise ModelError(
                "A machine of the cluster has another model, or another export of it, than this machine.",
                "Name a --model folder on a file system that all machines mount at the same path.",
            )
        return encoder

    def embed(self, texts: list[str], context: EncodingContext) -> list[Embedded]:
        """The vectors (d,) and tokens of texts of documents."""
        made: dict[int, Embedded] = {}
        for indices, *found in self._encoder.stream(texts, "document", context):
            made |= zip(indices.tolist(), zip(*found, strict=True), strict=True)
        return [made[row] for row in range(len(texts))]


def read_group(group: list[Source], reading: Reading) -> tuple[list[pa.RecordBatch], FilesRead]:
    """The chunks of a group of files, and their outcome; raises ClusterError if this machine does not see the files."""
    top = group[0].top or group[0].file.parent
    if not top.exists():
        raise ClusterError(
            f"The machine {platform.node()} of the cluster does not see {top}.",
            "Put the files on a file system that all machines mount at the same path.",
        )
    with TemporaryDirectory(prefix="cdesearch-") as folder:
        spool = Spool(Path(folder, "chunks.arrow"))
        with Pool(1) as pool:  # a process of its own, because a hostile file may crash it or fill the memory
            read = read_files(group, reading, pool, spool, lambda _: None)
        return [window.drop_columns([KEY]) for window in spool.windows()], read


def _windows_to_embed(given: Texts) -> Iterator[Window]:
    """The texts of each window of chunks that have no vector yet and are not in an earlier window."""
    asked: set[str] = set()
    for rows in given.spool.windows(["document_id", KEY, "text"]):
        columns = (rows[name].to_pylist() for name in rows.schema.names)
        texts = {key: text for document, key, text in zip(*columns, strict=True) if document not in given.unchanged}
        todo = [key for key in given.cache.missing(texts) if key not in asked]
        asked.update(todo)
        if todo:
            yield todo, [texts[key] for key in todo]


@contextmanager
def cluster_engine(options: Options, settings: Settings, encoder: Encoder, progress: Progress) -> Iterator[Engine]:
    """The engine for one build; raises ClusterError, and InputError for a model with which a cluster cannot build."""
    if isinstance(settings.model, EndpointModel):
        raise InputError("A model on a server cannot be used with --engine ray.", "Leave --engine out.")
    if encoder.joins_chunks:
        raise InputError(
            "A model that reads the chunks of a document together cannot be used with --engine ray.",
            "Leave --engine out, or choose another model.",
        )
    progress.stage("Connecting to the cluster", None)
    with connected(options.address, options.workers) as session:
        if options.device == "cuda" and not session.n_gpus:
            raise InputError("The cluster has no GPU.", "Leave --device out.")
        cluster = _Cluster(session, settings, encoder, options.device)
        yield Engine(cluster.read, cluster.embed)


HEAD_SECONDS = 10.0  # in which the head of the cluster must answer
WAIT_SECONDS = 1.0  # between two looks for signals such as Ctrl-C
# After the death of a process or machine. Ray also restarts a worker that needs too much memory, so there is a limit.
RETRIES = 5

Input = TypeVar("Input")


def results(submit: Callable[[Input], Any], inputs: Iterable[Input], at_once: int) -> Iterator[tuple[Input, Any]]:
    """Each input with the result of its task, in order; `submit` begins a task, of which `at_once` run at a time.

    An input is taken only when its task begins. Raises CdesearchError.
    """
    waiting = iter(inputs)
    running = deque((one, submit(one)) for one in islice(waiting, at_once))
    while running:
        one, task = running.popleft()
        result = _result_of(task)
        running.extend((new, submit(new)) for new in islice(waiting, 1))
        yield one, result


def _result_of(task: Any) -> Any:
    """The result of a task; raises what the task has raised, and ClusterError if its worker died again and again."""
    import ray

    try:
        while not ray.wait([task], timeout=WAIT_SECONDS)[0]:
            _check_head(ray.get_runtime_context().gcs_address)
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, CdesearchError | OSError):  # such as that of a full disk, as on one machine
            raise error.cause from None
        raise (error.cause if isinstance(error.cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        cause = f"A worker of the cluster has failed {RETRIES + 1} times ({reason_of(error)})."
        raise ClusterError(cause, CONTINUES) from None


def _check_head(address: str) -> None:
    """Raise ClusterError if the head of the cluster has ended. Ray itself would end this process after a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), HEAD_SECONDS).close()
    except OSError:
        raise ClusterError(f"The head of the cluster, {address}, does not answer any more.", CONTINUES) from None
