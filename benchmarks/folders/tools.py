"""The command `tools`: whether named tools find the right file of a folder, and what they cost, all in one run.

Tools that rank files are compared by files alone. Each is used as its documentation says, with its defaults.
"""

import gzip
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol
from urllib.parse import unquote, urlsplit

import typer

from benchmarks.folders.archives import rebuilt
from benchmarks.folders.command import DATA
from benchmarks.folders.questions import DEPTH, QUESTIONS, Question, read_questions
from benchmarks.measurement import RESULTS, Measurement, measure
from benchmarks.systems.biencoder import installed_minilm
from cdesearch.progress import Silent
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.words.stop_words import EVERY_STOP_WORD
from indexer.build import build
from indexer.settings import Options
from trainer.replacing import make_folder

WORDS = 200  # of the passages of LanceDB and bm25s, which divide no files themselves


class Tool(Protocol):
    """A tool that indexes a folder."""

    def index(self, files: Path, work: Path, /) -> None:
        """Index `files`; everything that is stored is in `work`."""

    def find(self, question: str) -> list[str]:
        """The paths of the best files, relative to the folder, the best first."""


class Ours:
    """cdesearch with its defaults."""

    def index(self, files: Path, work: Path) -> None:
        build([files], Options(index=work / "index"), Silent())
        self._searcher = Searcher(Index(work / "index"))

    def find(self, question: str) -> list[str]:
        return _each_once(hit.chunk.path for hit in self._searcher.search(question, 3 * DEPTH))


class Recoll:
    """The desktop search by Xapian, for any of the words."""

    def index(self, files: Path, work: Path) -> None:
        self._files, self._folder = files.resolve(), work
        (work / "recoll.conf").write_text(f"topdirs = {self._files}\nindexstemminglanguages = english\n")
        subprocess.run(["recollindex", "-c", work], check=True, capture_output=True)

    def find(self, question: str) -> list[str]:
        words = " ".join(re.findall(r"\w+", question))
        command = ["recollq", "-c", str(self._folder), "-b", "-n", str(DEPTH), "-o", words]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        paths = (Path(unquote(urlsplit(line).path)) for line in lines if line.startswith("file://"))
        return [path.relative_to(self._files).as_posix() for path in paths]


class Ripgrep:
    """The files with the most matches of any word, which needs no index."""

    def index(self, files: Path, _: Path) -> None:
        self._files = files

    def find(self, question: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in EVERY_STOP_WORD]
        patterns = [part for word in words for part in ("-e", word)]
        command = ["rg", "--count", "--ignore-case", "--word-regexp", "--search-zip", *patterns, "."]
        run = subprocess.run(command, cwd=self._files, capture_output=True, text=True, check=False)
        counts = (line.rpartition(":") for line in run.stdout.splitlines())
        return [path.removeprefix("./") for _, path in sorted((-int(count), path) for path, _, count in counts)]


class Passages:
    """Passages of WORDS words of all files that are text, for libraries that divide no files."""

    def __init__(self, files: Path) -> None:
        self.paths: list[str] = []
        self.texts: list[str] = []
        for file in sorted(path for path in files.rglob("*") if path.is_file()):
            data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            words = data.decode("utf-8", "ignore").split()
            for start in range(0, len(words), WORDS):
                self.paths.append(file.relative_to(files).as_posix())
                self.texts.append(" ".join(words[start : start + WORDS]))


class Bm25s:
    """bm25s with English stop words and stemming."""

    def index(self, files: Path, work: Path) -> None:
        import bm25s
        import Stemmer

        self._passages, self._stemmer = Passages(files), Stemmer.Stemmer("english")
        self._index = bm25s.BM25()
        self._index.index(self._words(self._passages.texts), show_progress=False)
        self._index.save(work, show_progress=False)

    def _words(self, texts: Sequence[str]) -> Any:
        import bm25s

        return bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)

    def find(self, question: str) -> list[str]:
        k = min(3 * DEPTH, len(self._passages.texts))
        rows, _ = self._index.retrieve(self._words([question]), k=k, show_progress=False)
        return _each_once(self._passages.paths[row] for row in rows[0])


class LanceDb:
    """LanceDB with vectors of all-MiniLM-L6-v2 by sentence-transformers, in its hybrid search."""

    def index(self, files: Path, work: Path) -> None:
        import lancedb
        from lancedb.index import FTS
        from sentence_transformers import SentenceTransformer

        passages = Passages(files)
        self._model = SentenceTransformer(str(installed_minilm()), device="cpu")
        vectors = self._model.encode(passages.texts, normalize_embeddings=True)
        rows = [
            {"path": path, "text": text, "vector": vector}
            for path, text, vector in zip(passages.paths, passages.texts, vectors, strict=True)
        ]
        self._table = lancedb.connect(work).create_table("passages", rows)
        self._table.create_index("text", config=FTS())

    def find(self, question: str) -> list[str]:
        vector = self._model.encode(question, normalize_embeddings=True)
        words = " ".join(re.findall(r"\w+", question))
        search = self._table.search(query_type="hybrid").vector(vector).text(words).limit(3 * DEPTH)
        return _each_once(search.to_arrow()["path"].to_pylist())


TOOLS: dict[str, Callable[[], Tool]] = {
    "cdesearch": Ours,
    "LanceDB + MiniLM": LanceDb,
    "bm25s": Bm25s,
    "Recoll": Recoll,
    "ripgrep": Ripgrep,
}
PROGRAMS = {"Recoll": "recollq", "ripgrep": "rg"}


@dataclass(frozen=True, slots=True)
class Used:
    """What one tool reached in one folder."""

    ranks: tuple[int, ...]  # of the first right file of each question; 0 if it is not among the DEPTH best
    index_seconds: float
    query_seconds: float  # of all questions
    megabytes: float  # on disk


def tools(
    only: Annotated[str, typer.Option(help="Names of folders, separated by commas. Default: all.")] = "",
    data: Annotated[Path, typer.Option(help="Folder for the files, which later runs use again.")] = DATA,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare named tools by the files that they find in folders, and by what they cost."""
    names = only.split(",") if only else [file.stem for file in sorted(QUESTIONS.glob("*.jsonl"))]
    make_folder(data)
    folders = [(rebuilt(name, data), read_questions(QUESTIONS / f"{name}.jsonl")) for name in names]
    used = [tool for tool in TOOLS if shutil.which(PROGRAMS.get(tool, "sh"))]

    def of_all() -> list[Measurement]:
        return [one for tool in used for one in _measured(tool, [_used(TOOLS[tool](), *folder) for folder in folders])]

    measure("tools", {"folders": of_all}, {"folders": names, "tools": used}, out)


def _used(tool: Tool, files: Path, questions: Sequence[Question]) -> Used:
    with tempfile.TemporaryDirectory() as work:
        started = time.perf_counter()
        tool.index(files, Path(work))
        indexed = time.perf_counter()
        found = [tool.find(question.text)[:DEPTH] for question in questions]
        seconds = time.perf_counter() - indexed
        size = sum(file.stat().st_size for file in Path(work).rglob("*") if file.is_file())
    ranks = [_rank(paths, {answer.path for answer in one.answers}) for one, paths in zip(questions, found, strict=True)]
    return Used(tuple(ranks), indexed - started, seconds, size / 1e6)


def _rank(paths: Sequence[str], right: set[str]) -> int:
    return next((rank for rank, path in enumerate(paths, 1) if path in right), 0)


def _measured(tool: str, folders: Sequence[Used]) -> list[Measurement]:
    ranks = [rank for folder in folders for rank in folder.ranks]
    n = len(ranks)
    return [
        *(
            Measurement(f"{tool}: file@{k}", 100 * sum(0 < rank <= k for rank in ranks) / n, "x 100")
            for k in (1, 3, DEPTH)
        ),
        Measurement(f"{tool}: index", sum(folder.index_seconds for folder in folders), "s"),
        Measurement(f"{tool}: query", 1000 * sum(folder.query_seconds for folder in folders) / n, "ms"),
        Measurement(f"{tool}: disk", sum(folder.megabytes for folder in folders), "MB"),
    ]


def _each_once(paths: Any) -> list[str]:
    return list(dict.fromkeys(paths))
