import json
import math
import shutil

import pytest
from built import write_files

from benchmarks.folders.questions import Passage
from benchmarks.quality.code import SYSTEMS, code, matching_files, measured, read_annotations, recall_within, summarised
from cdesearch.errors import InputError

SECOND, THIRD, FIFTH = (1 / math.log2(rank + 1) for rank in (2, 3, 5))
FILES = {"src/moon.py": "def orbit(moon):\n    return period\n", "src/bread.py": "def bake(bread):\n    return crust\n"}
PLACED = {"path": "src/bread.py", "start_line": 1, "end_line": 2}
ASKED = {
    "sky": [
        {"query": "orbit", "relevant": ["src/moon.py"], "category": "symbol"},
        {"query": "crust period", "relevant": ["src/moon.py"], "secondary": [PLACED], "category": "semantic"},
        {"query": "nowhere", "relevant": [PLACED], "category": "symbol"},
    ],
    "sea": [{"query": "bake", "relevant": ["src/moon.py"], "category": "semantic"}],
}


@pytest.fixture
def given(tmp_path):
    """The arguments of the command: annotations of two repositories, and their code."""
    texts = {
        "repositories.tsv": "name\tgithub\trevision\nsky\tus/sky\tabc\nsea\tus/sea\tdef\n",
        "published.tsv": "repo\tlanguage\tother\nsky\tpython\t0.5\nsea\tpython\t\n",
    }
    asked = {f"{name}.json": json.dumps(queries) for name, queries in ASKED.items()}
    folder = write_files(tmp_path / "annotations", texts | asked)
    for name in ASKED:
        write_files(tmp_path / name, FILES)
    return {"annotations": folder, "repositories": tmp_path, "work": tmp_path / "work", "out": tmp_path / "out"}


@pytest.mark.parametrize(
    ("files", "ranking", "by_file", "by_chunk"),
    [
        ("b", "aab", SECOND, THIRD),
        ("ab", "accab", (1 + THIRD) / (1 + SECOND), (1 + FIFTH) / (1 + SECOND)),
        ("b", "a" * 10 + "b", SECOND, 0),
        ("k", "abcdefghijk", 0, 0),
        ("b", "", 0, 0),
    ],
)
def test_a_file_counts_once_at_its_rank_among_files_and_at_that_of_its_first_chunk(files, ranking, by_file, by_chunk):
    found = measured([frozenset(files), frozenset("q")], [ranking, "q"])
    assert found["file"] == pytest.approx([100 * by_file, 100])
    assert found["chunk"] == pytest.approx([100 * by_chunk, 100])


def test_the_files_of_the_passages_within_a_budget_of_tokens_are_recalled():
    passages = [Passage("a", "one two"), Passage("b", "three"), Passage("a", "four"), Passage("c", "five")]
    relevant = [frozenset("ab"), frozenset("bc"), frozenset("d")]
    found = recall_within(4, relevant, [passages] * 3, lambda text: len(text.split()))
    assert found.tolist() == [100, 50, 0]


def test_means_are_over_queries_then_over_repositories_beside_the_published_figures(given):
    reached = measured([frozenset("a")] * 4, ["a", "", "a", "a"])["file"]
    found, other = summarised(read_annotations(given["annotations"]), {"mine, by file": reached})
    assert found.detail["repositories"] == {"sky": pytest.approx(200 / 3), "sea": 100}
    assert found.detail["categories"] == {"symbol": 100, "semantic": 50} and found.value == pytest.approx(250 / 3)
    assert (other.name, other.value, other.detail["repositories"]) == ("other, published", 50, {"sky": 50})


@pytest.mark.slow
def test_repositories_are_measured_and_ripgrep_is_left_out_where_it_is_missing(given, tmp_path, capsys, monkeypatch):
    (tmp_path / "git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path))
    code(**given)
    (file,) = given["out"].glob("code-search-*.json")
    figures = {one["name"]: one["detail"] for one in json.loads(file.read_text())["figures"]}
    units = ("by file", "by chunk", "recall within 500 tokens", "recall within 2000 tokens")
    names = [f"{name}, {unit}" for name in SYSTEMS[:-1] for unit in units]
    assert list(figures) == [*names, "other, published"]
    for system in ("text", "bm25"):
        means = figures[f"{system}, by file"]
        assert means["repositories"] == {"sky": pytest.approx(200 / 3), "sea": 0}
        assert means["categories"] == {"symbol": 50, "semantic": 50}
    assert "rg is not installed" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
def test_ripgrep_finds_the_whole_query_and_ranks_files_by_matching_lines(tmp_path):
    (tmp_path / "two.py").write_text("x = a.b(1)\ny = A.B(2)\n")
    (tmp_path / "one.py").write_text("a.b(3)\na b\naxb(4)\n")
    assert matching_files("a.b(", tmp_path) == ["two.py", "one.py"]
    assert matching_files("-nothing", tmp_path) == []


def test_what_cannot_be_measured_is_refused(given, tmp_path):
    for option, value, message in (
        ("systems", "bm52", "no system bm52"),
        ("only", "sky,mars", "no repository mars"),
        ("annotations", tmp_path / "nowhere", "nowhere has no annotations"),
        ("repositories", tmp_path / "sea", "none of the files that sky.json names"),
    ):
        with pytest.raises(InputError, match=message):
            code(**given | {option: value})
