import pytest
from built import write_files

import cdesearch
from cdesearch.errors import CdesearchError, InputError, QueryError


def test_build_takes_the_options_of_the_command(tmp_path, tiny_checkpoint):
    write_files(tmp_path / "docs", {"a.csv": "key,words,book\n7,the cat,pets\n8,the dog,pets\n"})
    columns = {"text_column": "words", "id_column": "key", "document_column": "book"}
    index = tmp_path / "index"
    built = cdesearch.build(tmp_path / "docs", index=index, model=tiny_checkpoint, device="cpu", wait=True, **columns)
    assert index.is_dir() and not (tmp_path / "docs" / ".cdesearch").exists()
    hits = built.search("cat", mode="text")
    assert [(hit.chunk.document_id, hit.chunk.record) for hit in hits] == [("a.csv#pets", "7")]
    assert built.search("cat"), "the named model answers queries too"
    again = cdesearch.build(tmp_path / "docs", index=index, model=tiny_checkpoint, text_column="book", rebuild=True)
    (hit,) = again.search("cat", mode="text")
    assert hit.chunk.body == "pets" and ("words", "the cat") in hit.chunk.fields


@pytest.mark.parametrize("paths", [([],), (None,), (3,), (["docs"],), ("",)])
def test_a_value_that_is_not_a_path_is_refused_with_one_line(paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"path (is|must be)"):
        cdesearch.build(*paths)
    if paths not in ((None,), (["docs"],)):  # open looks upward, and opens several indexes as one
        with pytest.raises(CdesearchError, match=r"path (is|must be)"):
            cdesearch.open(*paths)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": None}, "query must be a text, not NoneType"),
        ({"query": b"cat"}, "query must be a text, not bytes"),
        ({"query": "cat", "k": "3"}, "k must be a whole number, not a text"),
        ({"query": "cat", "k": 2.5}, "k must be a whole number, not float"),
        ({"query": "cat", "path": 3}, "path must be a text, not int"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(arguments, message, tmp_path, tiny_checkpoint):
    (tmp_path / "a.md").write_text("the cat")
    opened = cdesearch.build(tmp_path, model=tiny_checkpoint)
    with pytest.raises(QueryError, match=message):
        opened.search(**arguments)


def test_an_unknown_device_is_refused(tmp_path, tiny_checkpoint):
    (tmp_path / "a.md").write_text("the cat")
    uses = (
        lambda: cdesearch.Embedder(tiny_checkpoint, device="gpu"),
        lambda: cdesearch.build(tmp_path, model=tiny_checkpoint, device="gpu"),
        lambda: cdesearch.open(tmp_path, device="gpu"),
    )
    for use in uses:
        with pytest.raises(InputError, match="There is no device gpu"):
            use()
        cdesearch.build(tmp_path, model=tiny_checkpoint)
