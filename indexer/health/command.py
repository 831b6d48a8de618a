"""The `doctor` command."""

from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.cli.named_index import FolderArgument, IndexOption, named_index
from cdesearch.terminal import counted, print_json, printable

if TYPE_CHECKING:
    from indexer.health.doctor import Diagnosis

DAMAGED = 2


def doctor(
    folder: FolderArgument = None,
    index: IndexOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the index from its sound parts.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for another run on the same index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check every byte of an index for damage. The exit code is 2 if there is any."""
    from cdesearch.slim_imports import prepare_libraries

    prepare_libraries()
    from cdesearch.cli.exits import exit_when_stopped
    from cdesearch.progress import shown_on_stderr
    from cdesearch.store.finding import opened_place
    from cdesearch.store.layout import rebuild_command
    from cdesearch.store.place import absolute, on_disk
    from indexer.health.doctor import diagnose
    from indexer.health.doctor import repair as repair_index

    place = opened_place(named_index(folder, index))
    found = absolute(on_disk(place, "doctor", f"A query names damaged objects. {rebuild_command(place)} writes all."))
    steps: list[str] = []
    remedy = f"The index is as it was{', or better' if repair else ''}. Run the same command again."
    with exit_when_stopped(remedy), shown_on_stderr() as progress:

        def report_step(step: str) -> None:
            steps.append(step)
            progress.note(step)

        if repair:
            repair_index(found, wait, progress, report_step)
        diagnosis = diagnose(found, progress)
    if as_json:
        print_json(_as_json(diagnosis, steps))
    else:
        for line in _lines(diagnosis):
            typer.echo(printable(line))
    if not diagnosis.is_sound:
        raise typer.Exit(DAMAGED)


def _lines(diagnosis: "Diagnosis") -> list[str]:
    lines = [diagnosis.problem] if diagnosis.problem else []
    live = diagnosis.live
    lines += [f"{live.generation / one.file} {one.reason}." for one in live.damages] if live else []
    for other in diagnosis.others:
        lines += [f"Kept generation, not in use: {other.generation / one.file} {one.reason}." for one in other.damages]
    if diagnosis.is_sound and live and live.manifest:
        lines += filter(None, [_lost_model(diagnosis)])
        counts = f"{counted(live.manifest.n_documents, 'document')}, {counted(live.manifest.n_chunks, 'chunk')}"
        return [*lines, f"The index in {diagnosis.folder} is sound: {counts}."]
    return [*lines, f"The index in {diagnosis.folder} is damaged. Run `cdesearch doctor --repair`."]


def _lost_model(diagnosis: "Diagnosis") -> str | None:
    """What is to be done if the model of a sound index is not where it was."""
    from cdesearch.store.index import Index

    return Index(diagnosis.folder).lost_model if diagnosis.is_sound else None


def _as_json(diagnosis: "Diagnosis", steps: list[str]) -> dict[str, object]:
    return {
        "index": str(diagnosis.folder),
        "sound": diagnosis.is_sound,
        "problem": diagnosis.problem,
        "lost_model": _lost_model(diagnosis),
        "damaged": [{"file": one.file, "reason": one.reason} for one in diagnosis.damages],
        "damaged_in_kept_generations": [
            {"generation": other.generation.name, "file": damage.file, "reason": damage.reason}
            for other in diagnosis.others
            for damage in other.damages
        ],
        "repaired": steps,
    }
