"""The time to read and split a text does not grow with the square of its length, whatever it repeats."""

import time

import pytest
from conftest import make_tokenizer
from read_bytes import read_bytes

from indexer.documents.chunk import Chunker
from indexer.formats.format import Document, UnreadableError

N_CHARACTERS = 100_000
SECONDS = 3.0  # of the processor; quadratic time takes ten seconds and more, and linear time less than half a second
UNITS = (
    " ", "\t", "\n", "a", "a ", "=", "#", "*", "`", "'", '"', "\\", "/*", "<", "<!--", "((", "[", "[[", "{a", "}", "|a",
    "a:", " :a", ",", "..\n", "%", "$", "&", "\\a{", "\\[", "```\n", ":A:\n", ".if n ", "http://a",
)  # fmt: skip
STARTS = {  # what stands before the repetition, by suffix
    "md": ("", "# a", "---\ntitle:", "| a |\n|---|\n|"),
    "rst": ("", "a", "`a", ".. a:: "),
    "org": ("", "* a", "[[", "#+a: ", ":A:\n"),
    "adoc": ("", "= a", "[[", "link:a[", "<<a,"),
    "tex": ("", "\\begin{document}", "\\title{", "\\section{", "\\cite["),
    "bib": ("@a{b,", "title = {"),
    "ics": ("BEGIN:VEVENT\n", "BEGIN:VEVENT\nSUMMARY:", "BEGIN:VEVENT\nN;A="),
    "enex": ("<en-export><note><content><![CDATA[",),
    "fb2": ("<FictionBook><body><p>",),
    "svg": ("<svg><text>",),
    "ass": ("Format: Start, End, Text\nDialogue: ", "Format: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{"),
    "html": ("", "<p>", "<a href='", "<table><tr><td>"),
    "txt": ("",),
    "1": (".TH a 1\n", ".TH a 1\n.B ", ".TH a 1\n.TS\n"),
    "json": ("[", '{"a":', '["'),
    "jsonl": ('{"text": "', "["),
    "xml": ("<a>", "<a b='"),
    "yaml": ("", "a: ", "- "),
    "toml": ("", "[", 'a = """', "a = '"),
    "ini": ("", "[a"),
    "csv": ("", "id,text\n1,", '"'),
    "srt": ("00:00:01,000 --> 00:00:02,000\n", "<v"),
    "unknown": ("Subject: a\nFrom: b\nTo: ",),
    "eml": (
        "Content-Type: multipart/alternative; boundary=b\n\n--b\n\na\n--b\nContent-Type: text/html\n\n",
        "Subject: ",
        "A: b\n\n",
        "Content-Type: text/html\n\n",
        "A: b\nContent-Type: ",
    ),
    "mbox": ("From a\nSubject: ", "From a\n\n"),
    "rtf": ("{\\rtf1 ", "{\\rtf1{\\fonttbl"),
    "py": ("", "# ", "#!"),
}


def read(name, text):
    try:
        return list(read_bytes(name, text.encode(), is_wanted=True))
    except UnreadableError:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("suffix", STARTS)
def test_a_repetition_is_read_in_time(suffix):
    slow = {}
    for start in STARTS[suffix]:
        for unit in UNITS:
            text = start + unit * (N_CHARACTERS // len(unit)) + "x"
            started = time.thread_time()
            read(f"a.{suffix}", text)
            seconds = time.thread_time() - started
            if seconds > SECONDS:
                slow[start, unit] = seconds
                break
    assert not slow


TABLE = "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + ("|" + "xy|" * 300 + "\n") * 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("markdown", TABLE),
        ("markdown", "*a* " * 100_000),
        ("markdown", "# cat\n" + "漢字" * 50_000 + "\ndog"),
        ("text", "a\n" * 400_000),
    ],
)
def test_a_text_of_many_small_parts_is_split_in_time(layout, text):
    chunker = Chunker(make_tokenizer(), 256)
    started = time.thread_time()
    chunks = list(chunker.split(Document("a", "a", "", text, layout)))
    assert time.thread_time() - started < SECONDS
    assert len("".join("".join(chunk.body.split()) for chunk in chunks)) == len("".join(text.split()))
