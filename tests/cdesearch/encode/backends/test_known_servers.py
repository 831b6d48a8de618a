"""The errors of well-known servers, word for word, as their sources and their users' reports show them."""

import numpy as np
import pytest

from cdesearch.encode.backends.endpoint import EmbeddingServer, Endpoint, Patience
from cdesearch.errors import ModelServerError, TextRefusedError

QUICK = Patience(tries=3, answer_seconds=5.0, wait_seconds=2.0)
TEXTS = [f"the {word} {number}" for number in range(30) for word in ("cat", "dog", "moon")]
LONG = "stone " * 2_000


def asked(client, texts):
    found = {}
    for indices, vectors in client.embed(texts, QUICK):
        found |= zip(indices.tolist(), vectors, strict=True)
    return np.stack([found[index] for index in range(len(texts))])


def of_tei(status, message, kind="Validation"):
    return status, {"message": message, "code": status, "type": kind}


def of_openai(status, message, kind="invalid_request_error"):
    return status, {"error": {"message": message, "type": kind, "param": None, "code": status}}


TOO_LARGE = "batch size 90 > maximum allowed batch size 8"
BATCHES = {
    "Text Embeddings Inference": of_tei(422, TOO_LARGE),
    "Text Embeddings Inference, limit of bytes": (413, b"Failed to buffer the request body: length limit exceeded"),
    "Text Embeddings Inference, out of memory": of_tei(424, "DriverError(CUDA_ERROR_OUT_OF_MEMORY)", "Backend"),
    "SiliconFlow": (413, {"code": 20042, "message": f"input {TOO_LARGE}", "data": None}),
    "DashScope": of_openai(400, "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid", "x"),
    "nginx": (413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_that_a_server_refuses_as_too_large_is_halved_and_the_limit_is_remembered(server, tiny_encoder, name):
    server.misbehave = lambda handler, texts: len(texts) > 8 and handler.reply(*BATCHES[name])
    client = Endpoint(EmbeddingServer.parse(server.url, "tiny"))
    expected = tiny_encoder.encode(TEXTS, "document", None)
    np.testing.assert_allclose(asked(client, TEXTS), expected, atol=1e-6)
    server.requests.clear()
    np.testing.assert_allclose(asked(client, TEXTS), expected, atol=1e-6)
    assert max(map(len, server.requests)) <= 8


TEXT_ERRORS = {
    "Text Embeddings Inference": of_tei(413, "`inputs` must have less than 512 tokens. Given: 2002"),
    "vLLM": of_openai(400, "This model's maximum context length is 512 tokens. However, you requested 1451 tokens"),
    "vLLM of 2024": (400, {"object": "error", "message": "This model's maximum context length is 512 tokens."}),
    "Ollama": of_openai(400, "the input length exceeds the context length"),
    "llama.cpp": of_openai(500, "input (2002 tokens) is too large to process. increase the physical batch size"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXT_ERRORS)
def test_the_text_that_a_server_refuses_as_too_long_is_found_among_others(server, name):
    status, content = TEXT_ERRORS[name]
    server.misbehave = lambda handler, texts: LONG in texts and handler.reply(status, content)
    with pytest.raises(TextRefusedError) as caught:
        asked(Endpoint(EmbeddingServer.parse(server.url, "tiny")), [*TEXTS[:40], LONG, *TEXTS[40:]])
    assert caught.value.position == 40
    message = content.get("error", content)["message"].rstrip(".")
    assert f"refuses a text of 12,000 characters (HTTP {status}: {message}" in caught.value.cause
    assert set(server.embedded) > set(TEXTS[:32])


UNKNOWN, BUSY = 'model "tiny" not found, try pulling it first', "server busy, please try again."
LASTING = {
    "any server": (*of_openai(401, "no"), "refused the key (HTTP 401). Set a valid key in CDESEARCH_MODEL_KEY", 1),
    "llama.cpp without --embeddings": (*of_openai(501, "No embeddings"), "refuses the request (HTTP 501: No embed", 1),
    "Ollama without the model": (*of_openai(404, UNKNOWN), f"HTTP 404: {UNKNOWN}). Check --model and --model-name", 1),
    "llama.cpp with --pooling none": (
        *of_openai(400, "Pooling type 'none' is not OAI compatible."),
        "computes no vector, not even of a short text (HTTP 400: Pooling type 'none' is not OAI compatible",
        2,
    ),
    "Ollama with too many requests": (503, {"error": {"message": BUSY}}, f"fails (HTTP 503: {BUSY.rstrip('.')})", 3),
    "Text Embeddings Inference with too many requests": (
        *of_tei(429, "Model is overloaded", "overloaded"),
        "has too many requests (HTTP 429: Model is overloaded)",
        3,
    ),
}


@pytest.mark.parametrize("name", LASTING)
def test_an_error_that_is_about_the_server_blames_no_text_and_is_repeated_only_if_it_may_pass(server, name):
    status, content, part, n_requests = LASTING[name]
    server.misbehave = lambda handler, texts: handler.reply(status, content)
    with pytest.raises(ModelServerError) as caught:
        asked(Endpoint(EmbeddingServer.parse(server.url, "tiny")), TEXTS[:3])
    assert part in str(caught.value) and not isinstance(caught.value, TextRefusedError)
    assert len(server.requests) == n_requests
