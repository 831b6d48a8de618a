"""The application is driven by keys, as a user would do, in a terminal without a screen."""

import asyncio
import sys

import command
import pytest
from built import write_files
from textual.widgets import Input, OptionList, Static

import cdesearch
from cdesearch.tui.app import SearchApp

LINES = [f"Line {n} is about nothing." if n % 4 else "" for n in range(1, 400)]
LINES[299] = "The owl hoots [bold] at \x1b[31m night."


@pytest.fixture(scope="module")
def docs(tmp_path_factory, tiny_checkpoint):
    texts = {"long.txt": "\n".join(LINES), **dict.fromkeys(["whale.md", "copy.md"], "# Sea\n\nA whale sings.\n")}
    folder = write_files(tmp_path_factory.mktemp("docs"), texts)
    cdesearch.build(folder, model=tiny_checkpoint).close()
    return folder


@pytest.fixture
def drive(docs, tiny_checkpoint):
    """Run `steps(app, pilot)` with the application for the folder."""

    def driven(steps, size=(100, 30)):
        async def run():
            with cdesearch.open(docs, model=tiny_checkpoint) as opened:
                app = SearchApp(opened._searcher)
                async with app.run_test(size=size) as pilot:
                    await steps(app, pilot)

        asyncio.run(run())

    return driven


def test_without_a_terminal_the_command_says_so(docs):
    assert "needs a terminal" in command.cdesearch("tui", cwd=docs, code=2).stderr


async def typed(app, pilot, words):
    """Type words, and wait until their hits and the preview of the best one are shown."""
    await pilot.press(*("space" if letter == " " else letter for letter in words))
    for _ in range(400):
        await pilot.pause(0.05)
        if app._query == app.query_one(Input).value:
            break
    await pilot.pause()  # the message that the best hit is selected starts the preview
    await app.workers.wait_for_complete()
    await pilot.pause(0.05)


def preview(app):
    return str(app.query_one("#text", Static).content)


def hits(app):
    found = app.query_one("#hits", OptionList)
    return [str(found.get_option_at_index(n).prompt) for n in range(found.option_count)]


def test_results_and_the_preview_change_while_the_user_types(drive):
    async def steps(app, pilot):
        assert "of 3 documents" in preview(app)
        await typed(app, pilot, "whale")
        assert "whale.md" in hits(app)[0] or "copy.md" in hits(app)[0]
        assert "A whale sings." in preview(app)
        await pilot.press(*["backspace"] * 5)
        await typed(app, pilot, "owl hoots")
        assert hits(app)[0].startswith(" 1 ") and "long.txt:" in hits(app)[0]
        assert hits(app)[0].splitlines()[0].endswith("%"), "the confidence"
        assert "┃ The owl hoots [bold] at  night." in preview(app)
        assert "Line 290 is about nothing." in preview(app) and "\x1b" not in preview(app)
        pane = app.query_one("#preview")
        await pilot.pause(0.2)
        row = next(n for n, line in enumerate(preview(app).splitlines()) if "┃" in line)
        assert pane.scroll_y <= row < pane.scroll_y + pane.size.height, "the passage is visible"
        before = pane.scroll_y
        await pilot.press("pagedown")
        assert pane.scroll_y > before
        await pilot.resize_terminal(60, 20)
        for _ in range(100):
            await pilot.pause(0.05)
            if max(map(len, preview(app).splitlines())) <= pane.size.width:
                break
        assert max(map(len, preview(app).splitlines())) <= pane.size.width < 40

    drive(steps)


@pytest.mark.slow
def test_the_selected_hit_is_opened_in_the_editor_at_its_line(drive, docs, tmp_path, monkeypatch):
    editor = tmp_path / "vim"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'opened')!r}, 'w').write(' '.join(sys.argv[1:]))\n"
    )
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    async def steps(app, pilot):
        await pilot.press("enter")  # there is nothing to open yet
        await typed(app, pilot, "owl hoots")
        await pilot.press("enter")
        assert (tmp_path / "opened").read_text() == f"+300 {docs / 'long.txt'}"
        await pilot.press("down", "enter")
        assert (tmp_path / "opened").read_text() != f"+300 {docs / 'long.txt'}"
        await pilot.press("up", "up", "enter")
        assert (tmp_path / "opened").read_text() == f"+300 {docs / 'long.txt'}"

    drive(steps)


@pytest.mark.slow
def test_an_error_is_shown_and_the_application_stays_open(drive, monkeypatch):
    monkeypatch.setenv("VISUAL", "/nowhere/editor")

    async def steps(app, pilot):
        await typed(app, pilot, "owl hoots")
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert ["cannot be started" in one.message for one in app._notifications] == [True]
        await typed(app, pilot, "x")

    drive(steps)


def test_escape_ends_the_application_and_a_key_changes_the_colours(drive):
    async def steps(app, pilot):
        before = app.theme
        await pilot.press("ctrl+t")
        assert app.theme != before
        await pilot.press("escape")
        assert app._exit

    drive(steps)


def test_ctrl_c_ends_the_application_while_words_are_selected(drive):
    async def steps(app, pilot):
        await typed(app, pilot, "moon")
        await pilot.press("shift+home", "ctrl+c")
        assert app._exit and app.return_code == 130

    drive(steps)
