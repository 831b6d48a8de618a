"""The application on the whole terminal: words above, hits on the left, and a preview on the right."""

import signal
from collections.abc import Iterator
from typing import ClassVar

from rich.console import Console
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from cdesearch.cli.exits import code_of
from cdesearch.cli.hits.grouping import HitGroup, group_hits, search_for_groups
from cdesearch.cli.hits.opening import open_place
from cdesearch.cli.hits.render import TAB, Shown, as_percentage, further, heading
from cdesearch.errors import CdesearchError
from cdesearch.search.documents import DocumentReader, surroundings_of
from cdesearch.search.passage_lines import Line, best_line, query_words, shown_lines
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.terminal import counted, printable
from cdesearch.words.word_forms import word_spans

DELAY = 0.15  # seconds after the last key until the search starts
GROUPS = 20  # of hits in the list
ABOVE = 3  # lines of context that are visible above the passage
CHUNKS = 20  # of the document, on each side of the hit
LINES = 300  # on each side of the passage
MAX_LINE = 2_000  # characters of a line that are shown
MATCH_STYLE, OTHER_STYLE = "bold red", "dim"
BAR, NO_BAR = "┃ ", "  "
MIN_CELLS = 10  # the least width of a line


class SearchApp(App[None]):
    """Searches while the user types. Threads compute searches and previews, so that keys are handled without delay."""

    TITLE = "cdesearch"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Input { border: tall $primary; }
    #hits { width: 2fr; border: none; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    #preview { width: 3fr; padding: 0 1; border-left: solid $primary; }
    #hits, #preview { scrollbar-size-vertical: 1; overflow-x: hidden; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", priority=True),
        Binding("up", "select(-1)", show=False, priority=True),
        Binding("down", "select(1)", "Select", key_display="↑↓", priority=True),
        Binding("pageup", "scroll(-1)", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Scroll", key_display="PgUp PgDn", priority=True),
        Binding("ctrl+t", "light", "Light/dark"),
        Binding("escape", "quit", "Quit"),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(self, searcher: Searcher) -> None:
        super().__init__()
        self._searcher = searcher
        self._query = ""  # the words of the hits that are shown
        self._groups: list[HitGroup] = []
        self._waiting: Timer | None = None
        self._resizing: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Input(placeholder="Type to search")
        with Horizontal():
            yield OptionList(id="hits")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="text")
        yield Footer()

    def on_mount(self) -> None:
        """Load the model while the user types the first words."""
        self.query_one("#hits").can_focus = False
        manifest = self._searcher.index.manifest
        self._say(f"{counted(manifest.n_chunks, 'chunk')} of {counted(manifest.n_documents, 'document')}")
        self._warm()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search when no further key has been pressed for DELAY seconds."""
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(DELAY, lambda: self._search(event.value))

    def on_resize(self) -> None:
        """Fit the preview to the new size, when the size no longer changes."""
        if self._resizing is not None:
            self._resizing.stop()
        selected = self.query_one("#hits", OptionList).highlighted
        if selected is not None:
            self._resizing = self.set_timer(DELAY, lambda: self._preview(selected))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._preview(event.option_index)

    def on_option_list_option_selected(self) -> None:
        """Open the hit on which the user has clicked."""
        self.action_open()

    def action_select(self, step: int) -> None:
        hits = self.query_one("#hits", OptionList)
        if hits.option_count:
            hits.highlighted = min(max(0, (hits.highlighted or 0) + step), hits.option_count - 1)

    def action_scroll(self, pages: int) -> None:
        preview = self.query_one("#preview")
        preview.scroll_relative(y=pages * max(1, preview.size.height - 2), animate=False)

    def action_interrupt(self) -> None:
        """End the application as Ctrl-C ends any other command."""
        self.exit(return_code=code_of(signal.SIGINT))

    def action_light(self) -> None:
        self.theme = "textual-dark" if self.theme == "textual-light" else "textual-light"

    def action_open(self) -> None:
        """Open the selected hit, as `cdesearch open` does."""
        selected = self.query_one("#hits", OptionList).highlighted
        if selected is None or selected >= len(self._groups):
            return
        place = self._shown().place(self._groups[selected].best)
        try:
            try:
                with self.suspend():
                    open_place(place)
            except SuspendNotSupported:
                open_place(place)
        except CdesearchError as error:
            self._report(error)

    def _shown(self) -> Shown:
        root = self._searcher.index.root
        return Shown(self._query, lambda _: root)

    @work(thread=True, group="warm")
    def _warm(self) -> None:
        try:
            self._searcher.warm()
        except CdesearchError as error:
            self.call_from_thread(self._report, error)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, query: str) -> None:
        groups: list[HitGroup] = []
        searched = query
        try:
            if query.strip():
                self._searcher.refresh()
                result = search_for_groups(self._searcher.search, SearchRequest(query, GROUPS))
                groups = group_hits(result.hits, GROUPS)
                searched = result.searched or query
        except CdesearchError as error:
            self.call_from_thread(self._report, error)
            return
        self.call_from_thread(self._show, query, searched, groups)

    def _show(self, query: str, searched: str, groups: list[HitGroup]) -> None:
        """Replace the hits, unless the words have changed since the search started."""
        if query != self.query_one(Input).value:
            return
        self._query, self._groups = searched, groups
        shown = self._shown()
        hits = self.query_one("#hits", OptionList)
        hits.clear_options()
        hits.add_options([Option(_option(shown, rank, group)) for rank, group in enumerate(groups, start=1)])
        if groups:
            hits.highlighted = 0
        else:
            self._say("No hits." if query.strip() else "")

    @work(thread=True, exclusive=True, group="preview")
    def _preview(self, number: int) -> None:
        query, groups, width = self._query, self._groups, self.query_one("#preview").scrollable_content_region.width
        if number >= len(groups):
            return
        try:
            text, row = self._searcher.read(lambda index: preview_of(index, groups[number].best, query, width))
        except CdesearchError as error:
            self.call_from_thread(self._report, error)
            return
        self.call_from_thread(self._show_preview, groups[number], text, row)

    def _show_preview(self, group: HitGroup, text: Text, row: int) -> None:
        """Show a preview, unless another hit has been selected since."""
        selected = self.query_one("#hits", OptionList).highlighted
        if selected is None or selected >= len(self._groups) or self._groups[selected] is not group:
            return
        self.query_one("#text", Static).update(text)
        preview = self.query_one("#preview")
        self.call_after_refresh(preview.scroll_to, y=max(0, row - ABOVE), animate=False)

    def _say(self, text: str) -> None:
        self.query_one("#text", Static).update(Text(text, "dim"))

    def _report(self, error: CdesearchError) -> None:
        self.notify(printable(str(error)), severity="error", markup=False)


def _option(shown: Shown, rank: int, group: HitGroup) -> Text:
    """The lines of a hit in the list: its place, its best line, and how many more there are."""
    passage = shown.lines(group.best)
    number, location, _ = heading(shown, rank, group.best)
    line = best_line(passage, query_words(shown.query)).text.expandtabs(TAB).strip()
    more = "".join(f"\n   {one}" for one in further(shown, group))
    confidence = "" if group.best.confidence is None else f"  {as_percentage(group.best.confidence)}"
    place = [(number, "bold"), (location, "bold"), (confidence, "dim")]
    return Text.assemble(*place, f"\n   {printable(line)}", (more, "dim"))


def preview_of(index: Index, hit: Hit, query: str, width: int) -> tuple[Text, int]:
    """The rows of the lines around a hit for a width in cells, and the position of the first row of its passage.

    Raises IndexStateError, and NotIndexedError if an update has removed the hit.
    """
    chunks = DocumentReader(index).document(hit.chunk.document_id)
    around = surroundings_of(chunks, hit.chunk.id, CHUNKS)
    words = query_words(query)
    lines = shown_lines(hit, words, full=False, context=LINES, around=around, blank=True)
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    console = Console(width=width)
    rows: list[Text] = []
    passage_row = None
    for line in lines:
        if not line.is_context and passage_row is None:
            passage_row = len(rows)
        rows += _rows(line, digits, words, console)
    return Text("\n").join(rows), passage_row or 0


def _rows(line: Line, digits: int, words: list[str], console: Console) -> Iterator[Text]:
    """Yield the rows of one line. The number is before the first of them, and the bar of the passage before all."""
    body = Text(printable(line.text[:MAX_LINE].expandtabs(TAB)), OTHER_STYLE if line.is_context else "")
    for start, end in word_spans(body.plain, words):
        body.stylize(MATCH_STYLE, start, end)
    number = "" if line.number is None else str(line.number)
    bar = (NO_BAR, "") if line.is_context else (BAR, "bold magenta")
    width = max(MIN_CELLS, console.width - digits - bool(digits) - len(BAR))
    for row in body.wrap(console, width) or [Text("")]:
        yield Text.assemble((f"{number:>{digits}} " if digits else "", OTHER_STYLE), bar, row)
        number = ""
