"""Parts of plain text, logs, tables, settings, source code, and of the front matter of notes."""

import json
import unicodedata

import read_bytes

from parts.part import Part


def text(template, codec="utf-8"):
    """What builds a file of a text with a sentence."""
    return lambda sentence: template.replace("SENTENCE", sentence).encode(codec)


def record(value):
    """What builds a line of JSON with a sentence; `value` makes its object."""
    return lambda sentence: f"{json.dumps(value(sentence))}\n".encode()


def parquet(**columns):
    """What builds a Parquet file; each column is made from the sentence."""
    return lambda sentence: read_bytes.parquet(**{name: column(sentence) for name, column in columns.items()})


LOG = "2024-03-01 INFO Übergabe bestätigt\n"
PARTS = [
    Part("Text", "lines", ".txt", text("First line.\nSENTENCE.\n")),
    Part("Text", "a byte order mark", ".txt", text("First line.\nSENTENCE.\n", "utf-8-sig")),
    Part("Text", "UTF-16", ".txt", text("First line.\nSENTENCE.\n", "utf-16")),
    Part("Text", "soft hyphens", ".txt", lambda one: one.replace("e", "e\u00ad").encode()),
    Part("Text", "zero-width spaces", ".txt", lambda one: one.replace("e", "e\u200b").encode()),
    Part("Text", "full-width letters", ".txt",
         lambda one: "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in one).encode()),
    Part("Text", "accents as characters of their own", ".txt",
         lambda one: unicodedata.normalize("NFD", f"Über\n{one}").encode()),
    Part("Logs", "lines with colours", ".log", lambda one: one.replace(" ", "\x1b[0m \x1b[1;33m").encode()),
    Part("Logs", "links and titles of terminals", ".log", text("\x1b]8;;http://x\x07SENTENCE\x1b]8;;\x07\x1b]0;make\x07\n")),
    Part("Logs", "lines after a block of NULs", ".log", lambda one: LOG.encode() * 9 + bytes(512) + one.encode()),
    Part("Logs", "lines in other encodings", ".log", lambda one: LOG.encode() * 9 + f"{one} ä".encode("latin-1")),
    Part("Logs", "progress that was written over", ".log", lambda one: "".join(f"x\x08{c}" for c in one).encode()),
    Part("CSV", "cells", ".csv", text("who,what\nAnn,SENTENCE\n")),
    Part("CSV", "names of columns", ".csv", text("who,SENTENCE\nAnn,1\n")),
    Part("CSV", "a column of text", ".csv", text("id,text\n1,SENTENCE\n")),
    Part("CSV", "the title of a record", ".csv", text("id,title,text\n1,SENTENCE,x\n")),
    Part("CSV", "semicolons", ".csv", text("who;what\r\nHöllerer;SENTENCE\r\n", "cp1252")),
    Part("CSV", "cells of several lines", ".csv",
         lambda one: f'who,what\nAnn,"{one.replace(" ", chr(10))}"\n'.encode()),
    Part("CSV", "tables without names", ".csv", text("2024-07-07,SENTENCE,3\n2024-07-08,x,4\n")),
    Part("CSV", "lines above the table", ".csv", text("SENTENCE\n\na;b;c\n1;2;x\n3;4;y\n")),
    Part("CSV", "other columns of a record with a text", ".csv", text("id,text,notes\n1,x,SENTENCE\n")),
    Part("TSV", "cells", ".tsv", text("who\twhat\nAnn\tSENTENCE\n")),
    Part("TSV", "names of columns", ".tsv", text("who\tSENTENCE\nAnn\t1\n")),
    Part("JSON Lines", "values", ".jsonl", record(lambda one: {"level": "error", "msg": one})),
    Part("JSON Lines", "nested values", ".jsonl", record(lambda one: {"user": {"notes": [{"text": one}]}})),
    Part("JSON Lines", "values without names", ".jsonl", record(lambda one: [one, 1])),
    Part("JSON Lines", "keys", ".jsonl", record(lambda one: {one: 1})),
    Part("JSON Lines", "a column of text", ".jsonl", record(lambda one: {"text": one})),
    Part("JSON Lines", "other columns of a record with a text", ".jsonl",
         record(lambda one: {"text": "x", "notes": one})),
    Part("JSON Lines", "metadata of a record with a text", ".jsonl",
         record(lambda one: {"text": "x", "metadata": {"a": one}}), is_read=False),
    Part("JSON", "values", ".json", record(lambda one: {"a": {"b": [one]}})),
    Part("JSON", "keys", ".json", record(lambda one: {one: {"b": 1}})),
    Part("JSON", "lists of objects", ".json", record(lambda one: [{"who": {"Ann": one}}])),
    Part("JSON", "records", ".json", record(lambda one: [{"who": "Ann"}, {"what": one}])),
    Part("JSON", "metadata of a record with a text", ".json",
         record(lambda one: [{"text": "x", "metadata": {"a": one}}, {"text": "y"}]), is_read=False),
    Part("JSON", "comments", ".json", text('{\n  // SENTENCE\n  "a": 1\n}\n')),
    Part("YAML", "values", ".yaml", text("a:\n  b: SENTENCE\n")),
    Part("YAML", "keys", ".yaml", text("SENTENCE:\n  b: 1\n")),
    Part("YAML", "comments", ".yaml", text("# SENTENCE\na: 1\n")),
    Part("YAML", "further documents", ".yaml", text("a: 1\n---\nb: SENTENCE\n")),
    Part("TOML", "values", ".toml", text('[a]\nb = "SENTENCE"\n')),
    Part("TOML", "names of sections", ".toml", text('["SENTENCE"]\nb = 1\n')),
    Part("TOML", "comments", ".toml", text("# SENTENCE\n[a]\nb = 1\n")),
    Part("INI", "values", ".ini", text("[a]\nb = SENTENCE\n")),
    Part("INI", "names of sections", ".ini", text("[SENTENCE]\nb = 1\n")),
    Part("INI", "comments", ".ini", text("; SENTENCE\n[a]\nb = 1\n")),
    Part("Parquet", "cells", ".parquet", parquet(who=lambda _: ["Ann"], what=lambda one: [one])),
    Part("Parquet", "a column of text", ".parquet", parquet(text=lambda one: [one])),
    Part("Parquet", "nested values", ".parquet", parquet(a=lambda one: [{"b": [one]}])),
    Part("Source code", "comments", ".py", text("# SENTENCE\nx = 1\n")),
    Part("Source code", "docstrings", ".py", text('def f():\n    """SENTENCE."""\n    return 1\n')),
    Part("Source code", "strings", ".py", text('x = "SENTENCE"\n')),
    Part("Source code", "comments of blocks", ".c", text("/* SENTENCE */\nint x;\n")),
    Part("Markdown front matter", "title", ".md", text("---\ntitle: SENTENCE\n---\nbody\n")),
    Part("Markdown front matter", "aliases", ".md", text("---\naliases:\n  - SENTENCE\n---\nbody\n")),
    Part("Markdown front matter", "tags", ".md", text("---\ntags: [a, SENTENCE]\n---\nbody\n")),
    Part("Markdown front matter", "description", ".md", text("+++\ndescription = 'SENTENCE'\n+++\nbody\n")),
    Part("Markdown front matter", "text between two rules", ".md", text("---\nSENTENCE.\n---\nbody\n")),
    Part("Markdown front matter", "sentences of other keys", ".md", text("---\nseo:\n  lead: SENTENCE\n---\nbody\n")),
    Part("Markdown front matter", "other values", ".md",
         lambda one: "\n".join(["---", *(f"{word}: {word}" for word in one.split()), "---", "body"]).encode(),
         is_read=False),
]  # fmt: skip
