"""Read subtitles: consecutive cues are joined, and their time is the heading of a chunk."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.outline import Outline

UNIT_SECONDS = 30.0  # a unit ends with the first sentence that ends after so long
MOST_SECONDS = 60.0  # a unit that lasts so long ends even within a sentence
PAUSE_SECONDS = 15.0  # without a cue, after which a unit ends

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMING = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
# An event of SubStation Alpha with its speaker and its text. A text of `\p1` draws, and says nothing.
_EVENT = re.compile(
    rf"Dialogue:[^,]*,[ \t]*{_TIME},[ \t]*{_TIME},[^,]*,([^,]*),(?:[^,]*,){{4}}(?!\{{[^}}]*\\p[1-9])(.*)"
)
_LINE_END = re.compile(r"\\[Nnh]")
_VOICE = re.compile(r"<v(?:\.[\w.]{1,99})?[ \t]+([^<>\n]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z\d][^<>\n]{0,300}>|\{\\[^{}\n]{0,300}\}")
_ENDS_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]]*$")  # noqa: RUF001 (full-width signs)


@dataclass(frozen=True, slots=True)
class _Cue:
    """Lines of text with their numbers, shown for some seconds."""

    start: float
    end: float
    lines: list[tuple[int, str]]


class Subtitles(Format):
    """SubRip, WebVTT, and SubStation Alpha. A speaker is named once in a sentence."""

    suffixes = frozenset({".srt", ".vtt", ".ass", ".ssa"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        outline = Outline()
        for unit in _units(_cues(text.split("\n"))):
            number = unit[0].lines[0][0]
            # The heading has its own line before the text, so that it is above a chunk that begins with the unit.
            outline.line("", number)
            outline.heading(1, f"{_clock(unit[0].start)}-{_clock(unit[-1].end)}")
            outline.line("", number)
            speaker, last = "", ""
            for line, part in (one for cue in unit for one in cue.lines):
                name, sign, rest = part.partition(": ")
                is_going_on = sign and name == speaker and not _ENDS_SENTENCE.search(last)
                outline.line(rest if is_going_on else part, line)
                speaker, last = name if sign else speaker, part
        document = outline.document(file)
        if not document.text.strip():
            document = Document.of(file, "", text, has_lines=True)
        yield document


def _cues(lines: list[str]) -> Iterator[_Cue]:
    """The cues with text. A line that repeats the one before it, as in captions that roll, is left out."""
    cue: _Cue | None = None
    last, event = "", None
    for number, line in enumerate([*lines, ""], start=1):
        after_event, event = event, _EVENT.match(line)
        timing = event or _TIMING.match(line)
        if timing or after_event or not line.strip():
            if cue is not None and cue.lines:
                yield cue
            cue = _Cue(_seconds(timing.groups()[:4]), _seconds(timing.groups()[4:8]), []) if timing else None
        if cue is not None and (event or not timing):
            if event:
                line = ": ".join(filter(None, (event[9].strip(), _LINE_END.sub(" ", event[10]))))  # noqa: PLW2901
            text = html.unescape(_TAG.sub("", _VOICE.sub(lambda match: f"{match[1].strip()}: ", line))).strip()
            if text and text != last:
                cue.lines.append((number, text))
                last = text


def _units(cues: Iterator[_Cue]) -> Iterator[list[_Cue]]:
    unit: list[_Cue] = []
    for cue in cues:
        if unit:
            seconds = cue.start - unit[0].start
            ends = _ENDS_SENTENCE.search(unit[-1].lines[-1][1]) is not None
            is_far = cue.start - unit[-1].end > PAUSE_SECONDS or seconds < 0
            if is_far or cue.end - unit[0].start > MOST_SECONDS or (seconds >= UNIT_SECONDS and ends):
                yield unit
                unit = []
        unit.append(cue)
    if unit:
        yield unit


def _seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds = (int(group or 0) for group in groups[:3])
    return 3600 * hours + 60 * minutes + seconds + float(f"0.{groups[3]}")


def _clock(seconds: float) -> str:
    """A time as players show it, such as 1:02:03."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
