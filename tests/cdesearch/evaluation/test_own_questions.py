import cdesearch
from cdesearch.evaluation.own_questions import make_questions
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index


def test_headings_and_links_become_questions_that_their_sections_answer(manual):
    index = Index.open(manual)
    made = {question.text: question for question in make_questions(index, 50)}
    heading = made["Restoring the factory state"]
    assert (heading.kind, heading.removed) == ("headings", heading.text)
    assert heading.answers == {chunk.id for chunk in DocumentReader(index).file("reset.md")}
    link = made["how to bake at home"]
    assert link.kind == "links" and link.answers == {chunk.id for chunk in DocumentReader(index).file("bread.md")}
    assert list(made.values()) == make_questions(index, 50)


def test_a_heading_that_occurs_twice_or_names_code_is_no_question(tmp_path):
    rest = "the water and the moon and the stone " * 5
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(
            f"# Notes on the engine\n\n{rest}{name}\n\n# Calls of get_state {name}\n\n{rest}"
        )
    (tmp_path / "c.md").write_text(f"# One\n\n{rest}\n\n# The river of bread\n\n{rest}")
    cdesearch.build(tmp_path).close()
    texts = {question.text for question in make_questions(Index.open(tmp_path), 50) if question.kind == "headings"}
    assert texts == {"The river of bread"}


def test_documentation_captions_and_questions_in_the_text_become_questions(tmp_path):
    rest = "the water and the moon and the stone " * 5
    (tmp_path / "code.py").write_text(f'def f(x):\n    """Return the weight of a stone."""\n    return "{rest}"\n')
    (tmp_path / "notes.txt").write_text(f"{rest}\n\nFigure 3: The light of the moon by hour.\n\n{rest}\n")
    (tmp_path / "asked.txt").write_text(f"Q: What does the engine need?\n\nIt needs {rest}\n")
    cdesearch.build(tmp_path).close()
    made = {question.text: question.kind for question in make_questions(Index.open(tmp_path), 50)}
    assert made["Return the weight of a stone"] == "documentation of code"
    assert made["The light of the moon by hour"] == "captions"
    assert made["What does the engine need?"] == "questions in the text"
