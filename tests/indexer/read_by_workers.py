"""Reading files in worker processes, without an index."""

from indexer.files.outcome import Source
from indexer.formats.format import Columns
from indexer.workers.messages import Limits, Reading
from indexer.workers.pool import Pool


def sources_of(folder, texts):
    found = []
    for number, text in enumerate(texts):
        file = folder / f"{number:03}.txt"
        file.write_text(text)
        found.append(Source(str(file), file.name, file.stat().st_size, file.stat().st_mtime_ns))
    return found


def reading(tokenizer, limits=None):
    return Reading(tokenizer.to_str(), 64, Columns(), 10**8, limits or Limits())


def outcomes(sources, tokenizer, n_workers=2, limits=None):
    with Pool(1) as workers:
        workers.grow(n_workers)
        read = list(workers.read(sources, reading(tokenizer, limits)))
    parts = [part for message in read for part in message.parts]
    return {part.source.path: part.ended.reason for part in parts if part.ended}, read
