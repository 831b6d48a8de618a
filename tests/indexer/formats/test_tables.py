import json

import pytest
from read_bytes import parquet, read_bytes

from indexer.formats.format import Columns, LeftOut
from indexer.formats.records import MOST_WITHOUT_WORDS

BANK = "Date,Payee,Amount,Memo\n2024-07-07,Farrier Tolliver,88.00,hind shoes\n2024-07-08,Baker,4.20,\n"


def rows(name, data, **columns):
    """The text of each row, with its line."""
    data = data.encode() if isinstance(data, str) else data
    return {one.line_numbers[0]: one.text for one in read_bytes(name, data, Columns(**columns))}


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("bank.csv", BANK, {2: "Date: 2024-07-07 - Payee: Farrier Tolliver - Amount: 88.00 - Memo: hind shoes",
                            3: "Date: 2024-07-08 - Payee: Baker - Amount: 4.20"}),
        ("orte.csv", "Name;Betrag\r\nHöllerer;1,5\r\nWörgl;2,5\r\n".encode("cp1252"),
         {2: "Name: Höllerer - Betrag: 1,5", 3: "Name: Wörgl - Betrag: 2,5"}),
        ("parts.tsv", "sku\tdesc\n77-A\tknurled, 12 mm\n", {2: "sku: 77-A - desc: knurled, 12 mm"}),
        ("quotes.tsv", 'n\tsaid\n1\t"Haul\n2\t"Ann" and "Bob\n3\t"oats\nand hay"\n4\t"rye"\n',
         {2: 'n: 1 - said: "Haul', 3: 'n: 2 - said: "Ann" and "Bob', 4: "n: 3 - said: oats and hay",
          6: "n: 4 - said: rye"}),
        ("state.tsv", 'id\tnote\tstate\n2\t"one\ntwo"\tclosed\n', {2: "id: 2 - note: one two - state: closed"}),
        ("parts.psv", "sku|desc\n77-A|knurled, 12 mm\n", {2: "sku: 77-A - desc: knurled, 12 mm"}),
        ("excel.csv", "sep=;\nwho;what\nAnn;oats\n", {3: "who: Ann - what: oats"}),
        ("lines.csv", 'who,what\nAnn,"oats\nand hay"\n\nBob,rye,extra\n',
         {2: "who: Ann - what: oats and hay", 5: "who: Bob - what: rye - extra"}),
        ("wrapped.csv", '"who\nis it",what\nAnn,oats\n', {3: "who is it: Ann - what: oats"}),
        ("one.csv", "notes\nhello, world\nfoo, bar\n", {2: "notes: hello, world", 3: "notes: foo, bar"}),
        ("names.csv", "Name,Year\n", {1: "Name - Year"}),
        ("fewer.csv", "Ship,Port\nRosalba,Fowey,late\n", {2: "Ship: Rosalba - Port: Fowey - late"}),
        ("above.csv", "Ann,May\nDay,Item,Paid\n3 May,rye,4.20\n",
         {1: "Ann - May", 3: "Day: 3 May - Item: rye - Paid: 4.20"}),
        ("report.csv", "Ann,May\n\nWho,What,Why\nBob,rye,hay\n",
         {1: "Ann - May", 4: "Who: Bob - What: rye - Why: hay"}),
        ("notes.csv", "# from Ann, May\n# of rye\n# and hay\nyear,level\n2020,33\n",
         {1: "# from Ann - May", 2: "# of rye", 3: "# and hay", 5: "year: 2020 - level: 33"}),
        ("numbers.csv", "# rye\n2020,33\n2021,34\n", {1: "# rye", 2: "2020 - 33", 3: "2021 - 34"}),
        ("hash.csv", "#year,level\n2020,33\n", {2: "#year: 2020 - level: 33"}),
        ("data.csv", "Payee,Amount\nAnn,4.20,hay\nBob,3.10,rye\n",
         {2: "Payee: Ann - Amount: 4.20 - hay", 3: "Payee: Bob - Amount: 3.10 - rye"}),
        ("escaped.csv", 'id,quote,who\n1,"Say \\"haul, lads\\" to us",Ann\n2,"C:\\hay\\",Bob\n',
         {2: 'id: 1 - quote: Say "haul, lads" to us - who: Ann', 3: "id: 2 - quote: C:\\hay\\ - who: Bob"}),
        ("blanks.csv", 'id, name, trade\n1, "Fishwick, Ned", salter\n2, 3" pipe, "\n',
         {2: "id: 1 - name: Fishwick, Ned - trade: salter", 3: 'id: 2 - name: 3" pipe - trade: "'}),
        ("tags.csv", "who,what\nAnn,<p>o<b>at</b>s &amp; <br/>hay</p>\nBob,a<b and c>d &lt; <i>\n",
         {2: "who: Ann - what: oats & hay", 3: "who: Bob - what: a<b and c>d &lt; <i>"}),
        ("empty.csv", "", {}),
    ],
)  # fmt: skip
def test_a_table_without_a_column_of_texts_is_read_row_by_row(name, data, expected):
    assert rows(name, data) == expected


@pytest.mark.parametrize(
    "data",
    [
        "2024-07-07,Baker,4.20\n2024-07-08,Farrier,88\n",
        "07.07.2024;Baker;4,20\n08.07.2024;Farrier;88,00\n",
        "1,2\n3,4\n",
        "Baker,€ 4.20\nFarrier,€ 88.00\n",
    ],
)
def test_a_table_whose_first_row_is_data_has_no_names(data):
    first = data.split("\n")[0].replace(";", " - ").replace(",", " - " if ";" not in data else ",")
    assert rows("a.csv", data)[1] == first


@pytest.mark.parametrize("name", ["2023", "2024-01-31"])
def test_years_and_dates_above_numbers_are_names(name):
    assert rows("a.csv", f"Region,{name}\nAnn,5\n") == {2: f"Region: Ann - {name}: 5"}


def test_a_column_of_a_table_may_have_no_name():
    assert rows("a.csv", ",color\nApple,red\n") == {2: "Apple - color: red"}
    assert rows("a.csv", "name,,note\nAnn,x,tall\n") == {2: "name: Ann - x - note: tall"}


def test_lines_above_the_names_of_a_statement_are_read_too():
    table = "Date;Payee;Amount\n1.2.24;Baker;12,5\n2.2.24;Farrier;3,0\n"
    found = rows("statement.csv", f"Statement of Ms. Moss, private\nIBAN;DE12\n\n{table}")
    assert found[1] == "Statement of Ms. Moss, private" and found[2] == "IBAN - DE12"
    assert found[6] == "Date: 2.2.24 - Payee: Farrier - Amount: 3,0"


def test_rows_of_jsonl_and_parquet_have_all_their_columns():
    row = {
        "ts": 51,
        "user": {"name": "Ann", "tags": ["a", "b"]},
        "items": [{"sku": "x"}, {"sku": "y"}],
        "v": [0.5] * 99,
    }
    text = "ts: 51 - user.name: Ann - user.tags: a, b - items.sku: x - items.sku: y"
    assert rows("a.jsonl", f"\n{json.dumps(row)}\n") == {2: text}
    assert rows("a.jsonlines", '["Ann", 5]\n"on a \\"text\\""\n[[1], {"a": "b"}]') == {
        1: "Ann, 5",
        2: 'on a "text"',
        3: "1 - a: b",
    }
    assert rows("a.json", f'[\n{json.dumps({**row, "text": "hay"})},\n\n{{"text": "o\tats", "n": [1]}}]') == {
        2: f"hay\n\n{text}",
        4: "o\tats\n\nn: 1",
    }
    assert rows("a.json", '[{"who": "Ann", "is": [1, 2]},\n{"who": "Bob"}]') == {
        1: "who: Ann - is: 1, 2",
        2: "who: Bob",
    }
    assert rows("a.parquet", parquet(ts=[51, 52], who=["Ann", None])) == {1: "ts: 51 - who: Ann", 2: "ts: 52"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (["oats", "and\nhay"], "oats\nand\nhay"),
        ([{"type": "text", "text": "Haul."}, {"type": "call", "input": {"text": "Ann"}}, {"content": None}],
         "Haul.\ntype: call - input.text: Ann"),
        ({"en": "hay", "de": ["Heu"]}, "en: hay - de: Heu"),
    ],
)  # fmt: skip
def test_objects_and_lists_in_a_column_of_texts_are_read_as_text(content, text):
    assert rows("a.jsonl", json.dumps({"content": content})) == {1: text}


def test_a_chosen_column_narrows_the_text_of_a_row():
    (first, _) = read_bytes("bank.csv", BANK.encode(), Columns(text="Payee"))
    assert (first.text, first.record) == ("Farrier Tolliver", "1")


def test_rows_are_named_by_their_ids_and_titles():
    (row,) = read_bytes("a.csv", b"id,title,price\nk7,Oats,3\n")
    assert (row.id, row.record, row.title) == ("a.csv#k7", "k7", "Oats")
    (row,) = read_bytes("a.csv", b"food,price\noats,3\n")
    assert (row.id, row.record, row.title) == ("a.csv#1", None, "a.csv")


def test_a_line_of_jsonl_in_another_encoding_or_after_nuls_is_read():
    data = b'{"who": "Ann"}\n' + b"\0" * 64 + '{"who": "Göttingen"}\n'.encode("latin-1")
    assert rows("a.jsonl", data) == {1: "who: Ann", 2: "who: Göttingen"}


def test_rows_without_words_are_bounded_and_counted():
    left_out = LeftOut()
    data = "a,b\nalpha,1\n" + "1,2\n" * (MOST_WITHOUT_WORDS + 5) + "beta,1\n"
    *_, last = read_bytes("a.csv", data.encode(), left_out=left_out)
    assert left_out.n_lines == 5 and "has no words" in str(left_out) and last.text == "a: beta - b: 1"
