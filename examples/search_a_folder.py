"""Index a folder and ask it something, from Python.

    python examples/search_a_folder.py FOLDER "a question"

`build` does what `cdesearch index` does: it samples the folder's context, embeds every chunk with that context in view,
and keeps all in FOLDER/.cdesearch. Called again, it works only on what has changed.
"""

import sys

import cdesearch


def main() -> None:
    """Print the three best passages."""
    folder, question = sys.argv[1:3]
    index = cdesearch.build(folder)
    # The question is encoded with the context that the index stored: the same words mean other things elsewhere.
    for hit in index.search(question, k=3):
        print(f"{hit.rank}. {hit.chunk.location}  {' > '.join(hit.chunk.trail)}")
        print(f"   cosine {hit.dense_score:.2f}, BM25 {hit.text_score or 0:.1f}")
        print(f"   {hit.chunk.body[:200]}")


if __name__ == "__main__":
    main()
