"""Repair a damaged index from its sound parts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexUntrustedError
from cdesearch.progress import Display
from cdesearch.store.checksums import MANIFEST, ChecksumsError, read_checksums
from cdesearch.store.folder import check_marker, finished_generations, removal_remedy, write_new
from cdesearch.store.layout import MARK, MARKER, lost_settings_remedy
from cdesearch.store.manifest import Manifest
from cdesearch.store.trust import require_own
from cdesearch.store.write_errors import write_error
from indexer.build import build
from indexer.generations.generation import swap_in
from indexer.generations.lock import locked
from indexer.health.doctor import diagnose
from indexer.settings import Options


def repair(folder: Path, wait: bool, progress: Display, report_step: Callable[[str], None]) -> None:
    """Make the index in `folder` sound with as little new work as possible; each step is passed to `report_step`.

    The marker is written again. If the live generation is damaged, the previous one is made live and updated. Failing
    that, the index is built again from its sources with its own settings. Raises IndexDamagedError if even the settings
    are lost.
    """
    _restore_marker(folder, report_step)
    options = Options(index=folder, wait=wait)
    with locked(folder, wait):
        found = diagnose(folder, progress)
        if found.is_sound:
            return
        if whole := next((one for one in found.others if one.is_sound), None):
            swap_in(folder, whole.generation)
            report_step("The previous generation is whole, and is live again.")
        elif found.live and found.live.manifest:
            options = replace(options, rebuild=True)
            report_step("The index is built again from its sources, with its own settings.")
        else:
            cause = found.problem or f"The index in {folder} is damaged: {found.damages[0]}."
            cause += " Its settings are lost, and no generation of it is whole."
            raise IndexDamagedError(cause, lost_settings_remedy(folder))
    report = build([], options, progress)
    counts = f"{report.chunks:,} chunks, {report.embedded:,} of them embedded now"
    report_step(f"It is up to date: {counts}." if report.changed else "It is up to date.")


def _restore_marker(folder: Path, report_step: Callable[[str], None]) -> None:
    """Write a missing or damaged marker again, without which no run locks the folder, if its generations are certain.

    Raises IndexStateError if none of them is one of this format, or if the index belongs to another user, and
    StorageError.
    """
    try:
        check_marker(folder)
    except IndexDamagedError as error:
        if not any(map(_is_of_this_format, finished_generations(folder))):
            raise IndexDamagedError(error.cause, removal_remedy(folder)) from None
        require_own(folder)
        try:
            write_new(folder / MARKER, MARK)
        except OSError as refused:
            raise write_error(folder, refused) from None
        report_step("The marker of the index was written again.")


def _is_of_this_format(generation: Path) -> bool:
    try:
        return MANIFEST in read_checksums(generation) and bool(Manifest.load(generation / MANIFEST))
    except (ChecksumsError, IndexDamagedError, IndexMismatchError, IndexUntrustedError):
        return False
