from benchmarks.folders import names as module
from benchmarks.folders.names import Name, sampled_names, unique_names
from benchmarks.folders.names_command import measure_name
from cdesearch.store.schema import Chunk

PYTHON = """
class FileReader:
    def read_lines(self):
        pass

    def read_all(self):
        pass


class LineWriter:
    def read_all(self):
        pass

    def close(self):
        pass
"""
C = "int\nread_block (int n)\n{\n  return read_word (n);\n}\n"


def chunk(path, line, text):
    return Chunk("id", path, None, 0, path, "", (), text, 0, line, line + text.count("\n"), None)


def test_names_that_are_defined_once_are_found_with_their_lines(tmp_path):
    (tmp_path / "a.py").write_text(PYTHON)
    (tmp_path / "b.c").write_text(C)
    assert [(one.text, one.kind, one.path, one.line) for one in unique_names(tmp_path)] == [
        ("FileReader", "CamelCase", "a.py", 2),
        ("LineWriter", "CamelCase", "a.py", 10),
        ("read_block", "snake_case", "b.c", 2),
        ("read_lines", "snake_case", "a.py", 3),
    ]


def test_the_halves_divide_the_sampled_names(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PER_KIND", 6)
    (tmp_path / "a.py").write_text("".join(f"def name_{number}(): ...\n" for number in range(9)))
    choose, report = (set(sampled_names(tmp_path, half)) for half in ("choose", "report"))
    assert len(choose) == len(report) == 3 and not choose & report
    assert choose | report == set(sampled_names(tmp_path))


def test_only_a_chunk_with_the_line_of_the_definition_counts_as_definition():
    name = Name("read_lines", "snake_case", "a.py", 3)
    use = chunk("b.py", 3, "x = read_lines()")
    definition = chunk("a.py", 2, "class FileReader:\n    def read_lines(self):")
    measured = measure_name(name, [use, chunk("a.py", 9, "read_lines_again()"), definition])
    assert (measured["definition@1"], measured["definition@3"], measured["used@3"]) == (0, 100, 100)
    assert measure_name(name, [chunk("a.py", 9, "read_lines_again()")])["used@3"] == 0
