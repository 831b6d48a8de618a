import re
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import DESK, WIDE
from built import write_files
from pdf_pages import Line, pdf_of
from PIL import Image
from running_server import running_server
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

import cdesearch
from cdesearch.serve.settings import ServeSettings

VIEWS = ["/", "/?q=pruning+roses", "/?view=index", "/api"]
READY = {"/": "#welcome", "/api": ".request", "/?view=index": "#files table"}
# Responses to some queries are delayed.
LATE = """
const real = window.fetch;
window.fetch = async (address, options) => {
  if (!new URL(address, location).searchParams.get("q")?.endsWith(arguments_late)) return real(address, options);
  await new Promise((resolve) => { setTimeout(resolve, 900); });
  window.late = true;
  return real(address, { ...options, signal: undefined });
};
"""


def names(hits):
    return [parse_qs(urlsplit(hit.get_attribute("href")).query)["document"][0] for hit in hits]


def open_view(browser, address):
    browser.open(address)
    browser.one(READY.get(address, ".hit"))


def test_a_page_that_is_opened_with_the_token_sends_it(browser, notes):
    token = "a-token-of-sixteen-or-more"
    with running_server([notes], ServeSettings(token=token)) as server:
        browser.driver.get(server.url)
        browser.wait(lambda: "no valid token" in browser.text("#problem"))
        browser.driver.get(f"{server.url}/#token={token}")
        browser.wait(lambda: "5 files" in browser.text("#welcome"))
        assert browser.driver.current_url == f"{server.url}/" and not browser.driver.get_cookies()
        known = (f"{server.url}/", f"{browser.url}/", "data:")
        assert all(url.startswith(known) for url in browser.requests())  # the last test must not see them


def test_typing_shows_hits(browser):
    browser.open()
    assert "5 files" in browser.text("#welcome")
    hits = browser.search("when to prune roses")
    assert names(hits)[0] == "garden/roses.md"
    assert hits[0].text == "Roses \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} Pruning" and browser.text(
        ".hit .file"
    ).startswith("garden/roses.md, line 5")
    assert {mark.text for mark in browser.every(".hit:first-child mark")} >= {"Prune", "roses"}
    assert re.match(r"\d passages? in 1 file · ", browser.text("#summary"))  # the others are below 5%
    browser.picture("hits-light")


def test_a_question_is_answered_above_the_hits_with_links_to_its_sources(browser):
    browser.open("/?q=when+should+I+prune+roses%3F")
    browser.wait(lambda: "Prune roses in late winter. 1" in [line.text for line in browser.every("#answer p")])
    assert browser.text("#answer .sources").startswith("garden/roses.md, line ")
    browser.picture("answer-light")
    for _ in range(2):  # as it has the focus again after Esc
        browser.one("#answer .cite").click()
        assert "late winter" in browser.text("#view-document .is-hit")
        assert browser.script("return [...CSS.highlights.get('quote')].map(String)") == ["Prune roses in late winter"]
        browser.press(Keys.ESCAPE)
        browser.wait(lambda: browser.focused() == browser.one("#answer .cite"))
    browser.appear(WIDE)
    browser.script("document.activeElement.blur()")
    browser.script("document.querySelector('#answer .cite').focus()")
    quoted = "[...(CSS.highlights.get('quote') ?? [])].map(({ startContainer }) => startContainer.parentElement)"
    browser.wait(lambda: browser.script(f"return {quoted}.some((one) => one.closest('#preview'))"))
    browser.appear()
    browser.open("/?q=prune+roses")
    browser.one(".hit")
    time.sleep(0.6)  # after which a question would be asked
    assert not browser.every("#answer")
    browser.open("/?q=what+is+the+population+of+Berlin")
    browser.wait(lambda: browser.text("#answer").startswith("No text here contains “Berlin”.\nNothing here seems to"))
    assert len(browser.every(".hit")) <= 3
    browser.open("/?q=population+Berlin")
    nothing = "No text here contains “Berlin”. Nothing here seems to answer that; the nearest passages are shown."
    browser.wait(lambda: browser.text("#summary").startswith(nothing))


def test_the_words_in_place_of_misspelled_ones_are_told_marked_and_asked(browser):
    browser.open("/?q=when+should+I+prnue+roses%3F")
    browser.wait(lambda: "Prune roses in late winter. 1" in [line.text for line in browser.every("#answer p")])
    assert browser.text("#summary").startswith("Showing hits for “when should I prune roses?”.")
    assert "Prune" in [mark.text for mark in browser.every(".hit mark")]


def test_hits_of_one_file_are_one_item_and_weak_hits_are_shown_on_request(browser):
    browser.open()
    browser.search("when do I prune roses")
    assert len(browser.every(".hit")) < 3 and browser.text(".hit .score").startswith(("likely", "possible"))
    browser.one("#answer .sources")  # after which the page does not move
    count = int(browser.text("#weak").split()[0])
    before = len(browser.every("#hits a.open"))
    browser.one("#weak").click()
    assert len(browser.every("#hits a.open")) == before + count and not browser.every("#weak")
    assert f"{before + count} passages in {len(browser.every('.hit'))} files · " in browser.text("#summary")
    browser.search("start_engine_60")
    paths = names(browser.every(".hit > .head a.open"))
    assert len(paths) == len(set(paths)) and browser.every(".also a.open")


@pytest.mark.slow
def test_further_typing_discards_responses_to_earlier_queries(browser):
    browser.open()
    browser.script(LATE.replace("arguments_late", "'bread'"))
    browser.type("bread")
    browser.wait(lambda: "q=bread" in browser.driver.current_url)
    browser.type(" or apples")
    browser.wait(lambda: browser.has_answered("bread or apples"))
    before = names(browser.every("#hits a.open"))
    browser.wait(lambda: browser.script("return window.late"))
    time.sleep(0.3)  # in which the late answer would be shown
    assert names(browser.every("#hits a.open")) == before and before[0] != "kitchen/bread.md"
    assert browser.one("#query").get_attribute("value") == "bread or apples"


def test_enter_opens_the_first_hit_when_it_arrives(browser):
    browser.open()
    browser.script(LATE.replace("arguments_late", "'bread'"))
    browser.type("bread")
    browser.press(Keys.ENTER)
    assert not browser.script("return window.late")
    browser.wait(lambda: browser.text("#document-title") == "kitchen/bread.md")


def test_the_page_can_be_used_with_the_keyboard_alone(browser):
    browser.open("/?q=roses")
    browser.one(".hit")
    browser.script("document.activeElement.blur()")
    browser.press("/")
    assert browser.focused().get_attribute("id") == "query"
    browser.search("start_engine_60")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    hits = browser.every("#hits a.open")
    browser.press(Keys.ARROW_DOWN)
    browser.press(Keys.ARROW_UP)
    second = browser.focused()
    assert second == hits[1] and second.text.startswith("line")  # a further passage of the same file
    browser.press(Keys.ENTER)
    marked = browser.one(".chunk.is-hit")
    assert browser.text("#document-title") == "code/engine.py"
    browser.wait(lambda: browser.focused() == marked)
    assert browser.one(".chunk.is-hit .line code .k").text == "def"
    browser.press(Keys.ESCAPE)
    browser.wait(lambda: browser.focused() == browser.every("#hits a.open")[1])
    browser.driver.back()
    browser.one(".chunk.is-hit")
    browser.driver.back()
    browser.one("#hits")
    browser.press(Keys.ARROW_UP)


@pytest.mark.slow
def test_a_document_opens_at_the_passage_with_its_neighbours(browser, notes):
    browser.open()
    browser.search("start_engine_60")[0].click()
    marked = browser.one(".chunk.is-hit")
    assert any(mark.text == "60" for mark in browser.every(".chunk.is-hit mark"))
    top = marked.rect["y"] - browser.script("return scrollY")
    assert 0 < top < DESK[1]
    first = int(browser.every(".chunk .line")[0].get_attribute("data-line"))
    lines = [line.get_attribute("data-line") for line in browser.every(".chunk .line")]
    assert lines == [str(first + n) for n in range(len(lines))] or len(set(lines)) == len(lines)
    shown = len(browser.every(".chunk"))
    assert 8 <= shown <= 15
    browser.picture("document-light")
    if further := browser.every(".more"):
        further[0].send_keys(Keys.ENTER)
        browser.wait(lambda: len(browser.every(".chunk")) > shown)
    browser.one(".actions button").click()
    expected = f"{notes}/code/engine.py:{browser.one('.chunk.is-hit .line').get_attribute('data-line')}"
    spoken = "return document.getElementById('announcer').textContent"
    browser.wait(lambda: browser.script(spoken) == f"{expected} is copied.", "the copied path")
    browser.one("#query").clear()
    browser.one("#query").send_keys(Keys.CONTROL, "v")
    browser.wait(lambda: browser.one("#query").get_attribute("value") == expected, "the pasted path")


def test_filters_are_stored_in_the_address(browser):
    browser.open()
    assert set(names(browser.search("roses and bread"))) == {"garden/roses.md", "kitchen/bread.md"}
    browser.script("document.querySelector('#folder').value = '/kitchen'")
    browser.script("document.querySelector('#folder').dispatchEvent(new Event('change'))")
    browser.wait(
        lambda: (
            browser.every("#hits a.open")
            and {n.split("/")[0] for n in names(browser.every("#hits a.open"))} == {"kitchen"}
        )
    )
    browser.script("document.querySelector('[name=mode][value=text]').click()")
    browser.wait(
        lambda: (
            "mode=text" in browser.driver.current_url and names(browser.every("#hits a.open")) == ["kitchen/bread.md"]
        )
    )
    browser.driver.refresh()
    browser.wait(lambda: names(browser.every("#hits a.open")) == ["kitchen/bread.md"])
    assert browser.one("#folder").get_attribute("value") == "/kitchen"
    browser.driver.back()
    browser.wait(lambda: "mode" not in browser.driver.current_url and len(browser.every("#hits a.open")) == 1)
    assert browser.script("return document.querySelector('[name=mode]:checked').value") == "hybrid"


def test_a_search_is_narrowed_by_what_its_hits_have_and_widened_again(browser):
    browser.open()
    browser.search("trees in the garden")
    browser.wait(lambda: len(browser.every("#facets select")) == 4)
    assert {"garden (2)", "kitchen (2)"} <= {one.text for one in Select(browser.one("#folder")).options}
    assert "Mar 1, 2024" in [date.text for date in browser.every(".hit time")]
    for facet, value, words in (("tag", "fruit", "with the tag fruit"), ("year", "2024", "of 2024")):
        Select(browser.one(f"#{facet}")).select_by_value(value)
        browser.wait(lambda words=words: words in browser.text("#summary"))
        assert names(browser.every("#hits a.open")) == ["garden/apples.md"]
        browser.picture(f"filter-{facet}-light")
        browser.one(f"[aria-label='Remove the filter by {facet}']").click()
        assert browser.focused().get_attribute("id") in (facet, "query")
        browser.wait(lambda words=words: words not in browser.text("#summary"))
    assert "tag=" not in browser.driver.current_url


def test_the_page_explains_missing_hits_and_shows_the_remedy_of_an_error(browser):
    for asked, reason in (("zeppelin&mode=text", "these words"), ('"zeppelin roses"', 'the phrase "zeppelin roses"')):
        browser.open(f"/?q={asked}")
        browser.wait(lambda reason=reason: f"No hits. No passage contains {reason}." in browser.text("#summary"))
    browser.open("/?q=roses&index=unknown")
    assert "There is no index unknown here. Use one of these names: notes." in browser.text("#problem")


def test_the_evidence_of_a_hit_adds_up_to_its_score(browser):
    browser.open("/?q=prune+the+roses")
    browser.one(".hit .actions button").click()
    short = browser.text(".why .inshort")
    assert "nearer to the query" in short and "It contains all 2 words of the query: prune, roses" in short
    browser.one(".why summary").click()
    *parts, score = map(float, re.findall(r"-?[\d.]+", browser.text(".why .total").replace("\u2212", "-")))
    assert len(parts) >= 2 and sum(parts) == pytest.approx(score, abs=0.016)
    assert browser.text(".hit .score").split()[-1] == f"{score:.2f})"
    rows = [row.text.split() for row in browser.every(".why tbody tr")]
    assert [row[0] for row in rows] == ["prune", "roses"]
    bm25 = float(re.search(r"BM25 ([\d.]+) is", browser.text(".why"))[1])
    assert sum(float(row[-1]) for row in rows) == pytest.approx(bm25, abs=0.011)
    browser.picture("why-light")


@pytest.mark.slow
def test_the_context_that_the_query_attends_to_is_listed(browser, axe, notes, closed_checkpoint, tmp_path):
    cdesearch.build(notes, index=tmp_path / "index", model=closed_checkpoint).close()
    own = browser.url
    with running_server([tmp_path / "index"]) as server:
        try:
            browser.url = server.url
            for theme, rules in (("light", None), ("dark", ["color-contrast"])):
                browser.appear(theme=theme)
                browser.open("/?q=prune+the+roses")
                browser.one(".hit .actions button").click()
                browser.one(".why summary").click()
                browser.one(".why .total")
                shares = [float(share.text.rstrip("%")) for share in browser.every(".why .context .share")]
                assert len(shares) == 6 and shares == sorted(shares, reverse=True)
                assert serious(browser, axe, rules, "context") == []
                browser.picture(f"context-{theme}")
            link = browser.one(".why .context a")
            path = link.text
            link.click()
            browser.one(".chunk.is-hit")
            assert browser.text("#document-title") == path
            open_view(browser, "/?view=index")
            assert "most attended: " in browser.text(".cards")
            known = (f"{server.url}/", f"{own}/", "data:")
            assert all(url.startswith(known) for url in browser.requests())  # the last test must not see them
        finally:
            browser.url = own
            browser.open()


def test_html_in_files_is_shown_as_text(browser):
    browser.open()
    hit = browser.search("hostile soup")[0]
    assert hit.text.startswith("kitchen/<img src=x onerror=alert(5)>.txt")
    assert "<script>alert(2)</script>" in browser.text(".hit:first-child .passage")
    browser.one(".hit .actions button").click()
    browser.one(".why summary").click()
    browser.one(".why .total")
    hit.click()
    assert "<img src=x onerror=alert(1)>" in browser.text(".chunk.is-hit")
    browser.picture("hostile")
    open_view(browser, "/?view=index")
    browser.script("document.querySelector('[name=outcome][value=indexed]').click()")
    browser.wait(lambda: "onerror=alert(5)" in browser.text("#files"))
    for address in ("/?q=<img src=x onerror=alert(6)>", "/?view=document&document=<script>alert(7)</script>"):
        browser.open(address)
        browser.wait(lambda: browser.text("#summary, #problem .problem"))
    assert not browser.script("return document.querySelectorAll('img, iframe, object, main script').length")
    assert browser.recorded() == []


@pytest.mark.slow
def test_the_index_shows_what_was_skipped_and_is_updated(browser, notes):
    open_view(browser, "/?view=index")
    assert "up to date" in browser.text(".verdict")
    assert "broken.pdf" in browser.text("#files") and "broken PDF" in browser.text("#files")
    (notes / "lava.md").write_text("Volcanoes spit lava.")
    open_view(browser, "/?view=index")
    assert "1 new" in browser.text(".verdict")
    browser.picture("index-light")
    browser.one("#update").click()
    browser.one(".run.running")
    browser.one(".run.done")
    browser.wait(lambda: "up to date" in browser.text(".verdict"))
    browser.open()
    assert names(browser.search("lava"))[0] == "lava.md"


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_axe_finds_no_serious_accessibility_problem(browser, axe, theme, rules):
    browser.appear(theme=theme)
    findings = []
    for address in VIEWS:
        open_view(browser, address)
        if "=pruning" in address:
            browser.one(".hit .actions button").click()
            browser.one(".why summary").click()
            browser.one(".why .total")
        findings += serious(browser, axe, rules, address)
    browser.appear(WIDE, theme)
    browser.open("/?q=when+should+I+prune+roses%3F")
    browser.one("#answer .sources")
    assert "late winter" in browser.text("#preview .is-hit")
    findings += serious(browser, axe, rules, "answer and preview")
    browser.appear(theme=theme)
    browser.open("/?q=start+engine+fuel")
    browser.one("#hits a.open").click()
    browser.one("#view-document .is-hit")
    findings += serious(browser, axe, rules, "document")
    browser.picture(f"document-{theme}")
    assert findings == []


def serious(browser, axe, rules, view):
    """Return the serious and critical violations that axe-core finds in a view. With None, all rules are checked."""
    browser.script(f"{axe}; window.axe = axe")
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = browser.driver.execute_async_script(
        "axe.run(document, arguments[0]).then((r) => arguments[1](r.violations))", options
    )
    return [
        (view, one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
def test_a_page_of_a_pdf_and_the_images_of_a_document_are_shown(browser, axe, tmp_path):
    oil = [Line(60, 700, "Drain the gearbox oil while it is warm, and catch it"), Line(60, 686, "in a can.")]
    pages = [oil, [Line(60, 700, "Bolt the tower.")]]
    image = "![the hull](../hull.png) ![the sail](https://example.org/sail.png)"
    links = "[Its mast](../parts/the%20mast.md#top), [[the mast]], [a shop](https://example.org)."
    ship = f"# Ship\n\nThe ship has a hull. {image} {links}"
    root = write_files(tmp_path / "own", {"docs/ship.md": ship, "parts/the mast.md": "# Mast\n\nIt is tall."})
    (root / "turbine.pdf").write_bytes(pdf_of(pages, title="Turbine"))
    Image.new("RGB", (30, 20), "teal").save(root / "hull.png")
    cdesearch.build(root).close()
    own, token = browser.url, "a-token-of-sixteen-or-more"
    width = "return document.querySelector(arguments[0])?.naturalWidth ?? 0"
    with running_server([root], ServeSettings(token=token)) as server:
        try:
            browser.url = server.url
            browser.appear(WIDE)
            browser.open(f"/?q=gearbox+oil#token={token}")
            browser.wait(lambda: browser.script(width, "#preview .sheet img") >= 1000)
            assert not browser.every("#preview .chunk") and serious(browser, axe, None, "page") == []
            browser.picture("page-light")
            browser.one("#preview h2 a").click()
            picture = "#view-document .sheet img"
            browser.wait(lambda: browser.script(width, picture) and browser.focused().accessible_name)
            assert browser.focused().accessible_name == "Page 1 of turbine.pdf"
            shown = "#view-document .doc-head .pages .note"  # in the head, which stays in sight
            for turn, place in (
                (browser.one("#view-document [aria-label='Next page']").click, "Page 2 of 2"),
                (lambda: browser.press(Keys.ARROW_LEFT), "Page 1 of 2"),
                (lambda: browser.press(Keys.ARROW_RIGHT), "Page 2 of 2"),
                (browser.driver.refresh, "Page 2 of 2"),
            ):
                turn()
                browser.wait(lambda place=place: browser.text(shown) == place)
            browser.every("#view-document .pages button")[-1].click()
            assert "catch it in a can." in browser.text("#view-document .is-hit") and not browser.every(picture)
            browser.every("#view-document .pages button")[-1].click()
            (root / "turbine.pdf").write_bytes(pdf_of(pages[:1]))
            browser.driver.refresh()
            browser.one("#view-document .is-hit mark")  # the text of the file as it was
            assert not browser.every(".sheet, .pages, .problem")
            browser.open("/?q=hull+of+the+ship")
            browser.wait(lambda: browser.script(width, "#preview .prose img") == 30)
            assert browser.one("#preview .prose img").accessible_name == "the hull"
            assert "the sail" in browser.text("#preview .prose")
            browser.every("#preview .prose a")[1].click()  # the name of a note is searched for
            browser.wait(lambda: "the mast.md" in browser.text(".hit"))
            browser.driver.back()
            browser.wait(lambda: browser.every("#preview .prose a"))
            browser.every("#preview .prose a")[0].click()
            browser.wait(lambda: "It is tall." in browser.text("#view-document"))
            assert all(url.startswith((f"{server.url}/", f"{own}/", "data:", "blob:")) for url in browser.requests())
        finally:
            browser.url = own
            browser.open()


def test_tables_and_images_of_html_and_the_headers_of_a_mail_are_shown(browser, tmp_path):
    people = "<tr><td><a href=../tea.eml>Ann</a> <a href=#crew>all</a> <img src=../ann.png><td>Bo</tr>"
    crew = f"<p id=crew></p><table><tr><th>Cook<th>Bosun</tr>{people}</table>"
    head = {"From": "Ann <ann@example.org>", "To": "Bo", "Date": "Mon, 2 Mar 2026 15:00:00 +0100", "Subject": "Tea"}
    mail = "".join(f"{name}: {value}\n" for name, value in head.items()) + "\nThe kettle leaks."
    root = write_files(tmp_path / "own", {"docs/crew.html": crew, "tea.eml": mail})
    Image.new("RGB", (30, 20), "teal").save(root / "ann.png")
    cdesearch.build(root).close()
    own = browser.url
    with running_server([root]) as server:
        try:
            browser.url = server.url
            browser.appear(WIDE)
            browser.open("/?q=cook+and+bosun")
            width = "return document.querySelector('#preview td img')?.naturalWidth"
            browser.wait(lambda: browser.script(width) == 30)
            assert [cell.text for cell in browser.every("#preview :is(th, td)")] == ["Cook", "Bosun", "Ann all", "Bo"]
            links = [link.get_attribute("href") for link in browser.every("#preview td a")]
            assert "document=tea.eml" in links[0] and "document=docs%2Fcrew.html&chunk=%23crew" in links[1]
            browser.open("/?q=leaking+kettle+of+Ann")
            browser.wait(lambda: browser.every("#preview .fields"))
            fields = [field.text for field in browser.every("#preview .fields > div")]
            assert fields == [f"{name}\n{value}" for name, value in head.items()]
            assert [mark.text for mark in browser.every("#preview p mark")] == ["kettle", "leaks"]
            browser.requests()  # the last test must not see them
        finally:
            browser.url = own
            browser.open()


def test_no_request_leaves_the_server(browser):
    """The requests of the tests before this one are checked as well."""
    open_view(browser, "/?q=pruning+roses")
    requests = browser.requests()
    assert any("/static/search.js" in url for url in requests)
    assert [url for url in requests if not url.startswith((f"{browser.url}/", "data:"))] == []


@pytest.mark.slow
def test_all_indexes_are_searched_as_one(browser, notes, tmp_path):
    other = write_files(
        tmp_path / "other",
        {
            "hedges.md": "# Hedges\n\n| prune |\n|---|\n| hedges in **late** summer <img src=x onerror=alert(1)> |",
            "more/bread.md": (notes / "kitchen" / "bread.md").read_text(),
        },
    )
    cdesearch.build(other).close()
    own = browser.url
    with running_server([notes, other]) as server:
        try:
            browser.url = server.url
            browser.open("/")
            browser.wait(lambda: "notes, other contain" in browser.text("#welcome"))
            tabs = browser.every("#tabs a")
            assert [tab.text for tab in tabs] == ["All", "notes", "other"]
            browser.search("when to prune hedges and roses")
            assert {hit.text.partition(":")[0] for hit in browser.every(".hit .file")[:2]} == {"notes", "other"}
            next(hit for hit in browser.every(".hit .open") if names([hit]) == ["hedges.md"]).click()
            assert browser.one(".chunk.is-hit td strong").text == "late"
            assert not browser.every(".chunk img")
            browser.one("#view-document .back").click()
            browser.wait(lambda: len(browser.every(".hit")) > 1)
            browser.search("knead the dough")
            assert "Same text in" in browser.text("#hits")
            browser.one(".hit .actions button").click()
            browser.wait(lambda: "This is the evidence in" in browser.text(".why"))
            browser.every("#tabs a")[2].click()
            browser.wait(lambda: names(browser.every("#hits a.open")) == ["more/bread.md"])
            assert browser.text("#tabs [aria-current]") == "other"
            browser.open("/?view=index")
            browser.one(READY["/?view=index"])
            assert [tab.text for tab in browser.every("#tabs a")] == ["notes", "other"]
        finally:
            browser.url = own
            browser.open()
