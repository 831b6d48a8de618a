"""The errors of well-known servers, word for word, as their sources and their users' reports show them."""

import numpy as np
import pytest
from embedding_server import serving

from cdesearch.encode.backends import endpoint
from cdesearch.encode.backends.endpoint import EmbeddingServer, Endpoint, Patience
from cdesearch.errors import ModelServerError, TextRefusedError

QUICK = Patience(tries=3, answer_seconds=5.0, wait_seconds=2.0)
TEXTS = [f"the {word} {number}" for number in range(30) for word in ("cat", "dog", "moon")]
LONG = "stone " * 2_000


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.01)


@pytest.fixture
def server(tiny_encoder):
    with serving(lambda texts: tiny_encoder.encode_each(texts, "document", None)) as server:
        yield server


def asked(server, texts):
    found = {}
    for indices, vectors in Endpoint(EmbeddingServer.parse(server.url, "tiny")).embed(texts, QUICK):
        found |= zip(indices.tolist(), vectors, strict=True)
    return np.stack([found[index] for index in range(len(texts))])


def tei(status, message, kind="Validation"):
    return status, {"message": message, "code": status, "type": kind}


BATCHES = {
    "Text Embeddings Inference 422": lambda n: tei(422, f"batch size {n} > maximum allowed batch size 8"),
    "Text Embeddings Inference 413": lambda n: tei(413, f"batch size {n} > maximum allowed batch size 8"),
    "Text Embeddings Inference, limit of bytes": lambda n: (
        413,
        b"Failed to buffer the request body: length limit exceeded",
    ),
    "Text Embeddings Inference, out of memory": lambda n: tei(
        424, 'DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")', "Backend"
    ),
    "SiliconFlow": lambda n: (
        413,
        {"code": 20042, "message": f"input batch size {n} > maximum allowed batch size 8", "data": None},
    ),
    "DashScope": lambda n: (
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should"
                " not be larger than 10.: input.contents",
                "type": "InvalidParameter",
                "param": None,
                "code": "InvalidParameter",
            }
        },
    ),
    "nginx": lambda n: (413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_that_a_server_refuses_as_too_large_is_halved(server, tiny_encoder, name):
    server.misbehave = lambda handler, texts: len(texts) > 8 and handler.reply(*BATCHES[name](len(texts)))
    np.testing.assert_allclose(asked(server, TEXTS), tiny_encoder.encode_each(TEXTS, "document", None), atol=1e-6)


TEXT_ERRORS = {
    "Text Embeddings Inference": (
        tei(413, "`inputs` must have less than 512 tokens. Given: 2002"),
        "HTTP 413: `inputs` must have less than 512 tokens. Given: 2002",
    ),
    "vLLM": (
        (
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 512 tokens. However, you requested 1451 tokens"
                    " in the input for embedding generation. Please reduce the length of the input.",
                    "type": "BadRequestError",
                    "param": None,
                    "code": 400,
                }
            },
        ),
        "HTTP 400: This model's maximum context length is 512 tokens. However, you requested 1451 tokens",
    ),
    "vLLM of 2024": (
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 512 tokens.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
        ),
        "HTTP 400: This model's maximum context length is 512 tokens",
    ),
    "Ollama": (
        (
            400,
            {
                "error": {
                    "message": "the input length exceeds the context length",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                }
            },
        ),
        "HTTP 400: the input length exceeds the context length",
    ),
    "llama.cpp": (
        (
            500,
            {
                "error": {
                    "code": 500,
                    "message": "input (2002 tokens) is too large to process. increase the physical batch size (current"
                    " batch size: 512)",
                    "type": "server_error",
                }
            },
        ),
        "HTTP 500: input (2002 tokens) is too large to process. increase the physical batch size",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXT_ERRORS)
def test_the_text_that_a_server_refuses_as_too_long_is_found_among_others(server, name):
    answer, reason = TEXT_ERRORS[name]
    server.misbehave = lambda handler, texts: LONG in texts and handler.reply(*answer)
    with pytest.raises(TextRefusedError) as caught:
        asked(server, [*TEXTS[:40], LONG, *TEXTS[40:]])
    assert caught.value.position == 40
    assert f"refuses a text of 12,000 characters ({reason}" in caught.value.cause
    assert set(server.embedded) > set(TEXTS[:32])


LASTING = {
    "llama.cpp without --embeddings": (
        501,
        {
            "error": {
                "code": 501,
                "message": "This server does not support embeddings. Start it with `--embeddings`",
                "type": "not_supported_error",
            }
        },
        "refuses the request (HTTP 501: This server does not support embeddings. Start it with `--embeddings`)",
    ),
    "llama.cpp with --pooling none": (
        400,
        {
            "error": {
                "code": 400,
                "message": "Pooling type 'none' is not OAI compatible. Please use a different pooling type",
                "type": "invalid_request_error",
            }
        },
        "computes no vector, not even of a short text (HTTP 400: Pooling type 'none' is not OAI compatible.",
    ),
    "llama.cpp while it loads": (
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        "fails (HTTP 503: Loading model)",
    ),
    "Ollama without the model": (
        404,
        {
            "error": {
                "message": 'model "tiny" not found, try pulling it first',
                "type": "not_found_error",
                "param": None,
                "code": None,
            }
        },
        'refuses the request (HTTP 404: model "tiny" not found, try pulling it first). Check --model and --model-name',
    ),
    "Ollama with too many requests": (
        503,
        {"error": {"message": "server busy, please try again.  maximum pending requests exceeded"}},
        "fails (HTTP 503: server busy, please try again. maximum pending requests exceeded)",
    ),
    "Text Embeddings Inference with too many requests": (
        *tei(429, "Model is overloaded", "overloaded"),
        "has too many requests (HTTP 429: Model is overloaded)",
    ),
}


@pytest.mark.parametrize("name", LASTING)
def test_an_error_that_is_about_the_server_blames_no_text(server, name):
    status, content, part = LASTING[name]
    server.misbehave = lambda handler, texts: handler.reply(status, content)
    with pytest.raises(ModelServerError) as caught:
        asked(server, TEXTS[:3])
    assert part in str(caught.value) and not isinstance(caught.value, TextRefusedError)
