"""The `index` command."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cdesearch.cli.exits import exit_when_stopped
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import parse_model, with_details
from cdesearch.store.bucket_address import parse_place, shown_place
from cdesearch.store.vector_format import VectorKind

if TYPE_CHECKING:
    from cdesearch.encode.encoder import Encoder
    from indexer.build import Report
    from indexer.files.outcome import Skipped
    from indexer.settings import Options

SHOWN_REASONS = 10
SHOWN_PATHS = 3
SKIPPED_FILES = 3
COLUMN_OPTION = re.compile(r"\((--\w+-column)\)")  # in the reason for which a file of records was skipped
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(readable=False, help="Folders and files. Without any, the nearest index upward is updated."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--index",
            metavar="<path>",
            parser=parse_place,
            help="Index folder, or s3://BUCKET/PREFIX (also gs://, az://); default: .cdesearch in the folder.",
        ),
    ] = None,
    model: Annotated[
        Any,  # a Path or an EndpointModel, because typer knows no unions
        typer.Option(
            parser=parse_model,
            metavar="MODEL",
            show_default=False,
            help="Checkpoint folder, or id such as jxm/cde-small-v2; default: that of the index, and for a new one the"
            " model that ships, which is also named `default`. A URL such as http://127.0.0.1:8080/v1 is that of a"
            " server with an OpenAI-compatible embeddings API, which receives the texts. The key, if any, is read from"
            " $CDESEARCH_MODEL_KEY.",
        ),
    ] = None,
    model_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model of this server, or of that of the index.")
    ] = None,
    query_prefix: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Put before each query by a model on a server, such as 'query: ' for E5."),
    ] = None,
    document_prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Put before each chunk, such as 'passage: ' for E5.")
    ] = None,
    plain: Annotated[
        bool | None,
        typer.Option(
            "--plain/--no-plain",
            help="Use a published model as it is, without statistics of the corpus and document context.",
        ),
    ] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Device of the model.")] = "auto",
    text_column: Annotated[str | None, typer.Option(help="Column of the text in JSONL, CSV and Parquet files.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the id.")] = None,
    title_column: Annotated[str | None, typer.Option(help="Column of the title.")] = None,
    document_column: Annotated[
        str | None,
        typer.Option(help="Column that names the document of a record; default: the part of its id before `::`."),
    ] = None,
    max_file_size: Annotated[str | None, typer.Option(help="Skip larger files; default: 20MB.")] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Read only files that match, such as '*.py' or docs/; repeatable. A name without wildcards is read"
            " even if a program has written it. The index keeps the globs; an empty --include= removes them.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Leave out files and folders that match, as a line of .cdesearchignore; repeatable. '!GLOB' also reads"
            " lock files, build folders and other files that programs have written. Kept until --exclude=.",
        ),
    ] = None,
    ocr: Annotated[
        bool | None,
        typer.Option("--ocr/--no-ocr", help="Recognise text in scanned PDFs, PNG and JPEG (extra `ocr`)."),
    ] = None,
    vectors: Annotated[
        VectorKind | None,
        typer.Option(
            help="How vectors are stored; default: float16. Compared with float32, an index is about a sixth smaller"
            " with float16, a quarter with int8 and a third with binary; texts and the index of words keep their size."
            " float16 and int8 have almost the hits of float32; binary finds less. Kept until --rebuild PATH."
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Keep only the first N principal components of the vectors of the corpus, which makes vectors smaller"
            " and finds a little less; default: all dimensions of the model. Kept until --rebuild PATH.",
        ),
    ] = None,
    context_size: Annotated[int | None, typer.Option(min=1, help="Chunks to sample; default: the model's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the context sample; default: 0.")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build the index again from the start.")] = False,
    refresh_context: Annotated[
        bool, typer.Option("--refresh-context", help="Sample a new context and embed all texts again.")
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="`ray` builds a new index on a Ray cluster (extra `scale`), which must see the same files."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="auto|HOST:PORT",
            show_default=False,
            help="The Ray cluster: `auto` is the one of this machine; default: one that is started for this run.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Workers of the cluster at the same time; default: as many as it has cores.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 3 if files or lines of JSONL were skipped. Ignored files do not count: hidden files,"
            " those that ignore files name, links, and files without text such as images.",
        ),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for another run on the same index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Index files and folders, or update an index. Only new and changed files are read."""
    from cdesearch.slim_imports import shorten_cold_start
    from cdesearch.terminal import print_json, printable

    shorten_cold_start()
    # NumPy reads this when it is imported. On a busy machine, the threads of OpenBLAS wait for one another: with two
    # threads the whitening takes 5 to 13 s, with one 0.2 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from indexer.formats.format import Columns
    from indexer.settings import Options

    options = Options(
        index=folder,
        model=with_details(model, model_name, query_prefix, document_prefix),
        plain=plain,
        device=device,
        columns=Columns(text_column, id_column, title_column, document_column),
        max_file_bytes=None if max_file_size is None else _bytes(max_file_size),
        include=None if include is None else tuple(filter(None, include)),
        exclude=None if exclude is None else tuple(filter(None, exclude)),
        has_ocr=ocr,
        vectors=vectors,
        dimension=dimension,
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        wait=wait,
        engine=engine,
        address=address,
        workers=workers,
    )
    report = _build_with_progress(paths or [], options)
    if report.note:
        typer.echo(printable(report.note), err=True)
    if as_json:
        print_json(_as_json(report))
    else:
        _summarise(report)
    if strict and (report.skipped or report.in_part):
        raise typer.Exit(SKIPPED_FILES)


def _build_with_progress(paths: list[Path], options: "Options") -> "Report":
    """Build or update the index with progress on stderr. Ctrl-C and SIGTERM end it with one line."""
    from cdesearch.progress import shown_on_stderr
    from indexer.build import build

    remedy = "The same command continues, and reuses every finished embedding."
    with exit_when_stopped(remedy), shown_on_stderr() as progress:
        return build(paths, options, progress)


def build_quietly(
    paths: list[Path],
    *,
    columns: dict[str, str | None],
    max_file_size: str | int | None,
    encoder: "Encoder | None" = None,
    **options: Any,
) -> "Report":
    """Build or update the index of `paths` silently. `options` are fields of Options; `encoder` is a loaded model."""
    from cdesearch.progress import Silent
    from indexer.build import build
    from indexer.formats.format import Columns
    from indexer.settings import Options
    from indexer.warm import Given

    limit = _bytes(max_file_size) if isinstance(max_file_size, str) else max_file_size
    given = Options(columns=Columns(**columns), max_file_bytes=limit, **options)
    return build(paths, given, Silent(), Given(encoder))


def _bytes(size: str) -> int:
    number = size.lower().removesuffix("b")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        n_bytes = int(float(number.removesuffix(unit)) * UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        n_bytes = 0
    if n_bytes < 1:
        raise InputError(f"{size} is not a file size.", "Write one such as 20MB.")
    return n_bytes


def _summarise(report: "Report") -> None:
    from cdesearch.store.folder import FOLDER
    from cdesearch.terminal import counted, open_console, printable

    console = open_console(stderr=True)
    console.soft_wrap = not console.is_terminal  # a terminal would break lines within words
    documents, chunks = counted(report.n_documents, "document"), counted(report.n_chunks, "chunk")
    if not report.changed:
        console.print(f"Nothing has changed: {documents}, {chunks}.")
    else:
        without_text = f" ({n_empty:,} without text)" if (n_empty := report.n_without_text) else ""
        console.print(
            f"{documents}{without_text}, {chunks} ({report.embedded:,} embedded) in {report.seconds:.1f} s,"
            f" {report.size_bytes / 1e6:,.1f} MB on disk."
        )
    is_found = report.folder.name == FOLDER and Path.cwd().is_relative_to(report.folder.parent)
    where = "" if is_found else printable(f" --index {shlex.quote(shown_place(report.folder))}")
    if report.skipped:
        console.print(f"Skipped: {len(report.skipped):,}. `cdesearch status{where} --files --skipped` lists them.")
        for line in _reasons(report.skipped):
            console.print(f"  {line}")
    if report.in_part:
        console.print(f"Read in part: {len(report.in_part):,}. `cdesearch status{where} --files --skipped` lists them.")
        for line in _reasons(report.in_part):
            console.print(f"  {line}")
    if report.dropped:
        console.print(_dropped(report.dropped, report.folder))
    if report.n_files["ignored"]:
        console.print(
            f"Ignored: {report.n_files['ignored']:,}. `cdesearch status{where} --files` lists the rules.",
        )
    for line in report.language_notes:
        console.print(printable(line), soft_wrap=True)
    if report.advice:
        console.print(printable(report.advice), soft_wrap=True)
    if not report.n_chunks:
        return
    # On one line even in a narrow terminal, so that it can be copied.
    console.print(f'Next: cdesearch query{where} "your question"', soft_wrap=True)


def _dropped(files: "Sequence[Skipped]", folder: Path) -> str:
    """One line about existing files that were in the index before and no longer are."""
    from cdesearch.store.fresh_build import fresh_build_command
    from cdesearch.store.index import Index
    from cdesearch.terminal import printable

    are = "file that was indexed before is" if len(files) == 1 else "files that were indexed before are"
    reasons = list(dict.fromkeys(file.reason.partition("; ")[0] for file in files))  # without the list of columns
    which = "" if len(reasons) == 1 else "the first: "
    line = f"{len(files):,} {are} no longer in the index: {_some([file.path for file in files])} ({which}{reasons[0]})."
    if option := next(filter(None, map(COLUMN_OPTION.search, reasons)), None):
        index = Index(folder)
        line += (
            " Column options apply to all files of an index. Name a column that all of them have:"
            f" `cdesearch index --index {shlex.quote(shown_place(folder))} {option[1]} NAME`. If there is none, give"
            f" these files an index of their own (--index), or return to the usual names of columns:"
            f" {fresh_build_command(folder, index.manifest, index.sources)}."
        )
    return printable(line)


def _reasons(skipped: "Sequence[Skipped]") -> list[str]:
    """A line for each reason, the most frequent one first."""
    from cdesearch.terminal import printable
    from indexer.files.outcome import UNKNOWN_FORMAT

    by_reason: dict[str, list[str]] = {}
    formats: Counter[str] = Counter()
    for item in skipped:
        _, is_unknown, suffix = item.reason.partition(f"{UNKNOWN_FORMAT} ")
        if is_unknown:
            formats[suffix] += 1
        else:
            by_reason.setdefault(item.reason, []).append(item.path)
    lines = [(len(paths), f"{_some(paths)}: {reason}") for reason, paths in by_reason.items()]
    if formats:
        named = [f"{count:,} {suffix}" for suffix, count in formats.most_common()]
        lines.append((formats.total(), f"{_some(named, SHOWN_REASONS)}: {UNKNOWN_FORMAT}"))
    lines.sort(key=lambda line: -line[0])
    shown = [printable(line) for _, line in lines[:SHOWN_REASONS]]
    if len(lines) > SHOWN_REASONS:
        left = sum(count for count, _ in lines[SHOWN_REASONS:])
        shown.append(f"{left:,} for other reasons")
    return shown


def _some(names: Sequence[str], most: int = SHOWN_PATHS) -> str:
    """The first `most` names, and how many more there are."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _as_json(report: "Report") -> dict[str, object]:
    reasons = Counter(item.reason for item in report.skipped)
    return {
        "index": shown_place(report.folder),
        "documents": report.n_documents,
        "chunks": report.n_chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "bytes": report.size_bytes,
        "changed": report.changed,
        "languages": report.languages,
        "language_notes": list(report.language_notes),
        "files": report.n_files,
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
        "read_in_part": [{"path": item.path, "reason": item.reason} for item in report.in_part],
        "dropped": [{"path": item.path, "reason": item.reason} for item in report.dropped],
        "skipped_by_reason": dict(reasons.most_common()),
    }
