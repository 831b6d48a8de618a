import pytest
from meeting_file import TURNS, write_meetings

from benchmarks.datasets.meetings import read_meetings
from cdesearch.errors import SourceError


def test_questions_know_the_lines_of_their_parts(tmp_path):
    meetings = read_meetings(write_meetings(tmp_path / "m.parquet"), 1)
    assert list(meetings.texts.values()) == ["\n".join(TURNS) + "\n"]
    assert [(one.text, one.parts) for one in meetings.questions] == [
        ("What pulls the tides?", (frozenset({1, 2}),)),
        ("How hot?", (frozenset({3, 4}),)),
    ]


def test_a_file_without_meetings_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_text("x")
    with pytest.raises(SourceError):
        read_meetings(tmp_path / "x.parquet")
