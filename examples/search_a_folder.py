"""Index a folder and search it from Python.

    python examples/search_a_folder.py FOLDER "a question"

`build` does the same as `cdesearch index`: it samples the context of the folder, embeds every chunk in that context,
and stores the index in FOLDER/.cdesearch. A second call embeds only what has changed.
"""

import sys

import cdesearch


def main() -> None:
    """Print the three best passages."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, question = sys.argv[1:]
    with cdesearch.build(folder) as index:
        # The question is encoded in the context that the index stores, like the documents.
        for hit in index.search(question, k=3):
            print(f"{hit.rank}. {hit.chunk.location}  {' > '.join(hit.chunk.trail)}")
            print(f"   cosine {hit.dense_score:.2f}, BM25 {hit.text_score or 0:.1f}")
            print(f"   {hit.chunk.body[:200]}")


if __name__ == "__main__":
    main()
