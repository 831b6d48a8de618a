"""The `index` command."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from cdesearch.errors import InputError

if TYPE_CHECKING:
    from indexer.build import Report

SHOWN_SKIPS = 10
SKIPPED_FILES = 3
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def index(
    paths: Annotated[list[Path] | None, typer.Argument(help="Folders and files; none: update the index here.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--index", help="Index folder; default: .cdesearch in the folder.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Checkpoint folder; default: the one that ships.")] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Where the model runs.")] = "auto",
    text_column: Annotated[str | None, typer.Option(help="Column of the text in JSONL, CSV, Parquet.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the id.")] = None,
    title_column: Annotated[str | None, typer.Option(help="Column of the title.")] = None,
    max_file_size: Annotated[str, typer.Option(help="Skip larger files.")] = "20MB",
    context_size: Annotated[int | None, typer.Option(min=1, help="Chunks of context; default: the model's.")] = None,
    seed: Annotated[int, typer.Option(help="Of the context sample.")] = 0,
    rebuild: Annotated[bool, typer.Option(help="Start from nothing.")] = False,
    refresh_context: Annotated[bool, typer.Option(help="Sample the context anew and embed again.")] = False,
    strict: Annotated[bool, typer.Option(help="Exit 3 where files were skipped.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait for another run on the same index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Index folders and files, or bring their index up to date."""
    from cdesearch.index import Index, find_index
    from indexer.build import Options, build, options_of
    from indexer.formats.records import Columns

    options = Options(
        index=folder,
        model=model,
        device=device,
        columns=Columns(text_column, id_column, title_column),
        max_file_bytes=_bytes(max_file_size),
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        wait=wait,
    )
    if not paths:
        manifest = Index(folder or find_index(Path.cwd())).manifest
        paths, options = [Path(source) for source in manifest.sources], options_of(manifest, options)
    try:
        with _shown_progress() as progress:
            report = build(paths, options, progress)
    except KeyboardInterrupt:
        print("Stopped. What is embedded is kept: the same command continues.", file=sys.stderr)  # noqa: T201
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(_as_json(report), ensure_ascii=False))
    else:
        _summarise(report, paths)
    if strict and report.skipped:
        raise typer.Exit(SKIPPED_FILES)


def build_quietly(paths: list[Path]) -> Path:
    """Build or update the index of `paths` without a word; returns its folder."""
    from indexer.build import Options, build

    return build(paths, Options(), _Silent()).folder


class _Silent:
    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002
        """Show nothing."""
        return lambda _: None


class _Shown:
    """Progress bars on stderr, one at a time."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage and hide the one before."""
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(name, total=total)
        return lambda n: self._bars.advance(task, n)


@contextmanager
def _shown_progress() -> Iterator[_Shown | _Silent]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Silent()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Shown(bars)


def _bytes(size: str) -> int:
    number = size.lower().removesuffix("b")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        return int(float(number.removesuffix(unit)) * UNITS[unit])
    except (ValueError, KeyError):
        raise InputError(f"{size} is no file size.", "Write one such as 20MB.") from None


def _summarise(report: "Report", paths: list[Path]) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if not report.changed:
        console.print(f"Nothing has changed: {report.n_documents:,} documents, {report.n_chunks:,} chunks.")
    else:
        console.print(
            f"{report.n_documents:,} documents, {report.n_chunks:,} chunks"
            f" ({report.embedded:,} embedded) in {report.seconds:.1f} s."
        )
    if report.skipped:
        console.print(f"{len(report.skipped)} files skipped:")
        for item in report.skipped[:SHOWN_SKIPS]:
            console.print(
                f"  {ascii(item.path)[1:-1] if not item.path.isprintable() else item.path}: {item.reason}",
                markup=False,
            )
        if len(report.skipped) > SHOWN_SKIPS:
            console.print(f"  and {len(report.skipped) - SHOWN_SKIPS} more")
    where = "" if paths and Path.cwd().is_relative_to(report.folder.parent) else f" --index {report.folder}"
    console.print(f'Next: cdesearch query{where} "your question"')


def _as_json(report: "Report") -> dict[str, object]:
    return {
        "index": str(report.folder),
        "documents": report.n_documents,
        "chunks": report.n_chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "changed": report.changed,
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
    }
