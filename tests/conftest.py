import os
import signal
import tempfile

# Read when torch is imported, also by the processes of tests. Several threads in each of several pytest processes wait
# for one another most of the time, and the models of the tests are too small for them to help.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A job in the background of a shell ignores Ctrl-C, and so would the processes of tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.models.config import BackboneConfig, HeadConfig, HeadSideConfig, ModelConfig
from cdesearch.models.contextual.model import ContextualModel
from trainer.export import export

# Without a deadline, because an example may take any time on a busy machine.
settings.register_profile("suite", settings.default, deadline=None)
settings.load_profile("suite")

OF_TESTS = ("CDESEARCH_NODE_MODULES", "CDESEARCH_SCREENSHOTS")  # variables that only tests read

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:;!?#-_()[]{}<>=+*/'\"`"


def make_tokenizer() -> Tokenizer:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    words = ["the", "cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]
    vocabulary = {piece: number for number, piece in enumerate(pieces + words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


TINY = ModelConfig(
    BackboneConfig(vocabulary=160, dimension=16, n_layers=2, n_heads=2, inner=32, n_positions=128),
    context_size=32,
    max_tokens=64,
    span_tokens=24,
)


def random_head(seed: int = 0) -> HeadConfig:
    """A context head that changes vectors a lot."""

    def side(rng: np.random.Generator) -> HeadSideConfig:
        hidden, gates = rng.standard_normal((8, 5)), 0.2 * rng.standard_normal((2, 9))
        return HeadSideConfig(1.5, 0.2, tuple(map(tuple, hidden.tolist())), tuple(map(tuple, gates.tolist())))

    rng = np.random.default_rng(seed)
    return HeadConfig(side(rng), side(rng))


def make_model(config: ModelConfig = TINY, *, gate: float = 0.5, seed: int = 0) -> ContextualModel:
    torch.manual_seed(seed)
    model = ContextualModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(1.5).add_(torch.randn_like(parameter) * 0.05)
        torch.nn.init.normal_(model.second_stage.null)
        for cross_attention in model.second_stage.doors:
            cross_attention.gate.fill_(gate)
            if cross_attention.sink is not None:
                torch.nn.init.normal_(cross_attention.sink)
    return model


def make_checkpoint(folder: Path, config: ModelConfig = TINY, *, gate: float = 0.5) -> Path:
    folder.mkdir(parents=True)
    make_tokenizer().save(str(folder / "tokenizer.json"))
    export(make_model(config, gate=gate), folder / "tokenizer.json", folder)
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly which tests were left out because a program is not installed."""
    for missing in ("no browser", "no axe-core"):
        reports = [one for one in terminalreporter.stats.get("skipped", []) if missing in str(one.longrepr)]
        if reports:
            names = ", ".join(dict.fromkeys(one.nodeid.partition("::")[2].partition("[")[0] for one in reports))
            reason = str(reports[0].longrepr[2]).removeprefix("Skipped: ")
            terminalreporter.write_line(
                f"LEFT OUT {len(reports)} tests: {reason}. They are {names}.", red=True, bold=True
            )


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests have folders of their own for configuration, state and sockets, and an empty home, which processes inherit.

    The variables with which a user configures cdesearch are removed. The caches contain models and the data of
    browsers, so they are linked to. That of cdesearch is new.
    """
    for name in [name for name in os.environ if name.startswith("CDESEARCH_") and name not in OF_TESTS]:
        del os.environ[name]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = tmp_path_factory.mktemp("cache")
    for one in caches.iterdir() if caches.is_dir() else ():
        if one.name != "cdesearch" and os.name != "nt":
            (cache / one.name).symlink_to(one)
    home = tmp_path_factory.mktemp("home")
    os.environ["XDG_CACHE_HOME"] = str(cache)
    os.environ["XDG_CONFIG_HOME"] = os.environ["APPDATA"] = str(tmp_path_factory.mktemp("config"))
    os.environ["XDG_STATE_HOME"] = os.environ["LOCALAPPDATA"] = str(tmp_path_factory.mktemp("state"))
    os.environ["HOME"] = os.environ["USERPROFILE"] = str(home)
    with tempfile.TemporaryDirectory() as runtime:  # its path is short enough for a socket
        os.environ["XDG_RUNTIME_DIR"] = runtime
        yield
    written = [str(path) for path in home.rglob("*") if "cdesearch" in path.name]
    assert not written, f"A test wrote into the home folder: {written}"


@pytest.fixture(scope="session", autouse=True)
def _elsewhere() -> Iterator[Path]:
    """An empty working directory for the fixtures of modules, without an index or a configuration above it."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        yield Path(folder)


@pytest.fixture(autouse=True)
def _own_working_directory(_elsewhere: Path) -> Iterator[None]:
    """Each test begins in a new folder, so that it finds neither the user's index nor that of another test."""
    with tempfile.TemporaryDirectory(dir=_elsewhere) as folder, chdir(folder):
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_modules() -> None:
    """Store the bytecode of this repository, so that processes that tests start need not compile it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of twelve documents."""
    from built import write_documents

    return write_documents(tmp_path / "docs")


@pytest.fixture
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the settings of the user, and for what the user has confirmed."""
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    (tmp_path / "config" / "cdesearch").mkdir(parents=True)
    return tmp_path / "config" / "cdesearch"


@pytest.fixture
def server(tiny_encoder, own_config):
    """A server of the vectors of the tiny model, which nobody has confirmed."""
    from embedding_server import serving

    with serving(lambda texts: tiny_encoder.encode(texts, "document", None)) as server:
        yield server


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Tokenizer:
    return make_tokenizer()


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def closed_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = replace(TINY, first_stage="shared", context_head=random_head())
    return make_checkpoint(tmp_path_factory.mktemp("models") / "closed", config, gate=0.0)


@pytest.fixture(scope="session")
def sink_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("models") / "sink", replace(TINY, context_sink=True))


@pytest.fixture(scope="session")
def joint_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("models") / "joint", replace(TINY, context_attention="joint"))


@pytest.fixture(scope="session")
def tiny_encoder(tiny_checkpoint: Path) -> Encoder:
    return load_encoder(tiny_checkpoint)


@pytest.fixture(scope="module")
def built(tmp_path_factory, tiny_checkpoint, tiny_encoder):
    from damage import SoundIndex

    index = SoundIndex(tmp_path_factory.mktemp("damage"), tiny_checkpoint, tiny_encoder, 12)
    index.restore()  # generations share files by hard links; after a copy, damage to one leaves the other whole
    return index


@pytest.fixture
def sound(built):
    """An index to damage, which is restored after the test."""
    yield built
    (built.docs / "later.md").unlink(missing_ok=True)
    built.restore()
