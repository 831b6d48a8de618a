"""The `index` command."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from cdesearch.errors import InputError
from indexer.formats import UNKNOWN_FORMAT

if TYPE_CHECKING:
    from indexer.build import Report

SHOWN_REASONS = 10
SHOWN_PATHS = 3
SKIPPED_FILES = 3
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def index(
    paths: Annotated[list[Path] | None, typer.Argument(help="Folders and files; none: update the index here.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--index", help="Index folder; default: .cdesearch in the folder.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Checkpoint folder, or id such as jxm/cde-small-v2; default: the one that ships."),
    ] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where the model runs.")] = "auto",
    text_column: Annotated[str | None, typer.Option(help="Column of the text in JSONL, CSV, Parquet.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the id.")] = None,
    title_column: Annotated[str | None, typer.Option(help="Column of the title.")] = None,
    document_column: Annotated[
        str | None,
        typer.Option(help="Column of the document that records are chunks of; default: the id before `::`."),
    ] = None,
    max_file_size: Annotated[str | None, typer.Option(help="Skip larger files; default: 20MB.")] = None,
    context_size: Annotated[int | None, typer.Option(min=1, help="Chunks of context; default: the model's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the context sample; default: 0.")] = None,
    rebuild: Annotated[bool, typer.Option(help="Start from nothing.")] = False,
    refresh_context: Annotated[bool, typer.Option(help="Sample the context anew and embed again.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            help="Exit 3 where files were skipped: what is neither indexed nor ignored. Ignored are hidden files, what"
            " ignore files name, links, and files without text such as images."
        ),
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait for another run on the same index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Index folders and files, or bring their index up to date."""
    from cdesearch.progress import shown_on_stderr
    from cdesearch.terminal import print_json
    from indexer.build import build
    from indexer.formats.records import Columns
    from indexer.settings import Options

    options = Options(
        index=folder,
        model=model,
        device=device,
        columns=Columns(text_column, id_column, title_column, document_column),
        max_file_bytes=None if max_file_size is None else _bytes(max_file_size),
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        wait=wait,
    )
    try:
        with shown_on_stderr() as progress:
            report = build(paths or [], options, progress)
    except KeyboardInterrupt:
        print("Stopped. What is embedded is kept: the same command continues.", file=sys.stderr)  # noqa: T201
        raise typer.Exit(130) from None
    if as_json:
        print_json(_as_json(report))
    else:
        _summarise(report)
    if strict and report.skipped:
        raise typer.Exit(SKIPPED_FILES)


def build_quietly(paths: list[Path]) -> Path:
    """Build or update the index of `paths` without a word; returns its folder."""
    from cdesearch.progress import Silent
    from indexer.build import build
    from indexer.settings import Options

    return build(paths, Options(), Silent()).folder


def _bytes(size: str) -> int:
    number = size.lower().removesuffix("b")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        return int(float(number.removesuffix(unit)) * UNITS[unit])
    except (ValueError, KeyError):
        raise InputError(f"{size} is no file size.", "Write one such as 20MB.") from None


def _summarise(report: "Report") -> None:
    from cdesearch.store.index import FOLDER
    from cdesearch.terminal import printable

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if not report.changed:
        console.print(f"Nothing has changed: {report.n_documents:,} documents, {report.n_chunks:,} chunks.")
    else:
        console.print(
            f"{report.n_documents:,} documents, {report.n_chunks:,} chunks"
            f" ({report.embedded:,} embedded) in {report.seconds:.1f} s, {report.size_bytes / 1e6:,.1f} MB on disk."
        )
    if report.note:
        console.print(printable(report.note), markup=False)
    is_found = report.folder.name == FOLDER and Path.cwd().is_relative_to(report.folder.parent)
    where = "" if is_found else printable(f" --index {shlex.quote(str(report.folder))}")
    if report.skipped:
        console.print(
            f"Skipped: {len(report.skipped):,}. `cdesearch status{where} --files --skipped` lists them.", markup=False
        )
        for line in _reasons(report):
            console.print(f"  {line}", markup=False)
    if report.n_files["ignored"]:
        console.print(
            f"Ignored: {report.n_files['ignored']:,}. `cdesearch status{where} --files` says by which rules.",
            markup=False,
        )
    console.print(f'Next: cdesearch query{where} "your question"', markup=False)


def _reasons(report: "Report") -> list[str]:
    """A line for each reason, the most frequent first."""
    from cdesearch.terminal import printable

    by_reason: dict[str, list[str]] = {}
    formats: Counter[str] = Counter()
    for item in report.skipped:
        _, is_unknown, suffix = item.reason.partition(f"{UNKNOWN_FORMAT} ")
        if is_unknown:
            formats[suffix] += 1
        else:
            by_reason.setdefault(item.reason, []).append(item.path)
    lines = [(len(paths), f"{len(paths):,} {reason}: {_some(paths)}") for reason, paths in by_reason.items()]
    if formats:
        named = [f"{count:,} {suffix}" for suffix, count in formats.most_common()]
        n_formats = formats.total()
        lines.append(
            (n_formats, f"{n_formats:,} {UNKNOWN_FORMAT}{'s' if n_formats > 1 else ''}: {_some(named, SHOWN_REASONS)}")
        )
    lines.sort(key=lambda line: -line[0])
    shown = [printable(line) for _, line in lines[:SHOWN_REASONS]]
    if len(lines) > SHOWN_REASONS:
        left = sum(count for count, _ in lines[SHOWN_REASONS:])
        shown.append(f"{left:,} for other reasons")
    return shown


def _some(names: Sequence[str], most: int = SHOWN_PATHS) -> str:
    """The first few, and how many more there are."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _as_json(report: "Report") -> dict[str, object]:
    reasons = Counter(item.reason for item in report.skipped)
    return {
        "index": str(report.folder),
        "documents": report.n_documents,
        "chunks": report.n_chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "bytes": report.size_bytes,
        "changed": report.changed,
        "files": report.n_files,
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
        "skipped_by_reason": dict(reasons.most_common()),
    }
