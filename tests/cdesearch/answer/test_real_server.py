"""The protocol against a real inference server: `transformers serve` with a small random model."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from string import ascii_lowercase

import pytest

from cdesearch.answer.answer import WrittenAnswer
from cdesearch.answer.endpoint import ChatStream, Endpoint
from cdesearch.errors import LanguageModelError
from cdesearch.search.passages import Passage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("transformers", "openai")),
        reason="no real inference server: pip install 'transformers[serving]'",
    ),
]

START = "from transformers.cli.transformers import main; main()"
N_NEW_TOKENS = 40
PASSAGES = [Passage("a.md", "a.md", None, "A", (), "The moon pulls the tides.", 1, 1, None, None, 1.0, ("1",))]


def make_model(folder):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    pieces = ["<s>", "</s>", "<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    fast.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=16_384,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    model = LlamaForCausalLM(config)
    model.generation_config.max_new_tokens = N_NEW_TOKENS
    letters = {tokenizer.token_to_id(letter) for letter in ascii_lowercase}  # a random model may stop at once
    model.generation_config.suppress_tokens = sorted(set(range(len(pieces))) - letters)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random") / "model"
    make_model(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["serve", str(folder), "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    log = folder.parent / "log"
    with log.open("wb") as output:
        server = subprocess.Popen([sys.executable, "-c", START, *options], env=offline, stdout=output, stderr=output)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield Endpoint.parse(f"http://127.0.0.1:{port}", str(folder))
    finally:
        server.terminate()
        server.wait(30)


def wait_for(url, server, log):
    end = time.monotonic() + 240
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            assert server.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)


def test_a_real_model_streams_its_answer(endpoint):
    pieces = list(ChatStream(endpoint, [{"role": "user", "content": "why?"}]))
    assert len(pieces) > 3 and "".join(pieces).strip()


def test_an_answer_of_a_real_model_is_checked(endpoint):
    written = WrittenAnswer("What pulls the tides?", PASSAGES, endpoint)
    shown = "".join(written)
    assert shown.strip() == written.answer.text.strip() != ""
    assert written.answer.n_unsourced == shown.count("[no source]")


def test_an_answer_of_a_real_model_can_be_cancelled(endpoint):
    stream = ChatStream(endpoint, [{"role": "user", "content": "why?"}])
    pieces = iter(stream)
    next(pieces)
    stream.close()
    assert len(list(pieces)) < N_NEW_TOKENS


def test_a_model_that_the_server_does_not_have_is_one_line(endpoint):
    other = Endpoint.parse(endpoint.server, "no/such-model")
    with pytest.raises(LanguageModelError) as error:
        list(ChatStream(other, [{"role": "user", "content": "why?"}]))
    assert "\n" not in str(error.value)
