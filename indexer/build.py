"""A folder to an index, top to bottom."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cdesearch.context import Context, TokenFrequencies
from cdesearch.encoder import Device, Encoder, load_encoder
from cdesearch.errors import SourceError
from cdesearch.index import FOLDER, Index
from cdesearch.manifest import Manifest
from indexer.chunk import Chunker
from indexer.embed import embed_spool
from indexer.formats.records import Columns
from indexer.formats.unreadable import UnreadableError
from indexer.generation import locked, open_building, swap_in
from indexer.plan import Plan, hash_bytes, make_plan
from indexer.read import load, read
from indexer.sample import sample_context
from indexer.spool import Spool
from indexer.walk import Skipped, Source, find_sources
from indexer.write import Tables

COUNTED_CHUNKS = 20_000  # enough for token frequencies


@dataclass(frozen=True, slots=True)
class Options:
    """How to build."""

    index: Path | None = None  # the index folder; None: `.cdesearch` beside the documents
    model: Path | None = None
    device: Device = "auto"
    columns: Columns = field(default_factory=Columns)
    max_file_bytes: int = 20_000_000
    context_size: int | None = None  # None: what the model was made for
    seed: int = 0
    rebuild: bool = False
    refresh_context: bool = False
    wait: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did."""

    folder: Path
    n_documents: int
    n_chunks: int
    embedded: int
    skipped: tuple[Skipped, ...]
    seconds: float
    changed: bool


class Progress(Protocol):
    """Where progress is shown."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage; the result is called with how many more are done."""


def build(paths: Sequence[Path], options: Options, progress: Progress) -> Report:
    """Index `paths`, or bring their index up to date; raises CdesearchError. Ctrl-C keeps what is embedded."""
    started = time.monotonic()
    paths = [path.absolute() for path in paths]
    for path in paths:
        if not path.exists():
            raise SourceError(f"There is no folder or file {path}.", "Check the spelling.")
    root = index_root(paths)
    folder = options.index or root / FOLDER
    encoder = load_encoder(options.model, options.device)
    with locked(folder, options.wait):
        base = _base(folder, encoder, options)
        full = base is None or options.refresh_context
        found = find_sources(paths, root, options.max_file_bytes)
        plan = make_plan(found, None if full else base, _counter(progress.stage("Looking for files", None)))
        if base is not None and not full and not plan.to_read and not plan.gone:
            return _report(folder, base.manifest, plan, 0, started, changed=False)
        building = open_building(
            folder, None if full else base.generation if base else None, _key(encoder, options, base)
        )
        spool = Spool(building / "spool.arrow")
        records = plan.kept + _read_all(plan, spool, Chunker(encoder.tokenizer, encoder.max_tokens), options, progress)
        if not records:
            raise SourceError(f"Nothing readable in {', '.join(map(str, paths))}.", _why(plan))
        context = _context(building, spool, encoder, options, base, progress)
        tables = Tables(building, encoder.dimension)
        embedded = _fill(tables, spool, plan, encoder, context, progress)
        tables.write_documents(records)
        progress.stage("Indexing words", None)
        tables.finish()
        manifest = _manifest(base, root, paths, encoder, context, options, plan, tables.chunks.count_rows(), records)
        manifest.save(building / "manifest.json")
        (building / "spool.arrow").unlink()
        swap_in(folder, building)
        return _report(folder, manifest, plan, embedded, started, changed=True)


def index_root(paths: Sequence[Path]) -> Path:
    """The deepest folder that holds all of `paths`; paths of chunks are relative to it."""
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))


def _base(folder: Path, encoder: Encoder, options: Options) -> Index | None:
    """The live generation to build on, or None; raises where it is damaged or another model's, unless rebuilding."""
    if options.rebuild or not (folder / "CURRENT").is_file():
        return None
    base = Index(folder)
    base.check_encoder(encoder)
    return base


def _key(encoder: Encoder, options: Options, base: Index | None) -> dict[str, Any]:
    """What must be the same for an unfinished build to be continued."""
    return {
        "model": encoder.fingerprint,
        "base": base.generation.name if base else None,
        "refresh": options.refresh_context,
        "seed": options.seed,
        "context_size": options.context_size,
    }


def _read_all(plan: Plan, spool: Spool, chunker: Chunker, options: Options, progress: Progress) -> list[dict[str, Any]]:
    """Read and chunk what the plan says, into the spool; returns the records of what was read."""
    advance = progress.stage("Reading", len(plan.to_read))
    records = []
    for source in plan.to_read:
        try:
            records += _read_one(source, spool, chunker, options.columns)
        except UnreadableError as error:
            plan.skipped.append(Skipped(source.path, str(error)))
        advance(1)
    spool.close()
    return records


def _read_one(source: Source, spool: Spool, chunker: Chunker, columns: Columns) -> list[dict[str, Any]]:
    data = load(source)
    stamp = {
        "path": source.path,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "file_hash": hash_bytes(data),
    }
    records = []
    for document in read(source, data, columns):
        chunks = chunker.split(document)
        spool.add(chunks)
        records.append({"id": document.id, "title": document.title, "n_chunks": len(chunks), **stamp})
    return records


def _context(
    building: Path, spool: Spool, encoder: Encoder, options: Options, base: Index | None, progress: Progress
) -> Context:
    """The stored context, or a fresh sample of the spooled corpus."""
    file = building / "context.safetensors"
    if file.is_file():
        return Context.load(file)
    size = options.context_size or encoder.context_size
    pairs = (
        pair
        for window in spool.windows(["id", "document_id"])
        for pair in zip(window["id"].to_pylist(), window["document_id"].to_pylist(), strict=True)
    )
    chosen = set(sample_context(pairs, size, options.seed))
    step = max(1, -(-spool.n_chunks // COUNTED_CHUNKS))
    frequencies = TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, np.int64), 0)
    sampled: dict[str, tuple[str, str]] = {}
    advance = progress.stage("Counting words", spool.n_chunks)
    for window in spool.windows(["id", "content_hash", "text"]):
        ids, hashes, texts = (window[name].to_pylist() for name in ("id", "content_hash", "text"))
        frequencies += encoder.count_tokens(texts[::step])
        sampled |= {i: (content, text) for i, content, text in zip(ids, hashes, texts, strict=True) if i in chosen}
        advance(len(ids))
    context = _make_context(sampled, frequencies, encoder, options.seed, base, progress)
    context.save(file)
    return context


def _make_context(
    sampled: dict[str, tuple[str, str]],
    frequencies: TokenFrequencies,
    encoder: Encoder,
    seed: int,
    base: Index | None,
    progress: Progress,
) -> Context:
    progress.stage("First stage: the context", None)
    ids = sorted(sampled)
    hashes, texts = [sampled[i][0] for i in ids], [sampled[i][1] for i in ids]
    known = dict(zip(base.context.content_hashes, base.context.vectors, strict=True)) if base else {}
    vectors = np.zeros((len(ids), encoder.dimension), np.float32)
    fresh = [row for row, content in enumerate(hashes) if content not in known]
    vectors[fresh] = encoder.first_stage([texts[row] for row in fresh])
    for row, content in enumerate(hashes):
        if content in known:
            vectors[row] = known[content]
    return encoder.make_context(ids, hashes, texts, vectors, frequencies, seed)


def _fill(tables: Tables, spool: Spool, plan: Plan, encoder: Encoder, context: Context, progress: Progress) -> int:
    """Make the chunks table hold what the plan and the spool say, whatever an earlier run left in it."""
    there = tables.ids_by_path()
    kept = {record["path"] for record in plan.kept}
    old = {chunk for path, ids in there.items() if path not in kept for chunk in ids}
    known = tables.vectors_of(plan.touched) if old else {}
    embedded = embed_spool(spool, tables, old, known, encoder, context, progress.stage("Embedding", spool.n_chunks))
    wanted = {chunk for window in spool.windows(["id"]) for chunk in window["id"].to_pylist()}
    tables.delete(old - wanted)
    return embedded


def _manifest(
    base: Index | None,
    root: Path,
    paths: Sequence[Path],
    encoder: Encoder,
    context: Context,
    options: Options,
    plan: Plan,
    n_chunks: int,
    records: list[dict[str, Any]],
) -> Manifest:
    now = time.time()
    return Manifest(
        model=str(options.model.resolve()) if options.model else None,
        model_fingerprint=encoder.fingerprint,
        context_fingerprint=context.fingerprint,
        context_size=len(context.chunk_ids),
        seed=context.seed,
        max_tokens=encoder.max_tokens,
        root=str(root),
        sources=tuple(map(str, paths)),
        columns=asdict(options.columns),
        max_file_bytes=options.max_file_bytes,
        n_documents=len(records),
        n_chunks=n_chunks,
        created=base.manifest.created if base else now,
        updated=now,
        skipped=tuple((item.path, item.reason) for item in plan.skipped),
    )


def _report(folder: Path, manifest: Manifest, plan: Plan, embedded: int, started: float, *, changed: bool) -> Report:
    return Report(
        folder=folder,
        n_documents=manifest.n_documents,
        n_chunks=manifest.n_chunks,
        embedded=embedded,
        skipped=tuple(plan.skipped),
        seconds=time.monotonic() - started,
        changed=changed,
    )


def _why(plan: Plan) -> str:
    if not plan.skipped:
        return "There is no file of a known format that the ignore files let through."
    first = plan.skipped[0]
    return f"{len(plan.skipped)} skipped, the first: {first.path} ({first.reason})."


def _counter(advance: Callable[[int], None]) -> Callable[[], None]:
    return lambda: advance(1)


def options_of(manifest: Manifest, options: Options) -> Options:
    """`options` with what the index was built with: an update needs nothing repeated."""
    return replace(
        options,
        model=Path(manifest.model) if manifest.model else None,
        columns=Columns(**manifest.columns),
        max_file_bytes=manifest.max_file_bytes,
        seed=manifest.seed,
    )
