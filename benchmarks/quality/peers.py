"""The tools that `tools` compares, each used as its documentation says and with its defaults.

`python peers.py TOOL index FILES WORK` and `python peers.py TOOL answer FILES WORK` run one tool in a process of its
own, with the Python that has the tool installed. So nothing of this project is imported unless the tool needs it.
"""

import asyncio
import gzip
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

DEPTH = 10  # files of each answer
WORDS = 200  # of the passages of libraries, which divide no files themselves
Find = Callable[[str], Iterable[str]]  # the paths of the best files, relative to the folder, the best first


class Tool(Protocol):
    """A tool that indexes a folder."""

    def index(self, files: Path, work: Path, /) -> None:
        """Index `files`; everything that is stored is in `work`."""

    def opened(self, files: Path, work: Path, /) -> Find:
        """The search in what `index` stored."""


class Ours:
    """cdesearch with its defaults."""

    def index(self, files: Path, work: Path) -> None:
        from cdesearch.progress import Silent
        from indexer.build import build
        from indexer.settings import Options

        build([files], Options(index=work / "index"), Silent())

    def opened(self, _: Path, work: Path) -> Find:
        from cdesearch.search.searcher import Searcher
        from cdesearch.store.index import Index

        searcher = Searcher(Index(work / "index"))
        return lambda question: (hit.chunk.path for hit in searcher.search(question, 3 * DEPTH))


class Recoll:
    """The desktop search by Xapian, for any of the words."""

    def index(self, files: Path, work: Path) -> None:
        (work / "recoll.conf").write_text(f"topdirs = {files}\nindexstemminglanguages = english\n")
        subprocess.run(["recollindex", "-c", work], check=True, capture_output=True)

    def opened(self, files: Path, work: Path) -> Find:
        def find(question: str) -> list[str]:
            words = " ".join(re.findall(r"\w+", question))
            command = ["recollq", "-c", str(work), "-b", "-n", str(DEPTH), "-o", words]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            paths = (Path(unquote(urlsplit(line).path)) for line in lines if line.startswith("file://"))
            return [path.relative_to(files).as_posix() for path in paths]

        return find


class Ripgrep:
    """The files with the most matches of any word, which needs no index."""

    def index(self, files: Path, work: Path) -> None:
        """Nothing is stored."""

    def opened(self, files: Path, _: Path) -> Find:
        from cdesearch.words.stop_words import EVERY_STOP_WORD

        def find(question: str) -> list[str]:
            words = [word for word in re.findall(r"\w+", question.lower()) if word not in EVERY_STOP_WORD]
            patterns = [part for word in words for part in ("-e", word)]
            command = ["rg", "--count", "--ignore-case", "--word-regexp", "--search-zip", *patterns, "."]
            run = subprocess.run(command, cwd=files, capture_output=True, text=True, check=False)
            counts = (line.rpartition(":") for line in run.stdout.splitlines())
            return [path.removeprefix("./") for _, path in sorted((-int(count), path) for path, _, count in counts)]

        return find


class Bm25s:
    """bm25s with English stop words and stemming."""

    def index(self, files: Path, work: Path) -> None:
        import bm25s

        paths, texts = zip(*_passages(files), strict=True)
        index = bm25s.BM25()
        index.index(self._words(texts), show_progress=False)
        index.save(work, corpus=paths, show_progress=False)

    def _words(self, texts: Sequence[str]) -> Any:
        import bm25s
        import Stemmer

        return bm25s.tokenize(list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)

    def opened(self, _: Path, work: Path) -> Find:
        import bm25s

        index = bm25s.BM25.load(work, load_corpus=True)

        def find(question: str) -> list[str]:
            k = min(3 * DEPTH, len(index.corpus))
            (hits,), _ = index.retrieve(self._words([question]), k=k, show_progress=False)
            return [hit["text"] for hit in hits]

        return find


class LanceDb:
    """LanceDB with vectors of all-MiniLM-L6-v2 by sentence-transformers, in its hybrid search."""

    def index(self, files: Path, work: Path) -> None:
        import lancedb
        from lancedb.index import FTS

        passages = list(_passages(files))
        vectors = self._encoder()([text for _, text in passages])
        rows = [
            {"path": path, "text": text, "vector": vector}
            for (path, text), vector in zip(passages, vectors, strict=True)
        ]
        lancedb.connect(work).create_table("passages", rows).create_index("text", config=FTS())

    def _encoder(self) -> Callable[[Any], Any]:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(os.environ["MINILM"], device="cpu")
        return lambda texts: model.encode(texts, normalize_embeddings=True)

    def opened(self, _: Path, work: Path) -> Find:
        import lancedb

        table, encode = lancedb.connect(work).open_table("passages"), self._encoder()

        def find(question: str) -> list[str]:
            words = " ".join(re.findall(r"\w+", question))
            search = table.search(query_type="hybrid").vector(encode(question)).text(words).limit(3 * DEPTH)
            paths: list[str] = search.to_arrow()["path"].to_pylist()
            return paths

        return find


class Txtai:
    """txtai with vectors of all-MiniLM-L6-v2, its database of contents and its hybrid search."""

    def index(self, files: Path, work: Path) -> None:
        from txtai import Embeddings

        embeddings = Embeddings(path=os.environ["MINILM"], content=True, hybrid=True)
        embeddings.index({"path": path, "text": text} for path, text in _passages(files))
        embeddings.save(str(work / "index"))

    def opened(self, _: Path, work: Path) -> Find:
        from txtai import Embeddings

        embeddings = Embeddings()
        embeddings.load(str(work / "index"))
        query = f"select path from txtai where similar(:question) limit {3 * DEPTH}"
        return lambda question: (hit["path"] for hit in embeddings.search(query, parameters={"question": question}))


class HaikuRag:
    """haiku.rag with vectors of all-MiniLM-L6-v2 by the server at $OPENAI_BASE_URL; files it cannot read are texts."""

    def index(self, files: Path, work: Path) -> None:
        async def index() -> None:
            async with self._client(work, create=True) as client:
                for file in _files(files):
                    try:
                        await client.create_document_from_source(file)
                    except ValueError:  # it does not read the format, or not this file
                        await client.create_document(_text(file), uri=file.as_uri(), format="plain")

        asyncio.run(index())

    def _client(self, work: Path, create: bool) -> Any:
        from haiku.rag.client import HaikuRAG
        from haiku.rag.config import AppConfig

        embeddings = {"model": {"provider": "openai", "name": "all-MiniLM-L6-v2", "vector_dim": 384}}
        processing = {"chunking_tokenizer": os.environ["MINILM"]}
        config = AppConfig.model_validate({"embeddings": embeddings, "processing": processing})
        return HaikuRAG(work / "haiku.lancedb", config, create=create)

    def opened(self, files: Path, work: Path) -> Find:
        runner = asyncio.Runner()
        client = runner.run(self._client(work, create=False).__aenter__())

        def find(question: str) -> list[str]:
            hits = runner.run(client.search(question, limit=3 * DEPTH))
            paths = (Path(unquote(urlsplit(hit.document_uri).path)) for hit in hits)
            return [path.relative_to(files).as_posix() for path in paths]

        return find


class Semble:
    """semble for code and documents, with the static model that $SEMBLE_MODEL_NAME names."""

    def index(self, files: Path, work: Path) -> None:
        from semble import ContentType, SembleIndex

        with suppress(ValueError):  # it reads none of the files
            SembleIndex.from_path(files, content=(ContentType.CODE, ContentType.DOCS)).save(work / "index")

    def opened(self, _: Path, work: Path) -> Find:
        from semble import SembleIndex

        if not (work / "index").exists():
            return lambda _: ()
        index = SembleIndex.load_from_disk(work / "index")
        return lambda question: (hit.chunk.file_path for hit in index.search(question, top_k=3 * DEPTH))


TOOLS: Mapping[str, type[Tool]] = {
    "cdesearch": Ours,
    "LanceDB + MiniLM": LanceDb,
    "txtai": Txtai,
    "haiku.rag": HaikuRag,
    "semble": Semble,
    "bm25s": Bm25s,
    "Recoll": Recoll,
    "ripgrep": Ripgrep,
}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _text(file: Path) -> str:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return data.decode("utf-8", "ignore")


def _passages(folder: Path) -> Iterable[tuple[str, str]]:
    """The path and text of passages of WORDS words of all files, which are text."""
    for file in _files(folder):
        words = _text(file).split()
        for start in range(0, len(words), WORDS):
            yield file.relative_to(folder).as_posix(), " ".join(words[start : start + WORDS])


def _peak_megabytes() -> float:
    """The most memory that this process or one that it started ever held.

    The kernel's own maximum for a process also counts the program that started it, so it is read for children only.
    """
    own = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(int(own[1]) if own else 0, children) * 1024 / 1e6


def main() -> None:
    """Index, or answer each line of the input with a line of paths; the last line is the peak of memory."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the tools print is no reply
    tool, action, files, work = TOOLS[sys.argv[1]](), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    if action == "index":
        tool.index(files, work)
    else:
        find = tool.opened(files, work)
        for line in sys.stdin:
            paths = list(dict.fromkeys(find(json.loads(line))))
            print(json.dumps(paths[:DEPTH]), file=replies)
    print(_peak_megabytes(), file=replies)


if __name__ == "__main__":
    main()
