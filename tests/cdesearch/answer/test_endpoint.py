import threading
import time
from dataclasses import replace

import pytest
from scripted_model import delta, scripted, speaking

from cdesearch.answer.endpoint import KEY, MAX_CHARACTERS, ChatStream, Endpoint, chosen_endpoint
from cdesearch.errors import InputError, LanguageModelError

SECRET = "sk-very-secret"
ASKED = [{"role": "user", "content": "why?"}]


def answered(server, *, seconds=5.0, key=SECRET):
    endpoint = replace(Endpoint.parse(server.url, "tiny", key), silence_seconds=seconds)
    return list(ChatStream(endpoint, ASKED))


def failure_of(play, **options):
    with scripted(play) as server, pytest.raises(LanguageModelError) as error:
        answered(server, **options)
    assert SECRET not in str(error.value) and "\n" not in str(error.value)
    return str(error.value)


def test_the_pieces_of_a_stream_arrive_in_order():
    with speaking("The ", "cät", "", " sat.") as server:
        for key in (SECRET, ""):
            assert answered(server, key=key) == ["The ", "cät", " sat."]
        (path, headers, body), (_, without_key, _) = server.requests
    assert "Authorization" not in without_key
    assert path == "/v1/chat/completions" and headers["Authorization"] == f"Bearer {SECRET}"
    assert body == {"model": "tiny", "messages": ASKED, "stream": True, "temperature": 0}


def test_pieces_arrive_before_the_answer_is_complete():
    read = threading.Event()

    def play(handler):
        handler.begin_stream()
        handler.event(delta("first"))
        assert read.wait(5)
        handler.event(delta("second"))
        handler.event("[DONE]")
        handler.close_connection = True

    with scripted(play) as server:
        pieces = iter(ChatStream(Endpoint.parse(server.url, "tiny"), ASKED))
        assert next(pieces) == "first"
        read.set()
        assert list(pieces) == ["second"]


def test_a_server_that_does_not_stream_answers_as_well():
    reply = {"choices": [{"message": {"role": "assistant", "content": "At once."}, "finish_reason": "stop"}]}
    with scripted(lambda handler: handler.reply(200, reply)) as server:
        assert answered(server) == ["At once."]


def test_an_unpaired_surrogate_in_the_answer_can_be_printed():
    with scripted(lambda handler: handler.stream("a\ud800b")) as server:
        assert "".join(answered(server)) == "a?b"


@pytest.mark.parametrize(
    ("status", "content", "part"),
    [
        (401, {"error": {"message": f"Wrong key {SECRET}"}}, "refused the key (HTTP 401). Set a valid key in CDE"),
        (404, {"error": {"message": "model 'tiny' not found"}}, "(HTTP 404: model 'tiny' not found). Check --llm"),
        (429, {"error": "slow\ndown"}, "(HTTP 429: slow down). Wait some seconds"),
        (500, b"<html>", "(HTTP 500: Internal Server Error). Check the log"),
        (400, {"error": {"message": f"bad {SECRET}"}}, "(HTTP 400: bad ***)"),
        (307, b"", "redirects to another address (HTTP 307)"),
        (200, {"choices": "none"}, "sent no chat completion"),
        (200, b"[" * 100_000, "sent a response that is not JSON"),
        (200, {"error": {"message": "out of memory"}}, "reports an error: out of memory."),
    ],
)
def test_each_refusal_is_one_line(status, content, part):
    assert part in failure_of(lambda handler: handler.reply(status, content))


def end(handler):
    handler.close_connection = True


def fail_in_the_stream(handler):
    handler.begin_stream()
    handler.event(delta("The"))
    handler.event({"error": {"message": f"the context of 512 tokens is full {SECRET}"}})
    end(handler)


def stay_silent(handler):
    handler.begin_stream()
    time.sleep(1)


def ping(handler):
    handler.begin_stream()
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        handler.wfile.write(b": ping\n\n")
        handler.wfile.flush()
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("play", "part"),
    [
        (lambda handler: handler.reply(200, b"<html>", "text/html"), "responded with text/html"),
        (fail_in_the_stream, "the context of 512 tokens is full ***"),
        (end, "closed the connection"),
        (lambda handler: handler.stream("The cat", done=False), "stopped in the middle"),
        (stay_silent, "sent no text for 0.3 seconds"),
        (ping, "sent no text for 0.3 seconds"),
    ],
)
def test_a_stream_that_does_not_end_as_it_should_is_a_failure(play, part):
    assert part in failure_of(play, seconds=0.3)


def test_the_time_that_the_reader_takes_is_no_silence():
    with speaking("a", "b") as server:
        endpoint = replace(Endpoint.parse(server.url, "tiny"), silence_seconds=1.0)
        pieces = iter(ChatStream(endpoint, ASKED))
        assert next(pieces) == "a"
        time.sleep(1.5)
        assert list(pieces) == ["b"]


def test_a_model_that_does_not_stop_is_stopped():
    endless = ["word " * 200] * (MAX_CHARACTERS // 1000 + 1)
    assert "did not stop" in failure_of(lambda handler: handler.stream(*endless))


def test_plain_http_at_an_https_address_is_a_failure():
    with speaking("no") as server, pytest.raises(LanguageModelError, match="does not offer a secure connection"):
        list(ChatStream(Endpoint.parse(server.url.replace("http:", "https:"), "tiny"), ASKED))


def test_close_cancels_the_request_and_the_server_notices_it():
    gone = threading.Event()

    def play(handler):
        handler.begin_stream()
        handler.event(delta("first"))
        if handler.connection.recv(1) == b"":
            gone.set()

    with scripted(play) as server:
        stream = ChatStream(Endpoint.parse(server.url, "tiny"), ASKED)
        pieces = iter(stream)
        assert next(pieces) == "first"
        threading.Timer(0.1, stream.close).start()
        started = time.perf_counter()
        assert list(pieces) == []
        assert gone.wait(5) and time.perf_counter() - started < 4


@pytest.mark.parametrize(
    ("url", "server", "path"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434", "/v1/chat/completions"),
        ("localhost:8080", "http://localhost:8080", "/v1/chat/completions"),
        ("https://api.example.org/openai/v1/", "https://api.example.org:443", "/openai/v1/chat/completions"),
        ("http://[::1]:1/v1/chat/completions", "http://[::1]:1", "/v1/chat/completions"),
    ],
)
def test_a_url_is_divided_into_its_parts(url, server, path):
    endpoint = Endpoint.parse(url, "tiny")
    assert (endpoint.server, endpoint.path) == (server, path)
    assert endpoint.is_local == ("example" not in url)


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "http://h:0/v1", "foo", f"http://me:{SECRET}@h/v1", f"http://h/?k={SECRET}"]
)
def test_a_url_that_cannot_be_used_is_not_repeated(url):
    with pytest.raises(InputError) as error:
        Endpoint.parse(url, "tiny")
    assert SECRET not in str(error.value)


def test_options_come_before_the_environment(monkeypatch):
    assert chosen_endpoint(None, None) is None
    with pytest.raises(InputError, match="--llm-model needs"):
        chosen_endpoint(None, "tiny")
    monkeypatch.setenv("CDESEARCH_LLM_URL", "http://one:1")
    monkeypatch.setenv("CDESEARCH_LLM_MODEL", "first")
    monkeypatch.setenv(KEY, SECRET)
    endpoint = chosen_endpoint(None, None)
    assert (endpoint.host, endpoint.model, endpoint.key) == ("one", "first", SECRET)
    assert SECRET not in repr(endpoint)
    endpoint = chosen_endpoint("http://two:2", "second")
    assert (endpoint.host, endpoint.model) == ("two", "second")
    monkeypatch.setenv(KEY, "line\nbreak")
    with pytest.raises(InputError, match=KEY):
        chosen_endpoint(None, None)
