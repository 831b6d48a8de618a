import os
from pathlib import Path

import pytest
from built import write_files
from running_server import running_server

import cdesearch

HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>"><svg onload=alert(3)> javascript:alert(4)'
NOTES = {
    "garden/roses.md": "# Roses\n\n## Pruning\n\nPrune roses in late winter. Cut above a bud that faces outwards.\n\n"
    "## Watering\n\nWater roses at the root in the morning.",
    "garden/apples.md": "---\ndate: 2024-03-01\ntags: [fruit, garden]\n---\n# Apples\n\n"
    "Apple trees need a second tree near them to set fruit.",
    "kitchen/bread.md": "# Bread\n\nKnead the dough, let it rise, and bake it for forty minutes.",
    "kitchen/<img src=x onerror=alert(5)>.txt": f"A recipe for a hostile soup: {HOSTILE}",
    "code/engine.py": "".join(f"def start_engine_{n}(fuel):\n    return fuel * {n}\n\n\n" for n in range(120)),
    "broken.pdf": "no PDF",
}


@pytest.fixture(scope="session")
def notes(tmp_path_factory):
    """A folder that is indexed with the default model."""
    root = write_files(tmp_path_factory.mktemp("browser") / "notes", NOTES)
    cdesearch.build(root).close()
    return root


@pytest.fixture(scope="session")
def browser(notes):
    from browser import Browser, find_browser

    if find_browser() is None:
        pytest.skip("no browser: install chromium and chromium-driver")
    with running_server([notes]) as server:
        browser = Browser(server.url)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _own_page(browser):
    """A browser with an empty page of a fixed size. After each test, the page must have no errors."""
    browser.appear()
    browser.open("/api/v1/healthz")
    browser.script("localStorage.clear()")
    yield
    assert browser.recorded() in ([], None)


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    folder = Path(os.environ.get("CDESEARCH_NODE_MODULES", Path(__file__).parents[4] / "node_modules"))
    file = folder / "axe-core" / "axe.min.js"
    if not file.exists():
        pytest.skip("no axe-core: run `npm install --no-save axe-core`")
    return file.read_text()
