from dataclasses import replace

import pytest
from scripted_model import speaking

from cdesearch.answer.answer import LEAST_SHARE, NOT_ANSWERED, WrittenAnswer, quoted_answer
from cdesearch.answer.endpoint import Endpoint
from cdesearch.answer.extract import MAX_COSINE, MAX_SENTENCES, CorpusView, extract, with_asked_kind
from cdesearch.errors import LanguageModelError
from cdesearch.search.passages import Passage, fit_passages
from cdesearch.store.schema import Chunk, Hit

DOCUMENTS = {
    "moon.md": "# The moon\n\nThe moon is grey. Its gravity pulls the tides of the sea. Nobody lives there.",
    "bread.md": "# Bread\n\nKnead the dough.\n\n- Let it rise for two hours.\n- Bake it at 220 degrees.",
    "copy.txt": "Its gravity pulls the tides of the sea. Sailors read the tables of a harbour before they leave it.",
    "cats.md": "# Cats\n\nA cat purrs when it is content. Kittens sleep for most of the day.",
    "heat.py": "def boil(water):\n    heat(water, degrees=100)\n    return water\n",
}


@pytest.fixture(scope="module")
def searcher(searcher_of):
    """A searcher with the default model, because the tests check whether sentences answer questions."""
    return searcher_of(DOCUMENTS)


@pytest.fixture(scope="module")
def corpus(searcher):
    return CorpusView(searcher.encoder, searcher.index.context, searcher.index.vectors)


def found(searcher, question):
    hits = searcher.search(question, 20)
    return hits, fit_passages(hits, 1000, searcher.encoder.tokenizer)


def passage_of(text):
    return Passage("a.md", "a.md", None, "A", (), text, 1, None, None, None, 1.0, ("1",))


def quoted(question, text, corpus):
    return [quote.text for quote in extract(question, [passage_of(text)], corpus)]


def test_the_sentence_that_answers_is_quoted_with_its_line(searcher, corpus):
    hits, passages = found(searcher, "how hot must the oven be to bake bread?")
    answer = quoted_answer("how hot must the oven be to bake bread?", hits, passages, corpus)
    number = 1 + [passage.path for passage in answer.passages].index("bread.md")
    assert answer.cited == tuple(range(1, len(answer.cited) + 1))
    assert f"Bake it at 220 degrees. [{number}]" in answer.text.split("\n")
    assert number in answer.cited and answer.is_answered and answer.model is None
    lines = {quote.text: quote.line for quote in answer.quotes if quote.passage == number - 1}
    assert lines["Bake it at 220 degrees."] == 6
    assert answer.location(number) == "bread.md:6"


def test_causes_short_sentences_and_what_is_below_a_heading_are_quoted(corpus):
    text = "Nobody could log in on Friday. The cause was an expired certificate. Ann has renewed it at ten."
    assert "The cause was an expired certificate." in quoted("why could nobody log in on Friday", text, corpus)
    text = "The server listens to clients at this port. Default is 6379.\n\n" + "Clients wait for a port. " * 2
    whole = "The server listens to clients at this port. Default is 6379."
    assert [one for one in quoted("what is the default port", text, corpus) if "6379" in one] == [whole]
    text = "# How are the waiting tasks purged?\n\nRun the command with -f.\n\n# Waiting\n\n"
    text += "Tasks wait until they are purged. Waiting tasks are kept in a queue. "
    text += "A purged task is never waiting again. Nobody has purged the tasks that are waiting."
    assert "Run the command with -f." in quoted("how are the waiting tasks purged", text, corpus)


def test_sentences_that_say_the_same_are_quoted_once(searcher, corpus):
    _, passages = found(searcher, "what pulls the tides of the sea?")
    quotes = extract("what pulls the tides of the sea?", passages, corpus)
    assert 1 <= len(quotes) <= MAX_SENTENCES
    assert [("tides" in quote.text) for quote in quotes].count(True) == 1
    vectors = corpus.encoder.encode([quote.text for quote in quotes], "document", corpus.context)
    assert all(vectors[i] @ vectors[j] <= MAX_COSINE + 1e-4 for i in range(len(quotes)) for j in range(i))


@pytest.mark.parametrize("question", ["meter on 1 March 2025", "meter on 2025-03-01", "what was the meter in March"])
def test_the_row_with_the_date_of_the_question_is_quoted(question, corpus):
    rows = "".join(f"\n| 2025-{month:02}-01 | {month}210 |" for month in range(1, 13))
    assert "2025-03-01 · 3210" in quoted(question, f"| Date | Meter |\n|---|---|{rows}", corpus)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How much was the deposit?", "It is \u00a31,387.50."),
        ("Wie viel kostet der Anstrich?", "Er kostet 2.450 Euro."),
        ("What is the address of the landlord?", "Ann Holloway 17 Bramble Close Leeds LS7 3QT"),
        ("Wo wohnt Sabine?", "Sabine Kessler Lindenstra\u00dfe 14 50674 K\u00f6ln"),
        ("Who is the landlord?", None),
        ("What is the IP address?", None),
    ],
)
def test_texts_with_a_sum_or_an_address_are_preferred_if_the_question_asks_for_one(question, found):
    others = ["Since 2024 Ann has paid 20 times.", "Call 0191 384 2200."]
    assert with_asked_kind(question, [*others, found or "Ann, 50674 K\u00f6ln, 3 \u20ac"]).tolist() == [
        0,
        0,
        found is not None,
    ]


def test_without_evidence_nothing_is_answered(searcher, corpus):
    question = "which visa is required for a journey to Japan?"
    hits, passages = found(searcher, question)
    assert passages and not quoted_answer(question, hits, passages, corpus).is_answered
    best = max(hit.confidence for hit in found(searcher, "when does a cat purr?")[0])
    assert best > 5 * max(hit.confidence for hit in hits)
    assert not quoted_answer(question, (), (), corpus).is_answered


def test_unlikely_passages_are_not_quoted_beside_likely_ones(searcher, corpus):
    hits, passages = found(searcher, "what pulls the tides of the sea?")
    limit = LEAST_SHARE * max(hit.confidence for hit in hits)
    unlikely = {hit.chunk.id for hit in hits if hit.confidence < limit}
    answer = quoted_answer("what pulls the tides of the sea?", hits, passages, corpus)
    assert unlikely and answer.cited
    assert all(unlikely.isdisjoint(answer.passages[number - 1].chunk_ids) for number in answer.cited)


def test_code_is_quoted_below_the_sentence_that_leads_to_it(corpus):
    text = "Boil the water like this:\n\n```\nheat(water, 100)\nwait(water)\n```"
    hit = Hit(1, 1.0, Chunk("1", "a.md", None, 0, "a.md", "A", (), text, 0, 1, 6, None), None, None, confidence=0.5)
    answer = quoted_answer("how do I boil the water", [hit], [passage_of(text)], corpus)
    assert answer.text == "Boil the water like this:\n```\nheat(water, 100)\nwait(water)\n```\n[1]"
    assert answer.is_likely
    table = "| Saw | Bought in |\n|---|---|\n| the old saw | 2012 |"
    assert (
        quoted_answer("when was it bought", [hit], [passage_of(table)], corpus).text
        == "Saw: the old saw | Bought in: 2012 [1]"
    )
    less = replace(hit, confidence=0.4)
    assert not quoted_answer("how do I boil the water", [less], [passage_of(text)], corpus).is_likely


def test_a_name_that_no_text_has_is_told(searcher):
    assert searcher.search("how do I bake bread like in Zanzibar").unknown_name == "Zanzibar"
    assert searcher.search("what does the Moon pull in the sea").unknown_name is None


def test_rare_words_of_a_question_count_more_and_question_words_do_not(corpus):
    question = "what is the gravity of the kneaded moon?"
    moon, gravity, none = corpus.coverage(question, ["the moon", "gravity and the moon", "what is the of"])
    assert 0 == none < moon < gravity < 1
    assert corpus.coverage("what is it?", ["what is it?"])[0] == 1


def written(searcher, *pieces, **options):
    _, passages = found(searcher, "tides")
    with speaking(*pieces, **options) as model:
        answer = WrittenAnswer("tides?", passages, Endpoint.parse(model.url, "tiny"))
        return "".join(answer), answer.answer


def test_a_written_answer_contains_the_text_that_was_shown(searcher):
    shown, answer = written(searcher, "\n\nThe moon pulls", " the sea [1]. So", " there [44].\n")
    assert shown == answer.text == "The moon pulls the sea [1]. So there. [no source]"
    assert (answer.cited, answer.n_removed, answer.n_unsourced, answer.model) == ((1,), 1, 1, "tiny")


def test_a_model_that_finds_no_answer_says_so_without_a_mark(searcher):
    shown, answer = written(searcher, NOT_ANSWERED)
    assert shown == NOT_ANSWERED and not answer.is_answered and answer.n_unsourced == 0


@pytest.mark.parametrize("pieces", [(), (" ",), ("\n", "\n")])
def test_a_model_that_writes_nothing_has_failed(searcher, pieces):
    with pytest.raises(LanguageModelError, match="returned an empty answer"):
        written(searcher, *pieces)


def test_the_text_of_a_failing_model_is_kept(searcher):
    _, passages = found(searcher, "tides")
    with speaking("The moon pulls the sea [1]. And", done=False) as model:
        answer = WrittenAnswer("tides?", passages, Endpoint.parse(model.url, "tiny"))
        shown = iter(answer)
        assert next(shown) == "The moon pulls the sea [1]."
        assert next(shown) == " And [no source]"
        with pytest.raises(LanguageModelError, match="in the middle"):
            next(shown)
    assert answer.answer.text == "The moon pulls the sea [1]. And [no source]"
