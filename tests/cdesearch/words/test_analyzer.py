"""A query finds a text whichever spelling of its words each of them uses."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.words.analyzer import LONGEST, path_words, query_words, runs_of, text_words


def finds(query, text, language="en"):
    """Whether the text has a word of the query that counts fully."""
    words = text_words(text, language).split(" ")
    return any(weight >= 1 and word in words for word, weight in query_words(query, [language]).items())


def finds_as_whole(query, text):
    """Whether the text has the first word of the query, which is the name itself."""
    return next(iter(query_words(query, ["en"]))) in text_words(text, "en").split(" ")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cancel shipment", "await cancelShipment(order)"),
        ("shipments", "def cancel_shipment(order):"),
        ("cancelShipment", "cancel-shipment"),
        ("CANCEL_SHIPMENT", "cancelShipment"),
        ("http server", "class HTTPServer2:"),
        ("HTTPServer2", "httpserver2"),
        ("rfc 2616", "see RFC2616"),
        ("os.path.join", "from os.path.join"),
        ("join", "os.path.join(a)"),
        ("troubleshooting", "sourdough-troubleshooting.md"),
        ("me@example.org", "Mail: ME@example.org."),
        ("C++", "written in C++ and C#"),
        ("email", "an e-mail"),
        ("email", "an e\u2011mail"),
        ("2020-2024", "in 2020\u20132024"),
        ("12 µA", "a current of 12 μA"),
        ("12µA", "a current of 12 µA"),
        ("14800", "a sum of 14,800 euros"),
        ("815", "4711,815,4242"),
        ("20", "10,20,30"),
        ("8080", "10.0.0.1:8080"),
        ("10.0.0.1", "10.0.0.1:8080"),
        ("2024", "in 2023/2024"),
        ("11.575", "48.137,11.575"),
        ("17.05.2024", "Protokoll_2024-05-17.md"),
        ("2.4", "at 2.4GHz"),
        ("ghz", "at 5GHz"),
        ("2.10", "2.10.3-beta"),
        ("oauth", "OAuth2"),
        ("0800555010", "0800-555-010"),
        ("9783161484100", "978-3-16-148410-0"),
        ("+49301234567", "+49 (0)30 1234567"),
        ("14,800", "a sum of 14 800 euros"),
        ("1428", "1,428.00"),
        ("1.428,00", "1428"),
        ("3.5", "3,5 kg"),
        ("Goethestraße", "Goethestr. 5, Berlin"),
        ("Goethestr.", "in der Goethestraße"),
        ("Straße", "Berliner Str. 5"),
        ("10:30", "um 10.30 Uhr"),
        ("1234.50", "CHF 1\u2019234.50"),
        ("123456", "\u20b91,23,456.00"),
        ("3450.50", "بمبلغ ٣٬٤٥٠٫٥٠"),
        ("17.05.2024", "am 17.05.24"),
        ("17.5.2024", "2024/5/17"),
        ("2024-05-17", "17.05.2024 10:32"),
        ("2024-05", "2024-05-17T10:32"),
        ("2024-05-17", "on 17 May 2024"),
        ("2024-05", "on Friday, May 17th, 2024."),
        ("10.31.7", "ip=10.31.7.204"),
        ("192.168.1", "192.168.1.77"),
        ("192.168.178", "192.168.178.100"),
        ("17/05/2024", "2024-05-17"),
        ("17.05.2024", "on 05/17/2024"),
        ("2024-05-17", "IMG_20240517_101112.jpg"),
        ("2.17.1", "log4j-2.17.1.jar"),
        ("3.1", "with llama3.1"),
        ("2024-31337", "CVE-2024-31337"),
        ("2.10", "Version v2.10.3"),
        ("a1b2c3d", "commit a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"),
        ("550e840", "id 550e8400-e29b-41d4-a716-446655440000"),
        ("9f86d08", "app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("9f86d081884c7d65", "app@sha256:9f86d081884c7d65"),
        ("2024-0815", "Invoice AB-2024-0815"),
        ("0815", "A-2024/0815"),
        ("5432", "host db01:5432"),
        ("0054012", "BA0054012"),
        ("DE89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00"),
        ("DE89 3704 0044 0532 0130 00", "iban: DE89370400440532013000"),
        ("+49 30 901820", "+4930901820"),
        ("901820", "+49 30 901820"),
        ("030901820", "Tel.: 030 / 90 18 20"),
        ("0341 99887766", "034199887766"),
        ("06.12.34.56.78", "06 12 34 56 78"),
        ("212-555-0147", "(212) 555-0147"),
        ("4111-1111-2222-3333", "4111 1111 2222 3333"),
        ("001b44113ab7", "mac 00:1B:44:11:3A:B7"),
        ("2024-05-17", "room 0301 2024-05-17"),
        ("C++", "in C++17"),
        ("47", "PO#47"),
        ("resume", "your résumé"),
        ("résumé", "resume"),
        ("O'Brien", "Mr. O\u2019Brien"),
        ("обʼєднання", "Об’єднання зустрілося"),
        ("Thingvellir", "in Þingvellir"),
        ("4567", "بمبلغ ٤٥٦٧ دينار"),
        ("كتاب", "کتاب\u200cها"),
        ("میخواهم", "می\u200cخواهم"),
        ("مصطفى", "مصطفي"),
        ("हिन्दी", "हिंदी"),
        ("कलम", "क़लम"),
        ("申し込み", "申込は金曜日まで"),
        ("行く", "図書館へ行きました"),
        ("✅", "✅ paid"),
        ("\u23eb", "- [ ] sow \u23eb \u23f3 2024-05-17"),
        ("\u25b6", "press \u25b6\ufe0f"),
        ("\U0001f195", "\U0001f195 lamp"),
        ("\u2139\ufe0f", "\u2139 opening hours"),
        ("photographer", "the photo-\n    grapher came"),
        ("東京", "東京都の人口"),
        ("京", "東京都"),
        ("合同", "签订合\n同的时候"),
        ("天气", "今 天 天 气 好"),
        ("전기", "이번 달 전\n기 요금"),
        ("물", "따뜻한\n물"),
        ("サーバー", "ｻｰﾊﾞｰを起動"),
        ("서울", "서울에서 만나요"),
        ("책", "책을 읽다"),
        ("api", "API를 호출"),
        ("모델", "GPT모델"),
        ("ספר", "והספר נקרא"),
        ("ירושלים", "בירושלים"),
        ("ملفات", "والملفات"),
        ("น้ำ", "ดื่มน้ำเย็น"),
    ],
)
def test_a_query_finds_another_spelling(query, text):
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text", "language"),
    [
        ("Prüfungen", "die Prüfung", "de"),
        ("Muenchen", "in München", "de"),
        ("Grösse", "Größe", "de"),
        ("état", "les états", "fr"),
        ("etat", "les états", "fr"),
        ("файл", "временные файлы", "ru"),
        ("houses", "das house", "de"),
    ],
)
def test_words_are_found_by_the_stems_of_their_language(query, text, language):
    assert finds(query, text, language)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("10.31.7.204", "Rooms 204, 31, 7 and 10 were painted."),
        ("10.31.7.204", "10.31.7.205"),
        ("2024-05-17", "2024-05-18"),
        ("a1b2c3d4e5f6a7b8", "a1b2c3d4ffffffff"),
        ("v2.10.3", "v2.10.4"),
        ("99.99.2024", "9 2024"),
        ("192.168.1", "192.168.17.1"),
        ("paradise", "parade"),
        ("expertise", "expert"),
        ("improvise", "improve"),
    ],
)
def test_another_number_or_word_is_not_found(query, text):
    assert not finds(query, text)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("17 May 2024", "2024-05-17"),
        ("on may 17th, 2024:", "2024-05-17"),
        ("[17/May/2024:10:32]", "2024-05-17"),
        ("17th of May, 2024", "2024-05-17"),
        ("7. Dez. 2024", "2024-12-07"),
        ("7 de dezembro de 2024", "2024-12-07"),
        ("le 7 décembre 2024", "2024-12-07"),
        ("17 juin 2024", "2024-06-17"),
        ("17 juillet 2024", "2024-07-17"),
        ("2024年7月17日", "2024-07-17"),
        ("2024年7月17号", "2024-07-17"),
        ("2024. 7. 17.", "2024-07-17"),
        ("17. 7. 2024", "2024-07-17"),
        ("17 lipca 2024", "2024-07-17"),
        ("17. července 2024", "2024-07-17"),
        ("17 июля 2024 г.", "2024-07-17"),
        ("17 Ağustos 2024", "2024-08-17"),
        ("17 agosto del 2024", "2024-08-17"),
        ("2024년 7월 17일", "2024-07-17"),
        ("32 May 2024", None),
        ("17 pages 2024", None),
        ("in May 2024", None),
    ],
)
def test_a_date_with_the_name_of_a_month_has_the_words_of_other_dates(text, date):
    assert [word for word in query_words(text, []) if re.fullmatch("2024-..-..", word)] == [date] * bool(date)
    assert (date in text_words(text, "en").split(" ")) == bool(date)


@pytest.mark.parametrize(
    ("query", "is_found"),
    [("minutes of May 2024", True), ("mai 2024", True), ("May 2023", False), ("mayor 2024", False)],
)
def test_a_month_finds_the_dates_in_it(query, is_found):
    assert ("2024-05" in query_words(query, [])) == is_found
    assert "2024-05" in text_words("on 17 May 2024", "en").split(" ")


def test_a_name_is_one_word_more_than_its_parts():
    assert finds_as_whole("should_strip_auth", "x = shouldStripAuth(y)")
    assert not finds_as_whole("should_strip_auth", "it should strip auth")
    assert finds_as_whole("max_size and AT&T", r"max\_size") and finds_as_whole("AT&T", "AT&amp;T")
    marked = "==gr==yphon <u>Wain</u>wright cro<mark>zier</mark> hard&shy;back"
    assert all(finds_as_whole(word, marked) for word in ("gryphon", "wainwright", "crozier", "hardback"))
    assert finds_as_whole("unbelievable", "un**believ**able") and not finds_as_whole("ab", "a * b * c, a**b")


def test_a_word_is_found_as_it_is_even_if_its_language_is_not_known():
    for text, language in (("kleine Häuser", "de"), ("les états", "fr"), ("в доме", "ru")):
        words = text_words(text, language).split(" ")
        assert all(query_words(word, ["en"]).keys() & {*words} for word in text.split(" ")[1:])


def test_two_words_of_a_short_query_may_be_a_name():
    assert query_words("cancel shipment", [])["cancelship"] == query_words("DEC 0054", [])["dec0054"] == 0.5
    assert query_words("set up", [])["setup"] == 0.5 and "theship" not in query_words("the ship", [])
    assert query_words("5V", [])["5"] == 0.5 and "5" in text_words("at 5V", "en").split(" ")
    assert "onetwo" not in query_words("one two three four five six seven eight nine ten", [])


@pytest.mark.parametrize(
    ("query", "text"), [("Müller", "Mr Mueller"), ("Mueller", "Mr Müller"), ("Århus", "Aarhus"), ("Aarhus", "Århus")]
)
def test_an_umlaut_may_be_two_letters_in_any_language(query, text):
    assert query_words(query, []).keys() & {*text_words(text, "en").split(" ")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("color", "colours"),
        ("neighborhood", "neighbourhood"),
        ("favorite", "favourites"),
        ("theater", "theatre"),
        ("kilometers", "kilometres"),
        ("analyzed", "analysed"),
        ("gray", "grey"),
        ("organize", "organisations"),
        ("colorize", "colourise"),
        ("realized", "realising"),
        ("catalogs", "catalogue"),
        ("defense", "defence"),
    ],
)
def test_english_words_have_one_form_in_britain_and_america(one, other):
    assert text_words(one, "en") == text_words(other, "en") != text_words(other, "de")


@pytest.mark.parametrize(
    ("one", "other"), [("child", "children"), ("wolf", "Wolves"), ("matrix", "matrices"), ("criterion", "criteria")]
)
def test_a_query_for_one_also_asks_for_many_and_the_reverse(one, other):
    assert text_words(one, "en") in query_words(other, ["en"]) and text_words(other, "en") in query_words(one, ["en"])


def test_function_words_are_left_out_in_the_language_of_the_text():
    assert text_words("the house and the tree", "en") == "hous tree"
    assert text_words("das Haus und der Baum", "de") == "haus baum"
    assert text_words("die hard", "en") == "die hard"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("0341 99887766", "+49 (0)341 998877-66"),
        ("998877-66", "+49 (0)341 998877-66"),
        ("99887766", "0341/998877-66"),
        ("415-555-2671", "+1-415-555-2671"),
        ("867-5309", "(555) 867-5309"),
        ("+491712345678", "0171 / 2345678"),
        ("0171 2345678", "TEL:+491712345678"),
    ],
)
def test_a_telephone_number_is_found_without_its_codes(query, text):
    assert query_words(query, []).keys() & {*text_words(text, "en").split(" ")}


def test_dates_and_decimals_are_no_telephone_numbers():
    assert text_words("04.05.2024 0.123456789", "en") == "2024-05-04 2024-05 2024 0.123456789"


def test_a_flag_is_a_word_of_two_letters():
    assert text_words("\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea", "en") == "\U0001f1eb\U0001f1f7 \U0001f1e9\U0001f1ea"


def test_the_name_of_a_file_counts_twice_and_only_its_last_folders_count():
    words = path_words("a/b/projects/apollo/docs/landing-plan.md").split(" ")
    assert words.count("land") == 2 and {"project", "apollo", "doc"} < {*words} and "b" not in words
    assert query_words("landing-plan.md", []).keys() <= {*words}


def test_the_name_of_a_file_has_the_forms_of_its_language_too():
    words = path_words("Rechnungen/Überweisungen.md", "de").split(" ")
    assert query_words("Rechnung Überweisung", ["de"]).keys() & {*words} == {"rechnung", "uberweis"}
    assert {"uberweisungen", "md"} < {*words}


def test_runs_of_letters_that_are_data_have_no_parts():
    data = "aB3" * 100
    assert text_words(data, "en") == "" == text_words("x" * 50_000, "en")
    assert all(len(word) <= LONGEST for word in text_words(f"{data}.{data}", "en").split(" "))


@pytest.mark.parametrize(
    "piece", ["a", "a.", "1", "1 ", "1,", "1:", "123 ", "AB12 ", "+1 2", "a-", "aB", "é", " ()/-", "1 May "]
)
def test_a_text_that_repeats_what_joins_words_takes_no_time_of_its_square(piece):
    started = time.thread_time()
    text_words(f"AB12 +49{piece * 50_000} {piece * 50_000}", "en")
    assert time.thread_time() - started < 3


@given(st.text(max_size=200), st.sampled_from(["en", "de", "ar", "ja", "he", "xx"]))
def test_a_text_finds_itself_and_has_words_without_spaces(text, language):
    words = text_words(text, language)
    assert not any(map(str.isspace, words.replace(" ", "")))
    asked = query_words(text, [language])
    assert not (runs_of(text) and asked and words and not asked.keys() & {*words.split(" ")})
