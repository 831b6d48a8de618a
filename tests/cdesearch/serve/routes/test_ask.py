import json
import threading
import time

from scripted_model import delta, scripted, speaking

from cdesearch.answer.endpoint import MODEL, URL

QUESTION = "the river has stone"


def use(monkeypatch, model):
    monkeypatch.setenv(URL, model.url)
    monkeypatch.setenv(MODEL, "tiny")


def events(response):
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def asked(server, **parameters):
    response = server.get("ask", params={"q": QUESTION, **parameters})
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    return events(response)


def test_without_a_model_the_answer_is_quoted(server):
    (first, passages), (second, text), (third, answer) = asked(server)
    assert (first, second, third) == ("passages", "text", "answer")
    assert passages["question"] == QUESTION and passages["index"] == "pages"
    assert [passage["number"] for passage in passages["passages"]] == list(range(1, len(passages["passages"]) + 1))
    assert answer["answered"] and answer["answer"] == text["text"] and answer["model"] is None
    assert "passages" not in answer
    for citation in answer["citations"]:
        assert citation["location"].startswith(passages["passages"][citation["number"] - 1]["path"])


def test_passages_stay_within_the_tokens_and_the_paths(server):
    small = asked(server, tokens=60, path="pets/**")[0][1]["passages"]
    assert small and {passage["path"].partition("/")[0] for passage in small} == {"pets"}
    assert not asked(server, type="pdf")[0][1]["passages"]
    assert len(str([passage["text"] for passage in small])) < len(str(asked(server)[0][1]["passages"]))


def test_a_model_writes_the_answer_from_the_passages(server, monkeypatch):
    with speaking("The river", " has stone [1", "]. It has", " fish [99].") as model:
        use(monkeypatch, model)
        (_, passages), *texts, (last, answer) = asked(server)
        sent = model.requests[0][2]["messages"]
    assert last == "answer" and answer["model"] == "tiny"
    expected = "The river has stone [1]. It has fish. [no source]"
    assert answer["answer"] == "".join(value["text"] for _, value in texts) == expected
    assert (answer["removed_citations"], answer["unsourced_sentences"]) == (1, 1)
    assert [citation["number"] for citation in answer["citations"]] == [1]
    assert passages["passages"][0]["text"] in sent[1]["content"] and QUESTION in sent[1]["content"]


def test_a_model_that_fails_ends_the_stream_with_problem_details(server, monkeypatch):
    with speaking("The river", " has", done=False) as model:
        use(monkeypatch, model)
        found = asked(server)
    names = [name for name, _ in found]
    assert names[0] == "passages" and names[-1] == "error" and set(names[1:-1]) == {"text"}
    assert "".join(data["text"] for _, data in found[1:-1]).startswith("The river has")
    problem = found[-1][1]
    assert problem["status"] == 502 and "stopped in the middle" in problem["detail"] and problem["remedy"]


def test_an_invalid_question_is_refused_before_the_stream(server):
    assert server.get("ask", params={"q": " "}).status_code == 400
    assert server.get("ask", params={"q": "x", "tokens": 3}).status_code == 422
    assert server.get("ask", params={"q": "x", "index": "none"}).status_code == 400


def test_a_client_that_disconnects_cancels_the_request_to_the_model(server, monkeypatch):
    gone = threading.Event()

    def play(handler):
        handler.begin_stream()
        handler.event(delta("The river has stone. And"))
        if handler.connection.recv(1) == b"":
            gone.set()

    with scripted(play) as model:
        use(monkeypatch, model)
        with server.client.stream("GET", "/api/v1/ask", params={"q": QUESTION}) as response:
            lines = response.iter_lines()
            assert any("The river" in line for line in lines)
        assert gone.wait(10)


def test_more_answers_than_the_model_may_write_at_once_are_refused(server, monkeypatch):
    go_on = threading.Event()

    def play(handler):
        go_on.wait(20)
        handler.stream("Yes [1].")

    with scripted(play) as model:
        use(monkeypatch, model)
        found = []
        threads = [threading.Thread(target=lambda: found.append(asked(server))) for _ in range(5)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 20
        while not found and time.monotonic() < end:
            time.sleep(0.02)
        go_on.set()
        for thread in threads:
            thread.join()
    last = [one[-1] for one in found]
    assert sorted(name for name, _ in last) == ["answer"] * 4 + ["error"]
    assert next(value for name, value in last if name == "error")["status"] == 429
