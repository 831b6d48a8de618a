"""Vectors from a real HTTP server, which fails in every way that servers do."""

import threading
import time

import numpy as np
import pytest
from embedding_server import serving

from cdesearch.encode.backends import endpoint
from cdesearch.encode.backends.endpoint import EmbeddingServer, Endpoint, Patience
from cdesearch.errors import ModelServerError

SECRET = "sk-very-secret"
QUICK = Patience(tries=3, answer_seconds=5.0, wait_seconds=2.0)
TEXTS = [f"the {word} {number}" for number in range(30) for word in ("cat", "dog", "moon", "river water")]


def asked(server, texts=TEXTS, patience=QUICK, key="", client=None):
    client = client or Endpoint(EmbeddingServer.parse(server.url, "tiny", key))
    vectors = np.full((len(texts), 16), np.nan, np.float32)
    for indices, part in client.embed(texts, patience):
        vectors[indices] = part
    return vectors


def failure_of(server, *texts, **options):
    with pytest.raises(ModelServerError) as caught:
        asked(server, list(texts) or ["the cat"], key=SECRET, **options)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value) and server.address in str(caught.value)
    return str(caught.value)


def first(times, fail):
    """A misbehaviour of the first `times` requests."""
    left = [fail] * times
    return lambda handler, texts: left.pop()(handler) if left else False


@pytest.mark.parametrize("writes_lists", [False, True])
def test_every_text_gets_the_vector_of_the_model(server, tiny_encoder, writes_lists):
    server.writes_lists = writes_lists
    np.testing.assert_allclose(asked(server), tiny_encoder.encode(TEXTS, "document", None), atol=1e-6)
    assert sorted(server.embedded) == sorted(TEXTS)


def test_vectors_are_put_in_order_by_their_numbers_and_scaled_to_length_one(server, tiny_encoder):
    server.encode = lambda texts: tiny_encoder.encode(texts, "document", None) * 7
    server.misbehave = lambda handler, texts: handler.embed(texts, lambda rows: rows[::-1]) or True
    np.testing.assert_allclose(asked(server), tiny_encoder.encode(TEXTS, "document", None), atol=1e-6)


def test_a_request_has_a_limited_number_of_texts_and_characters(server):
    long = [f"{'cat ' * 10_000}{number}" for number in range(3)]
    server.encode = lambda texts: np.ones((len(texts), 16), np.float32)
    asked(server, [*TEXTS, *long])
    assert max(map(len, server.requests)) == endpoint.TEXTS
    assert max(sum(map(len, texts)) for texts in server.requests) <= endpoint.CHARACTERS


def test_some_requests_run_at_the_same_time_and_no_more(server):
    running, most, lock = [0], [0], threading.Lock()

    def slowly(handler, texts):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.03)
        with lock:
            running[0] -= 1

    server.misbehave = slowly
    asked(server, [f"cat {number}" for number in range(endpoint.TEXTS * 10)])
    assert 1 < most[0] <= endpoint.REQUESTS


@pytest.mark.parametrize(
    "fail",
    [
        lambda handler: handler.reply(503, {"error": "loading"}),
        lambda handler: handler.reply(500, b"<html>"),
        lambda handler: handler.reply(429, {"error": {"message": "slow down"}}),
        lambda handler: handler.cut(),
        lambda handler: handler.reply(200, b"{}", **{"Content-Length": "5000"}) and handler.cut(),
    ],
    ids=["503", "500", "429", "connection cut", "answer cut"],
)
def test_a_temporary_failure_is_repeated(server, tiny_encoder, fail):
    server.misbehave = first(2, fail)
    expected = tiny_encoder.encode(["the cat"], "document", None)
    np.testing.assert_allclose(asked(server, ["the cat"]), expected, atol=1e-6)
    assert len(server.requests) == 3


@pytest.mark.slow
def test_the_wait_that_a_server_asks_for_is_kept(server):
    server.misbehave = first(1, lambda handler: handler.reply(429, {}, Retry_After="1"))
    started = time.monotonic()
    asked(server, ["the cat"])
    assert time.monotonic() - started > 0.9


def test_a_wait_longer_than_the_caller_has_patience_for_ends_the_request(server):
    server.misbehave = first(1, lambda handler: handler.reply(429, {"error": "quota"}, Retry_After="3600"))
    assert "has too many requests (HTTP 429: quota)" in failure_of(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize("part", ["headers", "body", "chunks"])
def test_the_time_limit_holds_for_a_whole_answer_that_arrives_byte_by_byte(server, part):
    server.misbehave = lambda handler, texts: handler.drip(part, seconds=3)
    started = time.monotonic()
    slow = Patience(tries=3, answer_seconds=0.4, wait_seconds=2)
    assert "did not answer within 0.4 seconds. Check the log" in failure_of(server, patience=slow)
    assert time.monotonic() - started < 1.5 and len(server.requests) == 1


def test_a_server_that_is_away_and_one_that_is_silent_are_named(server):
    server.misbehave = lambda handler, texts: handler.delay(0.5)
    silent = Patience(tries=1, answer_seconds=0.1, wait_seconds=0)
    assert "did not answer within 0.1 seconds" in failure_of(server, patience=silent)
    with serving(None) as gone:
        pass
    gone.server_close()
    assert "cannot be reached (Connection refused). Start the server" in failure_of(gone)


def test_a_redirect_is_not_followed_so_that_the_key_reaches_no_other_host(server):
    with serving(None) as other:
        server.misbehave = lambda handler, texts: handler.reply(307, b"", Location=f"{other.url}/embeddings")
        assert "redirects to another address (HTTP 307). Use that address with --model." in failure_of(server)
        assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"
        assert not other.requests


def row(index, embedding):
    return {"index": index, "embedding": embedding}


ONES = [1.0] * 16
TWO = "sent something else than 2 embeddings"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"<html>\n<title>Welcome</title>", "sent no JSON with embeddings, but '<html> <title>Welcome</title>'"),
        (b"", "sent nothing"),
        (b"[" * 100_000, "sent no JSON with embeddings, but '[[["),
        ({"error": f"Unexpected endpoint. {SECRET}"}, "sent an error instead of embeddings: Unexpected endpoint. ***"),
        ({"data": [row(0, ONES)]}, TWO),
        ({"data": [row(0, ONES), row(1, ["1.0"] * 16)]}, TWO),
        ({"data": [row(0, ONES), row(1, ONES), row(1, ONES)]}, "sent 3 embeddings for 2 texts"),
        ({"data": [row(0, ONES), row(1, ONES[1:])]}, "sent embeddings of 15 and 16 numbers"),
        ({"data": [row(0, ONES), row(1, [1e300] * 16)]}, "numbers that are not finite"),
        ({"data": [row(0, ONES), row(1, [0.0] * 16)]}, "sent embeddings of zeros"),
    ],
)
def test_an_answer_that_is_not_an_embedding_for_each_text_is_refused(server, content, part):
    server.misbehave = lambda handler, texts: handler.reply(200, content)
    failed = failure_of(server, "the cat", "a dog")
    assert part in failed and failed.endswith("Check that --model is the URL of an OpenAI-compatible embeddings API.")
    assert len(server.requests) == 1


def test_another_dimension_than_before_is_refused(server):
    client = Endpoint(EmbeddingServer.parse(server.url, "tiny"))
    asked(server, ["the cat"], client=client)
    server.encode = lambda texts: np.ones((len(texts), 8), np.float32)
    with pytest.raises(ModelServerError, match="sent embeddings of 8 and 16 numbers"):
        asked(server, ["the dog"], client=client)


def test_vectors_of_requests_under_way_come_before_the_error_of_another(server):
    """So that a build stores everything that it has asked for."""
    bad, started = "the bad one", threading.Event()

    def play(handler, texts):
        if bad in texts:
            assert started.wait(5)
            return handler.reply(401, {})
        started.set()
        return handler.delay(0.1)

    server.misbehave = play
    texts, found = [*TEXTS, bad], []
    with pytest.raises(ModelServerError):
        for indices, _ in Endpoint(EmbeddingServer.parse(server.url, "tiny")).embed(texts, QUICK):
            found += indices.tolist()
    assert sorted(texts[index] for index in found) == sorted(server.embedded)
    assert server.embedded


def test_a_caller_who_stops_does_not_wait_for_slow_answers(server):
    release = threading.Event()
    begun = threading.Event()

    def play(handler, texts):
        if server.embedded:
            begun.set()
            release.wait(5)

    server.misbehave = play
    parts = Endpoint(EmbeddingServer.parse(server.url, "tiny")).embed(TEXTS * 3, QUICK)
    next(parts)
    assert begun.wait(5)
    started = time.monotonic()
    parts.close()
    assert time.monotonic() - started < 1
    release.set()
