"""Print answers as text for a terminal, and convert them to JSON."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import quote

from rich.text import Text

from cdesearch.answer.answer import NOTHING, Answer, quoted_answer
from cdesearch.answer.extract import CorpusView
from cdesearch.cli.hits.render import shown_place
from cdesearch.errors import LanguageModelError, QueryError
from cdesearch.search.passage_lines import best_row, query_words
from cdesearch.search.passages import Passage, fit_passages
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import no_text_contains, shown_instead
from cdesearch.search.searcher import Searcher
from cdesearch.terminal import counted, open_console, printable

TAB = 4  # the number of spaces that replace a tab

_CODE = re.compile(r"^```\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_CITATION = re.compile(r"\[\d+(?:, \d+)*\]")


class AnswerPrinter:
    """Prints an answer and its sources, with colours and links only on a terminal."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._console = open_console(soft_wrap=True)
        self._has_text = False

    def write(self, piece: str) -> None:
        self._has_text = True
        self._console.print(self._styled(piece), end="")
        sys.stdout.flush()

    def quote(self, answer: Answer) -> None:
        """Print a whole answer, wrapped between words on a terminal."""
        if answer.is_answered:
            self._has_text = True
            is_terminal = self._console.is_terminal
            text = _CODE.sub(lambda code: indent(code[1], " " * TAB), answer.text) if is_terminal else answer.text
            self._console.print(self._styled(text), soft_wrap=not is_terminal, end="")

    def end(self, answer: Answer, *, has_failed: bool) -> None:
        """Print what follows an answer: its sources."""
        if self._has_text:
            self._console.print()
        if not answer.is_answered:
            if not self._has_text and not has_failed:  # the text of a model says itself that it found no answer
                self._console.print(NOTHING)
            self._note_words(answer)
            return
        if answer.cited:
            self._console.print()
        for number in sorted(answer.cited):
            self._console.print(self._source(answer, number))
        self._note_words(answer)
        if not answer.is_likely:
            self._note("This is a possible answer, but not a likely one.")
        if has_failed:  # the error is the last line
            return
        if answer.n_removed:
            self._note(f"{counted(answer.n_removed, 'citation')} removed: no passage has that number.")
        if answer.n_unsourced:
            self._note(f"{counted(answer.n_unsourced, 'sentence')} without a source.")

    def _source(self, answer: Answer, number: int) -> Text:
        passage = answer.passages[number - 1]
        location = answer.location(number)
        below = location.removeprefix(passage.path)  # a line, or what a browser finds in the file
        address = (self._root / passage.path).as_uri() + (quote(below, safe="/#=") if below.startswith("#") else "")
        link = f"link {address}" if self._console.is_terminal else ""
        place = shown_place(passage, location, self._root)
        above = printable(" > ".join(part for part in (passage.title, *answer.trail(number)) if part))
        return Text.assemble((f"[{number}] ", "bold"), (place, f"cyan {link}"), (f"  {above}" if above else "", "dim"))

    def _styled(self, text: str) -> Text:
        """Text that is safe for a terminal, with its citations in bold."""
        lines = (printable(line.expandtabs(TAB)) for line in text.split("\n"))
        styled = Text("\n".join(lines))
        styled.highlight_regex(_CITATION, "bold cyan")
        return styled

    def _note_words(self, answer: Answer) -> None:
        if answer.searched:
            self._note(printable(shown_instead(answer.searched)))
        if answer.unknown_name:
            self._note(no_text_contains(answer.unknown_name))

    def _note(self, text: str) -> None:
        open_console(stderr=True, soft_wrap=True).print(text)


def found_answer(
    searcher: Searcher, question: SearchRequest, tokens: int, *, is_written: bool
) -> tuple[tuple[Passage, ...], Answer | None]:
    """The passages for a question, and the answer that quotes them.

    The answer is None if it `is_written` by a language model, and there are passages. Raises CdesearchError.
    """
    if question.lists is not None:
        raise QueryError("The question names only where to search.", "Add the words of a question.")
    result, encoder = searcher.search(question), searcher.encoder
    question = replace(question, text=result.searched or question.text)
    words = query_words(question.text)
    passages = fit_passages(result, tokens, encoder.tokenizer, lambda hit: best_row(hit, words))
    if is_written and passages:
        return passages, None
    index = searcher.index
    context = None if index.manifest.n_vectors == 0 else index.context_for(encoder)
    corpus = CorpusView(encoder, context, index.vectors)
    answer = quoted_answer(question.words, result, passages, corpus)
    return answer.passages, replace(answer, searched=result.searched, unknown_name=result.unknown_name)


def answer_as_json(question: str, answer: Answer, failure: LanguageModelError | None, seconds: float) -> dict[str, Any]:
    """A JSON object with the question, the answer, its citations and all passages."""
    return {
        "question": question,
        "answered": answer.is_answered and failure is None,
        "likely": answer.is_likely,
        "searched": answer.searched,
        "unknown_name": answer.unknown_name,
        "answer": answer.text,
        "model": answer.model,
        "citations": [
            {"number": number, "location": answer.location(number), "trail": list(answer.trail(number))}
            for number in answer.cited
        ],
        "quotes": [{"text": one.text, "number": one.passage + 1, "line": one.line} for one in answer.quotes],
        "removed_citations": answer.n_removed,
        "unsourced_sentences": answer.n_unsourced,
        "error": None if failure is None else str(failure),
        "milliseconds": round(1000 * seconds, 2),
        "passages": [passage_as_json(number, passage) for number, passage in enumerate(answer.passages, 1)],
    }


def passage_as_json(number: int, passage: Passage) -> dict[str, Any]:
    """A JSON object for a passage, with the number by which citations refer to it."""
    return {
        "number": number,
        "location": passage.location,
        "path": passage.path,
        "document": passage.document_id,
        "record": passage.record,
        "chunks": list(passage.chunk_ids),
        "line_start": passage.line_start,
        "line_end": passage.line_end,
        "page": passage.page,
        "page_end": passage.page_end,
        "anchor": passage.anchor,
        "title": passage.title,
        "trail": list(passage.trail),
        "score": passage.score,
        "text": passage.text,
    }
