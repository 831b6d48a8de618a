"""What `cdesearch index` says about a build that has ended."""

import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cdesearch.builders import BuildReport, UnreadFile
from cdesearch.search.corpus_languages import unread_languages
from cdesearch.store.index import Index
from cdesearch.store.layout import FOLDER
from cdesearch.store.place import Place
from cdesearch.terminal import counted, open_console, printable
from indexer.formats.unknown import UNKNOWN_FORMAT
from indexer.plan import Plan
from indexer.staleness import advice

SHOWN_REASONS = 10
SHOWN_PATHS = 3


@dataclass(frozen=True, slots=True)
class Report(BuildReport):
    """The outcome of a run, with what the summary that `cdesearch index` prints names in addition."""

    n_files: dict[str, int]  # by outcome: indexed, ignored, skipped
    languages: dict[str, float]  # the share of the chunks in each, by its code
    note: str | None  # a line about confirmations of this index that were recorded, or could not be

    @property
    def language_notes(self) -> tuple[str, ...]:
        """Lines about languages that the model does not read, or that full text does not stem; none without a change.

        The models in the cache are listed only for this.
        """
        line = unread_languages(Index(self.folder), self.place) if self.changed else None
        return () if line is None else (line,)

    @classmethod
    def of(
        cls,
        place: Place,
        folder: Path,
        plan: Plan,
        embedded: int | None,
        begun: float,
        note: str | None,
        renewed: str | None,
    ) -> "Report":
        """The outcome of a run that began at `begun`, on the clock of time.monotonic."""
        index = Index(folder)
        return cls(
            changed=embedded is not None,
            documents=index.manifest.n_documents,
            chunks=index.manifest.n_chunks,
            embedded=embedded or 0,
            indexed_files=plan.counts["indexed"],
            ignored_files=plan.counts["ignored"],
            skipped=plan.skipped,
            read_in_part=tuple(UnreadFile(file.path, file.reason) for file in plan.files.values() if file.is_in_part),
            dropped=plan.dropped,
            seconds=time.monotonic() - begun,
            size_bytes=index.size_bytes(),
            renewed=renewed,
            advice=advice(place, index.manifest) if embedded is not None else None,
            place=place,
            folder=folder,
            n_files=plan.counts,
            languages=index.manifest.languages,
            note=note,
        )


def summarise(report: Report) -> None:
    """Print the numbers of a build, what was skipped and why, and the next command on stderr."""
    console = open_console(stderr=True)
    console.soft_wrap = not console.is_terminal  # a terminal would break lines within words
    documents, chunks = counted(report.documents, "document"), counted(report.chunks, "chunk")
    if not report.changed:
        console.print(f"Nothing has changed: {documents}, {chunks}.")
    else:
        empty = report.documents_without_text
        without_text = f" ({empty:,} without text)" if empty else ""
        console.print(
            f"{documents}{without_text}, {chunks} ({report.embedded:,} embedded) in {report.seconds:.1f} s,"
            f" {report.size_bytes / 1e6:,.1f} MB on disk."
        )
    place = report.place
    is_beside = isinstance(place, Path) and place.name == FOLDER and Path.cwd().is_relative_to(place.parent)
    where = "" if is_beside else printable(f" --index {shlex.quote(str(place))}")
    for name, files in (("Skipped", report.skipped), ("Read in part", report.read_in_part)):
        if files:
            console.print(f"{name}: {len(files):,}. `cdesearch status{where} --files --skipped` lists them.")
        for line in reasons(files):
            console.print(f"  {line}")
    if report.dropped:
        console.print(_dropped(report.dropped))
    if report.ignored_files:
        console.print(
            f"Ignored: {report.ignored_files:,}. `cdesearch status{where} --files` lists the rules.",
        )
    for line in report.language_notes:
        console.print(printable(line), soft_wrap=True)
    if about_context := report.renewed or report.advice:
        console.print(printable(about_context), soft_wrap=True)
    if not report.chunks:
        return
    # On one line even in a narrow terminal, so that it can be copied.
    console.print(f'Next: cdesearch query{where} "your question"', soft_wrap=True)


def _dropped(files: Sequence[UnreadFile]) -> str:
    """One line about existing files that were in the index before and no longer are."""
    are = "file that was indexed before is" if len(files) == 1 else "files that were indexed before are"
    why = list(dict.fromkeys(file.reason.partition("; ")[0] for file in files))  # without the list of columns
    which = "" if len(why) == 1 else "the first: "
    paths = _some([file.path for file in files])
    return printable(f"{len(files):,} {are} no longer in the index: {paths} ({which}{why[0]}).")


def reasons(skipped: Sequence[UnreadFile]) -> list[str]:
    """A line for each reason, the most frequent one first."""
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


def report_fields(report: Report) -> dict[str, object]:
    """The fields of the JSON object that `--json` prints."""
    counted_reasons = Counter(item.reason for item in report.skipped)
    return {
        "index": str(report.place),
        "documents": report.documents,
        "chunks": report.chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "bytes": report.size_bytes,
        "changed": report.changed,
        "renewed": report.renewed,
        "advice": report.advice,
        "languages": report.languages,
        "language_notes": list(report.language_notes),
        "files": report.n_files,
        "skipped": [*map(asdict, report.skipped)],
        "read_in_part": [*map(asdict, report.read_in_part)],
        "dropped": [*map(asdict, report.dropped)],
        "skipped_by_reason": dict(counted_reasons.most_common()),
    }
