"""Operators in the text of a query leave out chunks and files, and only the other words are searched for."""

import pytest
from built import write_files

import cdesearch
from cdesearch.errors import QueryError
from cdesearch.search.options import Mode
from cdesearch.search.passage_lines import query_words
from cdesearch.search.query_syntax import MAX_WORDS, Query, parse_query
from cdesearch.search.request import SearchRequest

FILES = {
    "a.md": "The rehearsal about the fireworks display.\n",
    "b.md": "The rehearsal about the puppet\ndisplay, without a firework.\n",
    "src/c.md": "The rehearsal of the café is a display in C++ and 漢字の花火docker部署.\n",
    "src/d.py": "rehearsal = display(dry_run=True)\n",
    "tests/e.md": "A rehearsal, FIREWORKS, and a display.\n" + "The FIREWORKS begin.\n" * 200,  # several chunks
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("operators"), FILES)
    with cdesearch.build(root) as built:
        yield built


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a show -fireworks", Query("a show", excluded=("fireworks",))),
        ("-ab, -C++ c.", Query("c.", excluded=("ab", "C++"))),
        ("a AND NOT fireworks, c", Query("a  c", excluded=("fireworks",))),
        ("python -snake docker -compose", Query("python  docker", excluded=("snake", "compose"))),
        ("a gcc -Wall rm -rf", Query("a gcc  rm", excluded=("Wall", "rf"))),
        ('tar -xy=1 -"x y" a=b', Query("tar -xy=1  a=b", excluded=("x y",))),
        ('a AND NOT "puppet show"', Query("a", excluded=("puppet show",))),
        ("-été -漢字 x", Query("x", excluded=("été", "漢字"))),
        ('a -"puppet   show" -“x”', Query("a", excluded=("puppet show", "x"))),
        ("path:src/ -path:*.{md,py} a", Query("a", path=("src/",), excluded_path=("*.{md,py}",))),
        ('a path:"my files" type:md -type:.py', Query("a", path=("my files",), type=("md",), excluded_type=(".py",))),
        ("find invoices -pdf", Query("find invoices", excluded=("pdf",))),
    ],
)
def test_operators_are_separated_from_the_words(text, expected):
    assert parse_query(text) == expected == parse_query(f"  {text} ")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "blue-green rollout",
            "a - b",
            "a -- b",
            "-v",
            "-v.",
            "--dry-run",
            "-9a",
            "-_a",
            "a\n-item",
            "add a NOT NULL column",
            "LEFT AND NOT RIGHT",
            'a "NOT b" c',
            'a -"',
            '-"" -" "',
        ),
        *(
            "rm -rf node_modules",
            "$ tar -xzf x",
            "docker run -it --rm alpine",
            "return -EINVAL",
            "gcc -Wall -O2 main.c",
        ),
        *("-std=c++17", "./gradlew -Pa", "sudo ls -la", "mvn -DskipTests package"),
        *("https://x", "std::path:", "C:path", "note: path: x", "path::join", "type::Name", "Path:x", "a:type:md"),
        *("«a -word» b", "「a -word」", "”a -word”"),
        *("path:", '"a -word" b', "“path:src a”", '"type:md"', " ".join(["word"] * MAX_WORDS) + " -excluded path:src"),
    ],
)
def test_other_texts_are_searched_for_as_they_are(text):
    assert parse_query(text) == Query(text)


@pytest.mark.parametrize("mode", Mode.__args__)
@pytest.mark.parametrize(
    ("operators", "found"),
    [
        ("-fireworks", {"b.md", "src/c.md", "src/d.py"}),
        ("-firework -CAFÉ", {"a.md", "src/d.py", "tests/e.md"}),
        ('-"puppet display"', FILES.keys() - {"b.md"}),
        ("-c++ -src", {"a.md", "b.md", "src/d.py", "tests/e.md"}),
        ("-花火", FILES.keys() - {"src/c.md"}),
        ("-docker", FILES.keys() - {"src/c.md"}),
        ("-don't", FILES.keys()),
        ("path:src/", {"src/c.md", "src/d.py"}),
        ("path:src path:a.md", {"a.md", "src/c.md", "src/d.py"}),
        ("-path:src/ -path:tests", {"a.md", "b.md"}),
        ("path:src type:md", {"src/c.md"}),
        ("-type:md", {"src/d.py"}),
        ("path:nowhere", set()),
    ],
)
def test_operators_restrict_the_hits_in_each_mode(opened, mode, operators, found):
    result = opened.search(f"rehearsal {operators} display", 10, mode)
    assert {hit.chunk.path for hit in result} == found
    alone = opened.search("rehearsal display", 10, mode)
    scores = {hit.chunk.id: hit.dense_score for hit in alone}
    assert all(hit.dense_score == pytest.approx(scores[hit.chunk.id]) for hit in result), "their words have no vector"


def test_queries_of_one_call_have_their_own_operators(opened):
    texts = ["rehearsal", "rehearsal -fireworks", "rehearsal path:src", "display path:src"]
    assert opened.search_many(texts) == [opened.search(text) for text in texts]


def test_operators_narrow_what_a_program_allows(opened):
    assert not opened.search("rehearsal path:src", path="tests").hits
    assert not opened.search("rehearsal type:py", type="md").hits


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("path:src", {}, ["src/c.md", "src/d.py"]),
        ("-path:src type:md", {}, ["a.md", "b.md", "tests/e.md"]),
        ("", {"type": "py"}, ["src/d.py"]),
        ("", {"since": "7d"}, [*FILES]),
    ],
)
def test_without_words_the_files_that_pass_the_filters_are_listed_by_path(opened, text, options, found):
    hits = opened.search(text, **options)
    assert [hit.chunk.path for hit in hits] == found and not any(hit.chunk.ordinal for hit in hits)
    assert hits.total == opened.search(text, 1, **options).total == len(found)


def test_files_that_begin_alike_are_all_listed(tmp_path):
    licence = "# A licence that permits the use of this program under these terms and no others.\n" * 5
    root = write_files(tmp_path / "alike", {f"{name}.py": f"{licence}\n{name} = 1\n" for name in "abc"})
    with cdesearch.build(root) as built:
        assert [hit.chunk.path for hit in built.search("type:py")] == ["a.py", "b.py", "c.py"]


def test_a_sentence_tells_what_is_left_out():
    said = 'Passages with "fireworks", "puppet show" are left out. Quote an option to search for it: "-x".'
    assert parse_query('a -fireworks -"puppet show"').exclusion == said and parse_query("a -v").exclusion is None


def test_the_words_of_operators_are_not_marked():
    assert query_words("puppet -fireworks path:src") == query_words("puppet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-fireworks path:src", "only what to leave out"),
        ('"" type:md', "The query is empty"),
        ("-fireworks", 'only what to leave out. Add words to search for, or write "-fireworks" in'),
        ("a type:qq", "There is no file type qq. The types are "),
        ("a -type:qq", "There is no file type qq. The types are "),
    ],
)
def test_a_query_without_words_and_an_unknown_type_are_errors(text, message):
    with pytest.raises(QueryError) as raised:
        SearchRequest(text)
    assert message in str(raised.value) and "\n" not in str(raised.value)
