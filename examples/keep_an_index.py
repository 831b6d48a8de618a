"""Keep an index open in a program: many questions at once, asynchronous searches, and updates.

    python examples/keep_an_index.py FOLDER "a question" "another question"

The handle that `open` and `build` return may be used by any number of threads. It notices by itself if another process,
such as `cdesearch watch`, has updated the index.
"""

import asyncio
import sys

import cdesearch


async def ask_at_once(index: cdesearch.OpenIndex, questions: list[str]) -> None:
    """Print the best passage for each question. The event loop can do other work meanwhile."""
    results = await asyncio.gather(*(index.asearch(question, k=1) for question in questions))
    for question, result in zip(questions, results, strict=True):
        print(f"{question}: {result[0].chunk.location if result else 'nothing'}")


def main() -> None:
    """Build the index, ask all questions in three ways, and bring the index up to date."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, *questions = sys.argv[1:]
    with cdesearch.build(folder) as index:
        if index.report:
            print(f"{index.report.documents} documents, {len(index.report.skipped)} files skipped")
        for question, result in zip(questions, index.search_many(questions, k=1), strict=True):
            print(f"{question}: {result[0].chunk.location if result else 'nothing'}")
        asyncio.run(ask_at_once(index, questions))
        print("updated" if index.update().changed else "up to date")


if __name__ == "__main__":
    main()
