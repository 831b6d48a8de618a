"""Pass 2: workers with a loaded model embed windows of chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cdesearch.context.context import ContextSample
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, load_encoder
from cdesearch.errors import ModelError
from indexer.cluster.dispatch import RETRIES, completed
from indexer.cluster.parts import VECTORS, Parts
from indexer.cluster.places import WindowToDo, save_vectors, texts_of
from indexer.cluster.session import Session

AHEAD = 2  # windows that a worker has been given, so that it does not wait for the next one


@dataclass(frozen=True, slots=True)
class ModelToLoad:
    """The model as the driver has opened it."""

    path: Path | None  # None: the model that ships
    device: Device
    is_plain: bool
    fingerprint: str
    precision: str


class Embedder:
    """A worker that embeds texts with its own copy of the model."""

    def __init__(self, model: ModelToLoad) -> None:
        self._model = model

    @cached_property
    def _encoder(self) -> Encoder:
        """The model, which is loaded in the first task: Ray would report an error in `__init__` as a dead worker."""
        model = self._model
        encoder = load_encoder(model.path, model.device, fetch=False, plain=model.is_plain)
        encoder.limit_threads(1)  # there is a worker for each core
        found = encoder.fingerprint, encoder.precision
        if found != (model.fingerprint, model.precision) and model.device != "cuda":
            raise ModelError(
                "A machine of the cluster has another model, or another export of it, than this machine.",
                "Name a --model folder on a file system that all machines mount at the same path.",
            )
        return encoder

    def embed(self, parts: Parts, todo: WindowToDo, name: str, sample: ContextSample) -> int:
        """Embed the texts of a window and write their vectors; returns how many went through the model."""
        file = parts.folder / VECTORS / f"{name}.arrow"
        if file.is_file():  # a worker has ended after it wrote them, and this is the second attempt
            return 0
        texts = texts_of(parts, todo)
        save_vectors(file, list(texts), self._encoder.encode(list(texts.values()), "document", sample))
        return len(texts)


def embed_windows(
    parts: Parts, todo: Sequence[WindowToDo], files: Sequence[str], session: Session, model: ModelToLoad, sample: Any
) -> Iterator[int]:
    """Embed all windows that are `todo`; yields how many texts were embedded after each of them.

    `files` are the names of the files of vectors by number, and `sample` the context in Ray's object store.
    """
    import ray

    on_gpus = model.device == "cuda"
    n_workers = min(session.n_gpus if on_gpus else session.n_workers, len(todo))
    made: Any = ray.remote(max_restarts=RETRIES, max_task_retries=RETRIES, num_cpus=1, num_gpus=int(on_gpus))(Embedder)
    workers = [made.remote(model) for _ in range(n_workers)]
    shared = ray.put(parts)
    loads = dict.fromkeys(range(n_workers), 0)
    given: dict[int, int] = {}  # the worker of each window

    def submit(one: WindowToDo) -> Any:
        worker = min(loads, key=lambda number: loads[number])
        loads[worker] += 1
        given[one.window] = worker
        return workers[worker].embed.remote(shared, one, files[one.file], sample)

    for one, embedded in completed(submit, todo, AHEAD * n_workers):
        loads[given.pop(one.window)] -= 1
        yield embedded
    for worker in workers:
        ray.kill(worker)
