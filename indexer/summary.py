"""What `cdesearch index` says about a build that has ended."""

import re
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cdesearch.builders import UnreadFile
from cdesearch.search.corpus_languages import unread_languages
from cdesearch.store.fresh_build import fresh_build_command
from cdesearch.store.index import Index
from cdesearch.store.layout import FOLDER
from cdesearch.store.place import Place
from cdesearch.terminal import counted, open_console, printable
from indexer.files.outcome import UNKNOWN_FORMAT
from indexer.plan import Plan
from indexer.staleness import advice

SHOWN_REASONS = 10
SHOWN_PATHS = 3
COLUMN_OPTION = re.compile(r"\((--\w+-column)\)")  # in the reason for which a file of records was skipped


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run, for the summary that `cdesearch index` prints."""

    place: Place  # of the index
    folder: Path  # in which the run wrote; for an index in a bucket, the working copy
    n_documents: int
    n_chunks: int
    embedded: int  # texts that went through the model
    skipped: tuple[UnreadFile, ...]
    in_part: tuple[UnreadFile, ...]  # files that are indexed without the parts that could not be read
    dropped: tuple[UnreadFile, ...]  # files that still exist, but are no longer in the index
    n_files: dict[str, int]  # by outcome: indexed, ignored, skipped
    seconds: float
    size_bytes: int
    changed: bool
    advice: str | None = None  # a line that advises a new context
    languages: dict[str, float] = field(default_factory=dict)  # the share of the chunks in each, by its code
    renewed: str | None = None  # a line about a context that no longer fitted, and a new one, sampled or not
    note: str | None = None  # a line about confirmations of this index that were recorded, or could not be

    @property
    def language_notes(self) -> tuple[str, ...]:
        """Lines about languages that the model does not read, or that full text does not stem; none without a change.

        The models in the cache are listed only for this.
        """
        if not self.changed:
            return ()
        index = Index(self.folder)
        return tuple(filter(None, [unread_languages(index, self.place)]))

    @property
    def n_without_text(self) -> int:
        """How many documents have no text. The table of the live generation is opened only for this."""
        return int(Index(self.folder).documents.count_rows("n_chunks = 0"))

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
            place=place,
            folder=folder,
            n_documents=index.manifest.n_documents,
            n_chunks=index.manifest.n_chunks,
            embedded=embedded or 0,
            skipped=plan.skipped,
            in_part=plan.in_part,
            dropped=plan.dropped,
            n_files=plan.counts,
            seconds=time.monotonic() - begun,
            size_bytes=index.size_bytes(),
            changed=embedded is not None,
            languages=index.manifest.languages,
            advice=advice(place, index.manifest) if embedded is not None else None,
            note=note,
            renewed=renewed,
        )


def summarise(report: Report) -> None:
    """Print the numbers of a build, what was skipped and why, and the next command on stderr."""
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
    place = report.place
    is_beside = isinstance(place, Path) and place.name == FOLDER and Path.cwd().is_relative_to(place.parent)
    where = "" if is_beside else printable(f" --index {shlex.quote(str(place))}")
    for name, files in (("Skipped", report.skipped), ("Read in part", report.in_part)):
        if files:
            console.print(f"{name}: {len(files):,}. `cdesearch status{where} --files --skipped` lists them.")
        for line in reasons(files):
            console.print(f"  {line}")
    if report.dropped:
        console.print(_dropped(report.dropped, report))
    if report.n_files["ignored"]:
        console.print(
            f"Ignored: {report.n_files['ignored']:,}. `cdesearch status{where} --files` lists the rules.",
        )
    for line in report.language_notes:
        console.print(printable(line), soft_wrap=True)
    if about_context := report.renewed or report.advice:
        console.print(printable(about_context), soft_wrap=True)
    if not report.n_chunks:
        return
    # On one line even in a narrow terminal, so that it can be copied.
    console.print(f'Next: cdesearch query{where} "your question"', soft_wrap=True)


def _dropped(files: Sequence[UnreadFile], report: Report) -> str:
    """One line about existing files that were in the index before and no longer are."""
    are = "file that was indexed before is" if len(files) == 1 else "files that were indexed before are"
    why = list(dict.fromkeys(file.reason.partition("; ")[0] for file in files))  # without the list of columns
    which = "" if len(why) == 1 else "the first: "
    line = f"{len(files):,} {are} no longer in the index: {_some([file.path for file in files])} ({which}{why[0]})."
    if option := next(filter(None, map(COLUMN_OPTION.search, why)), None):
        index = Index(report.folder)
        line += (
            " Column options apply to all files of an index. Name a column that all of them have:"
            f" `cdesearch index --index {shlex.quote(str(report.place))} {option[1]} NAME`. If there is none, give"
            f" these files an index of their own (--index), or return to the usual names of columns:"
            f" {fresh_build_command(report.place, index.manifest, index.sources)}."
        )
    return printable(line)


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
        "documents": report.n_documents,
        "chunks": report.n_chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "bytes": report.size_bytes,
        "changed": report.changed,
        "renewed": report.renewed,
        "advice": report.advice,
        "languages": report.languages,
        "language_notes": list(report.language_notes),
        "files": report.n_files,
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
        "read_in_part": [{"path": item.path, "reason": item.reason} for item in report.in_part],
        "dropped": [{"path": item.path, "reason": item.reason} for item in report.dropped],
        "skipped_by_reason": dict(counted_reasons.most_common()),
    }
