"""Examine an index by comparing all files of its generations with their checksums, and repair it from sound parts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cdesearch.errors import (
    IndexDamagedError,
    IndexMismatchError,
    IndexStateError,
    IndexUnreadableError,
    IndexUntrustedError,
)
from cdesearch.progress import Display, Progress, Silent
from cdesearch.store.checksums import MANIFEST, ChecksumsError, read_checksums
from cdesearch.store.damage import Damage, find_damage
from cdesearch.store.folder import (
    finished_generations,
    generations_in,
    named_generation,
)
from cdesearch.store.guard import (
    TABLES,
    check_not_linked,
    check_tables,
    check_tree,
    unreadable,
)
from cdesearch.store.layout import (
    CHECKSUMS,
    GENERATIONS,
    lost_settings_remedy,
)
from cdesearch.store.manifest import Manifest
from cdesearch.store.storage import current_generation
from indexer.build import build
from indexer.generations.generation import swap_in
from indexer.generations.lock import locked
from indexer.settings import Options


@dataclass(frozen=True)
class Examined:
    """One finished generation and what is wrong with it."""

    generation: Path
    damages: tuple[Damage, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every file is as it was written."""
        return not self.damages

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest of the generation; None if it is damaged, or cannot be compared with its checksum."""
        if any(damage.file in (MANIFEST, CHECKSUMS) for damage in self.damages):
            return None
        try:
            return Manifest.load(self.generation / MANIFEST)
        except IndexDamagedError:
            return None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of examining an index."""

    folder: Path
    problem: str  # why no generation is live, or ""
    live: Examined | None
    others: tuple[Examined, ...]  # finished generations that are not live, the newest first

    @property
    def damages(self) -> tuple[Damage, ...]:
        """The damages of the live generation."""
        return self.live.damages if self.live else ()

    @property
    def is_sound(self) -> bool:
        """Whether queries are answered as they were when the index was written."""
        return not self.problem and self.live is not None and self.live.is_sound


def diagnose(folder: Path, progress: Progress | None = None) -> Diagnosis:
    """Compare every file of every finished generation with its checksum; raises IndexStateError if there is none.

    Raises IndexUnreadableError if the system refuses to read a file now, which says nothing about damage. Raises
    IndexUntrustedError if a generation contains links or names data elsewhere: it is then not damaged but
    forged, and neither read nor repaired. The files that were read are counted in stages of `progress`.
    """
    problem = ""
    check_not_linked(folder)
    check_not_linked(folder / GENERATIONS)
    try:
        current_generation(folder)
    except (IndexMismatchError, IndexUnreadableError, IndexUntrustedError):
        raise
    except IndexStateError as error:
        problem = error.cause
    live, finished = _live(folder), finished_generations(folder)
    if problem and live is None and not finished:
        current_generation(folder)  # raises the error that was found
    progress = progress or Silent()
    others = [_examine(generation, progress) for generation in finished if generation != live]
    examined = _examine(live, progress) if live else None
    if examined and not examined.is_sound and _live(folder) not in (None, live):
        return diagnose(folder, progress)  # updates have replaced it meanwhile, and removed it
    others = [one for one in others if one.generation.exists()]  # updates may have removed some
    others.sort(key=lambda one: one.manifest.updated if one.manifest else 0, reverse=True)
    if examined and not examined.is_sound:
        problem = ""  # the list of damaged files is more specific
    return Diagnosis(folder, problem, examined, tuple(others))


def _live(folder: Path) -> Path | None:
    """The live generation, damaged or not; None if CURRENT names none that exists."""
    generation = named_generation(folder)
    return generation if generation in generations_in(folder) else None


def _examine(generation: Path, progress: Progress) -> Examined:
    try:
        check_tree(generation)
    except FileNotFoundError:  # an update has removed it
        return Examined(generation, (Damage(CHECKSUMS, "is missing"),))
    except OSError as error:
        raise unreadable(generation, error) from None
    try:
        checksums = read_checksums(generation)
    except ChecksumsError as error:
        return Examined(generation, (Damage(CHECKSUMS, str(error)),))
    advance = progress.stage(f"Checking files of generation {generation.name}", len(checksums))
    damages = list(find_damage(generation, checksums, lambda *_: True, is_complete=True, advance=advance))
    try:
        check_tables(generation)
    except IndexDamagedError as error:
        damages = damages or [Damage(TABLES, f"cannot be searched ({error.cause})")]
    return Examined(generation, tuple(damages))


def repair(folder: Path, wait: bool, progress: Display, report_step: Callable[[str], None]) -> None:
    """Make the index in `folder` sound with as little new work as possible; each step is passed to `report_step`.

    If the live generation is damaged, the previous one is made live and updated. Failing that, the index is built again
    from its sources with its own settings. Raises IndexDamagedError if the marker or even the settings are lost.
    """
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
