"""The `index` command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cdesearch.builders import BuildReport
from cdesearch.cli.exits import exit_when_stopped
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import parse_model, with_details
from cdesearch.store.place import Place, parse_place
from cdesearch.store.vector_format import VectorKind

if TYPE_CHECKING:
    from cdesearch.encode.encoder import Encoder

SKIPPED_FILES = 3
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def index(
    paths: Annotated[
        list[Any] | None,  # of Place, because typer knows no unions
        typer.Argument(
            metavar="paths",
            parser=parse_place,
            help="Folders and files, also those below s3://BUCKET/PREFIX (gs://, az://). Without any, the nearest index"
            " upward is updated.",
        ),
    ] = None,
    folder: Annotated[
        Any,  # a Place
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
            " model that ships, which is also named `default`. `multilingual` is intfloat/multilingual-e5-small. A URL"
            " such as http://127.0.0.1:8080/v1 is that of a server with an OpenAI-compatible embeddings API, which"
            " receives the texts. The key, if any, is read from $CDESEARCH_MODEL_KEY.",
        ),
    ] = None,
    model_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the model on this server, or on that of the index.")
    ] = None,
    query_prefix: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Text before each query for a model on a server, such as 'query: ' for E5."),
    ] = None,
    document_prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text before each chunk, such as 'passage: ' for E5.")
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
            help="How vectors are stored; default: float16. Compared with float32, an index is about a fifth smaller"
            " with float16, two thirds with int8 and three quarters with binary. float16 and int8 have almost the hits"
            " of float32; binary finds less. Kept until --rebuild PATH."
        ),
    ] = None,
    context_size: Annotated[int | None, typer.Option(min=1, help="Chunks to sample; default: the model's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the context sample; default: 0.")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build the index again from the start.")] = False,
    refresh_context: Annotated[
        bool,
        typer.Option(
            "--refresh-context",
            help="Sample a new context. Nothing is embedded again, unless the model's networks attend to the context"
            " (released CDE models), or vectors are int8 or binary.",
        ),
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
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for another run on the same index, as a query may start one.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Index files and folders, or update an index. Only new and changed files are read."""
    from cdesearch.slim_imports import shorten_cold_start
    from cdesearch.terminal import print_json, printable
    from indexer.summary import report_fields, summarise

    shorten_cold_start()
    from cdesearch.progress import shown_on_stderr
    from indexer.build import build
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
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        wait=wait,
        engine=engine,
        address=address,
        workers=workers,
    )
    remedy = "The same command continues, and reuses every finished embedding."
    with exit_when_stopped(remedy), shown_on_stderr() as progress:
        report = build(paths or [], options, progress)
    if report.note:
        typer.echo(printable(report.note), err=True)
    if as_json:
        print_json(report_fields(report))
    else:
        summarise(report)
    if strict and (report.skipped or report.read_in_part):
        raise typer.Exit(SKIPPED_FILES)


def build_quietly(
    paths: Sequence[Place],
    *,
    columns: dict[str, str | None],
    max_file_size: str | int | None,
    encoder: "Encoder | None" = None,
    **options: Any,
) -> BuildReport:
    """Build or update the index of `paths` silently. `options` are fields of Options; `encoder` is a loaded model."""
    from cdesearch.progress import Silent
    from indexer.build import build
    from indexer.formats.format import Columns
    from indexer.settings import Options
    from indexer.warm import Warm

    limit = _bytes(max_file_size) if isinstance(max_file_size, str) else max_file_size
    given = Options(columns=Columns(**columns), max_file_bytes=limit, **options)
    return build(paths, given, Silent(), Warm(encoder))


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
