import time

import pytest

from cdesearch.search.exact import MAX_TERMS, ExactTerm, exact_evidence, exact_terms, is_exact, is_quoted


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("should_strip_auth", ["should_strip_auth"]),
        ("how does HTTPError differ from getItem in os.path.join", ["HTTPError", "getItem", "os.path.join"]),
        ("--dry-run and -x of rsync", ["--dry-run", "-x"]),
        ("ORA-00942 after error E1234, or F.75", ["ORA-00942", "E1234", "F.75"]),
        ("__init__ of Foo::bar", ["__init__", "Foo::bar"]),
        ("celery()", ["celery"]),
        ("don't use state-of-the-art models, e.g. version 3.14 of 2 January", []),
        ('the "retry   policy" of “two words”', ["retry policy", "two words"]),
        ("»Guten Tag« or ”god morgon” or 『会議録』", ["Guten Tag", "god morgon", "会議録"]),
    ],
)
def test_names_options_codes_and_quoted_phrases_are_terms(query, terms):
    assert [term.text for term in exact_terms(query)] == terms


def test_a_long_query_has_a_limited_number_of_terms():
    assert len(exact_terms(" ".join(f"name_{number}" for number in range(99)))) == MAX_TERMS
    assert exact_terms(f'"{"a" * 999}" b') == ()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("14 February 2023", True),
        ("885 euros", True),
        ("getItem", True),
        ("885 euros a month", False),
        ("two 12", False),
    ],
)
def test_a_name_a_date_or_a_number_with_its_unit_is_exact(query, expected):
    assert is_exact(query) == expected


def test_only_a_query_of_quoted_phrases_is_quoted():
    assert is_quoted('"to be" “or not”')
    assert not is_quoted('" "') and not is_quoted('"a"')  # nothing in them is a term
    assert not is_quoted('"to be" or not') and not is_quoted("to be") and not is_quoted("")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("foo_bar", "    async def foo_bar("),
        ("foo_bar", "foo_bar: int = 3"),
        ("foo_bar", "static int\nfoo_bar (int a,\n  char b)\n{"),
        ("foo_bar", "    foo_bar(a, b) {\n"),
        ("foo_bar", "pub(crate) fn foo_bar<T>("),
        ("foo_bar", "func (r *X) foo_bar("),
        ("foo_bar", "## `foo_bar()`"),
        ("foo_bar", "``foo_bar``\n~~~~~~~~~~~"),
        ("foo_bar", "`a.foo_bar(b)`"),
        ("Foo.bar", "    def bar(self)"),
        ("HttpError", "export default class HttpError {"),
        ("HttpError", "#define HttpError 3"),
        ("--foo", "  -f, --foo=X  does it"),
        ("--foo", "* `--foo` does it"),
        ("MAX_TUNA", "    MAX_TUNA = 5"),
        ("MAX_TUNA", "  protected static final long MAX_TUNA = 30L;"),
        ("tunaIndex", "  private final Map<String, List<Integer>> tunaIndex;"),
        ("TunaName", "    public string TunaName { get; set; }"),
        ("CountTuna", "public static int CountTuna(List<Tuna> l) => l.Count;"),
        ("drainTank", "void TunaTank::drainTank(int n)\n{"),
        ("fetchTuna", "  suspend fun fetchTuna(id: Int): Tuna?"),
        ("toTuna", "fun String.toTuna() = Tuna(this)"),
        ("TunaFrozen", "case object TunaFrozen extends State"),
        ("saltTuna", "private[fish] def saltTuna[F[_]]("),
        ("findTuna", "  findTuna(id: string): Promise<Tuna>;"),
        ("onTunaClick", "  onTunaClick = (e: Event) => {"),
        ("boardTuna", "module.exports.boardTuna = function (x) {"),
        ("gut_tuna", "M.gut_tuna = function(a)"),
        ("swim_tuna", "function M:swim_tuna()"),
        ("land_tuna", "  def self.land_tuna(x)"),
        ("tuna_label", "  attr_accessor :name, :tuna_label"),
        ("tunaTooSmall", "    case tunaTooSmall(Int)"),
        ("TUNA_TOKEN", "export TUNA_TOKEN=abc"),
        ("tuna_berths", "CREATE TABLE IF NOT EXISTS public.tuna_berths ("),
        ("tuna_region", 'variable "tuna_region" {'),
        ("tuna_store", 'resource "aws_s3_bucket" "tuna_store" {'),
        ("tuna-gateway", "  name: tuna-gateway"),
        ("TunaRequest", "message TunaRequest {"),
        ("tuna_timeout", "  @tuna_timeout 5000"),
        ("TUNA-214", "# TUNA-214: the boat was late"),
    ],
)
def test_a_definition_is_recognised(name, text):
    assert ExactTerm(name).is_defined_in(f"something\n{text}\nmore")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("foo_bar", "x = foo_bar(1)"),
        ("foo_bar", "int foo_bar (int a);"),
        ("foo_bar", "  if (foo_bar (x)) {"),
        ("foo_bar", "return foo_bar(x) {"),
        ("foo_bar", "# the class foo_bar is"),
        ("foo_bar", "def foo_bar_baz(self):"),
        ("foo_bar", "foo_bar == 3"),
        ("HttpError", "except HttpError:"),
        ("HttpError", "class httperror:"),
        ("--foo", "use --foo here"),
        ("--foo", "--foo-bar"),
        ("getTuna", "  getTuna(x);"),
        ("getTuna", "if (a == getTuna(x)) {"),
        ("getTuna", "  foo(getTuna, c)"),
        ("tuna_id", "WHERE tuna_id = 3"),
        ("getTuna", "  case getTuna:"),
        ("getTuna", "import { getTuna } from 'x'"),
        ("tuna_id", "  land(tuna_id=3)"),
        ("TunaTank", "  TunaTank::drain(x)"),
        ("getTuna", "  x: getTuna,"),
    ],
)
def test_a_use_is_no_definition(name, text):
    assert not ExactTerm(name).is_defined_in(f"something\n{text}\nmore")


def evidence_of(texts):
    return exact_evidence(ExactTerm("should_strip_auth"), texts, 100)


def test_a_definition_has_more_evidence_than_a_use_and_a_chunk_without_the_name_has_none():
    texts = [("", "it should strip auth"), ("", "x = should_strip_auth()"), ("", "def should_strip_auth(")]
    none, use, definition = evidence_of(texts)
    in_header = evidence_of([("def should_strip_auth()\n", "pass")])[0]
    assert none == use == in_header == 0 < definition  # full text knows the name as a word
    phrase = exact_evidence(ExactTerm("strip auth", is_phrase=True), [("", "it should strip auth"), ("", "auth")], 100)
    assert phrase[0] > phrase[1] == 0


def test_a_chunk_made_to_confuse_the_patterns_is_examined_quickly():
    started = time.thread_time()
    for text in ("* ** & " * 300 + "foo_bar", "foo_bar(" * 500, "a b c " * 300 + "foo_bar(" + ")" * 900, " " * 5000):
        ExactTerm("foo_bar").is_defined_in(text)
    assert time.thread_time() - started < 0.5


def test_quotation_marks_that_are_not_closed_take_no_time_of_their_square():
    started = time.thread_time()
    for mark in '"„“«「':
        exact_terms(f"{mark}a " * 30_000)
    assert time.thread_time() - started < 8


@pytest.mark.parametrize(
    "piece",
    [
        "](",
        "](a)",
        "][a]",
        "[[a|",
        "<a",
        "<a>",
        "*",
        "* ",
        "a*",
        "[^a]",
        ":a:`",
        "&a",
        "_ _",
        "--",
        "\n#",
        "\n>",
        "\\\n",
        "-\n",
    ],
)
def test_markup_that_repeats_takes_no_time_of_its_square_in_a_phrase(piece):
    started = time.thread_time()
    for phrase in ("a b c d", "aaaa", "__ _ _ __", "a, b"):
        ExactTerm(phrase, is_phrase=True).count("a" + piece * 3000)
    assert time.thread_time() - started < 8


def test_a_word_of_a_hundred_thousand_letters_takes_no_time_of_its_square():
    assert [term.text for term in exact_terms(f"{'x' * 100_000} get_item {'A' + 'a' * 100_000}")] == ["get_item"]


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("don't paint", "said don\u2019t paint the pergola"),
        ("well-known it's", "a well\u2011known it\u02bcs"),
        ("to be or not to be", "To be, or not to be: that is it."),
        ("state of the art winch", "A state-of-the-art winch"),
        ("long-awaited, ballot", "The long awaited ballot"),
        ("ladders ropes and buckets", "- Ladders,\n- **ropes**\n- and (buckets)"),
        ("no more turnips,", "There are no more turnips."),
        ("2020-2024", "in 2020\u20132024"),
        ("don\u2019t", "I don't."),
        ("東京タワー", "新幹線は速いです。東京タワーに行きました。"),
        ("北京吃烤鸭", "我们在北京吃烤鸭。"),
        ("六月三日到期", "合同于**六月**\n三日到期"),
        ("creme brulee", "La crème brûlée est prête."),
        ("creme brulee", "creme-brulee.md\nLa crème et la crème brûlée"),
        ("все еще идет", "Всё ещё идёт дождь"),
        ("كتب الولد", "كَتَبَ الوَلَدُ الدَّرْسَ"),
        ("docker", "使用docker部署服务器"),
        ("6月3日に終了", "契約は6月3日に終了します"),
        ("전기 요금", "전기 요금을 냈다"),
        ("some bold, word of code", "Some **bold**, word of `code`"),
        ("the link text here", "the [link text](http://x/a_b) here"),
        ("fee and the page now", "fee[^1] and the [[page]] _now_"),
        ("very hot", "_very hot_ oven"),
        ("max_connections", r"set max\_connections to 9"),
        ("Tom & Jerry", r"Tom \& Jerry"),
        ("*star* and [draft]", r"\*star\* and \[draft\]"),
        ("unbelievable", "un**believ**able"),
        ("of AT&T here", "of AT&amp;T here"),
        ("caf\u00e9 now", "caf&eacute;&nbsp;now"),
        ("press Esc now", "press <kbd>Esc</kbd> now"),
        ("red text", 'a <span style="color: red">red</span> text'),
        ("marked words", "==marked== words"),
        ("code text it is", "=code= text /it/ is"),
        ("Oven \u00b7 230 \u00b0C", "| Oven | 230 \u00b0C |"),
        ("computes the C# tonnage", "# It computes the\n# C# tonnage."),
        ("every sack of barley", "/**\n * Weighs every sack of\n * barley.\n */"),
        ("geese on the common", "  /// The geese on\n  /// the common\n"),
        ("geese on the common", "-- The geese on\n-- the common\n;; or"),
        ("need the booster", "> > They need\n> > the booster"),
        ("need the booster", ">They need\n>the booster"),
        ("in.mp4 -vf scale=640", "ffmpeg -i in.mp4 \\\n  -vf scale=640"),
        ("forge are cracked", "The forge\\\nare cracked."),
        ("The superintendent of", "The super-\nintendent of it"),
        ("The superintendent of", " * The super-\n * intendent of it"),
        ("the non-ferrous AB-QX", "the non-\n  ferrous AB-\nQX"),
        ("ask Ann about the (long) link", "ask [[people/Ann|Ann]] about the [(long) link](<a b> 'c')"),
    ],
)
def test_a_phrase_is_found_with_other_apostrophes_hyphens_and_markup_and_within_unspaced_text(phrase, text):
    (term,) = exact_terms(f'"{phrase}"')
    assert term.count(text) == 1


@pytest.mark.parametrize(
    ("phrase", "text"),
    [("foo", "foo_bar"), ("foo bar", "a foo_bar"), ("init it", "__init__ it"),
     ("foobar", "foo_bar"), ("foobar", "foo bar"), ("a b", "a | b"), ("and more", "<and> more"),
     ("기 요금", "전기 요금"), ("6月", "16月"), ("está ya", "esta ya")],
)  # fmt: skip
def test_a_phrase_is_no_part_of_a_name_or_of_other_text(phrase, text):
    assert ExactTerm(phrase, is_phrase=True).count(text) == 0
