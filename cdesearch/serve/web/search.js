// The view of the search: the form, which searches while the user types, and the list of hits.

import { get } from "./api.js";
import { corpusOf } from "./corpus.js";
import { byId, counted, el, fixed, number } from "./dom.js";
import { copyButton, editorLink, extentOf, isCode, locationOf, pathOf, placeOfPassage } from "./place.js";
import { clearProblem, showProblem } from "./problem.js";
import { go, href, inPage, onChange, searched, state } from "./route.js";
import { whyButton } from "./why.js";
import { excerpt, marked, wordsOf } from "./words.js";

const DELAY = 140; // milliseconds between the last keystroke and the search
const SHOW_PROGRESS = 250; // milliseconds after which the page shows that a search is running
const PAGE = 10; // hits

let timer = 0;
let sequence = 0; // the number of the latest search; responses to earlier searches are ignored
let controller = null; // aborts the request of the running search
let answered = ""; // a key for the search whose hits are shown or requested
let shown = 0; // the number of hits that are shown
const keyOf = () => JSON.stringify(searched());

export function startSearch() {
  byId("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(submit, DELAY);
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    submit();
  });
  for (const radio of document.querySelectorAll("[name=mode]")) {
    radio.addEventListener("change", () => changed({ mode: radio.value }));
  }
  byId("folder").addEventListener("change", (event) => changed({ path: event.target.value }));
  byId("type").addEventListener("change", (event) => changed({ type: event.target.value }));
  byId("index").addEventListener("change", (event) => changed({ index: event.target.value, path: "", type: "" }));
  byId("more").addEventListener("click", () => search(shown));
  onChange(update);
  update();
}

/** Repeats the search that is shown. Call it after an update of the index. */
export function searchAgain() {
  answered = "";
  update();
}

function submit() {
  const q = byId("query").value;
  if (q === state.q && state.view !== "document") return;
  // While the user types, the current history entry changes. In the document view, typing returns to the hits.
  go({ q, view: "search" }, { replace: state.view === "search" });
}

function changed(changes) {
  go({ ...changes, q: byId("query").value, view: "search" });
}

function update() {
  if (document.activeElement !== byId("query")) byId("query").value = state.q;
  for (const radio of document.querySelectorAll("[name=mode]")) radio.checked = radio.value === state.mode;
  fillFilters();
  document.title = state.q.trim() ? `${state.q.trim().slice(0, 60)} – cdesearch` : "cdesearch";
  if (answered === keyOf()) return;
  answered = keyOf();
  search(0);
}

async function search(offset) {
  const asked = searched();
  controller?.abort();
  sequence += 1;
  const own = sequence;
  clearProblem();
  if (!asked.q.trim()) {
    setBusy(false);
    showHits([], false, 0);
    byId("summary").textContent = "";
    await showWelcome(asked.index);
    return;
  }
  controller = new AbortController();
  byId("welcome").hidden = true;
  setBusy(true, own);
  try {
    const answer = await get("search", { ...asked, k: PAGE, offset }, controller.signal);
    const corpus = await corpusOf(asked.index);
    if (own !== sequence) return;
    const rootOf = (hit) => corpus.roots?.[hit.index] ?? corpus.root;
    showHits(answer.hits.map((hit) => hitItem(hit, asked, { k: PAGE, offset }, rootOf(hit))), answer.more, offset);
    summarise(answer);
  } catch (error) {
    if (own !== sequence || error.name === "AbortError") return;
    showHits([], false, 0);
    byId("summary").textContent = "";
    answered = "";
    showProblem(error);
  } finally {
    if (own === sequence) setBusy(false);
  }
}

function setBusy(isBusy, own) {
  byId("hits").setAttribute("aria-busy", String(isBusy));
  if (!isBusy) byId("progress").hidden = true;
  else setTimeout(() => { if (own === sequence && byId("hits").ariaBusy === "true") byId("progress").hidden = false; }, SHOW_PROGRESS);
}

function showHits(items, more, offset) {
  if (offset) {
    byId("hits").append(...items);
    items[0]?.querySelector("a")?.focus();
  } else {
    byId("hits").replaceChildren(...items);
  }
  shown = offset + items.length;
  byId("more").hidden = !more;
}

function summarise(answer) {
  const filters = [state.path && `in ${state.path}`, state.type && `of type ${state.type}`].filter(Boolean).join(" ");
  let text = `${answer.more ? "Best " : ""}${counted(shown, "hit")}${filters && ` ${filters}`} · ${Math.round(answer.milliseconds)} ms`;
  if (!shown) {
    text = `No hits${filters && ` ${filters}`}. `;
    if (filters) text += "Select all folders and types, or use other words.";
    else if (state.mode === "text") text += "No passage contains these words. Rank by meaning to find other wordings.";
    else text += "Use other words.";
  }
  if (shown && !answer.answered) text = `Nothing here seems to answer that; the nearest passages are shown. ${text}`;
  if (answer.truncated_to !== null) text += ` · The model reads only the first ${answer.truncated_to} tokens.`;
  if (answer.stage !== "complete") text += ` · The index is not complete yet (${answer.stage}).`;
  byId("summary").textContent = text;
}

function hitItem(hit, asked, page, root) {
  const words = wordsOf(asked.q);
  const target = { view: "document", document: hit.document, chunk: hit.chunk, of: hit.index ?? "" };
  const place = placeOfPassage(hit, hit.passage.row);
  const extent = extentOf(place);
  const trail = hit.headings.filter((part) => part !== hit.path.split("/").pop());
  const why = whyButton(hit, asked, page);
  return el("li", { class: "hit" },
    el("div", { class: "head" },
      el("h2", {},
        el("a", { href: href(target), onclick: inPage(target), class: "open" },
          hit.index && el("span", { class: "folder" }, `${hit.index}: `), pathOf(hit.path),
          extent && el("span", { class: "extent" }, `, ${extent}`))),
      el("span", { class: "score" }, confidenceOf(hit),
        el("span", { title: "Score (higher is better)" }, el("span", { class: "unseen" }, "score "), fixed(hit.score)))),
    trail.length ? el("p", { class: "trail" }, trail.join(" › ")) : null,
    el("p", { class: isCode(hit.path) ? "passage code" : "passage" }, marked(excerpt(hit.passage.text, words), words)),
    hit.copies?.length ? el("p", { class: "note" }, `Same text in ${hit.copies.map(copyOf).join(", ")}`) : null,
    el("div", { class: "actions" }, why.button, copyButton(locationOf(hit.path, place)), editorLink(root, hit.path, place)),
    why.panel);
}

const copyOf = ({ index, location }) => (index ? `${index}: ${location}` : location);

/** The confidence as a percentage. No estimate is certain, so it is neither 0% nor 100%. */
function confidenceOf({ confidence }) {
  if (confidence === null) return null;
  const percent = Math.min(99, Math.max(1, Math.round(100 * confidence)));
  return el("span", { title: "Confidence: the estimated probability that this passage is relevant" },
    el("span", { class: "unseen" }, "confidence "), `${percent}% · `);
}

async function showWelcome(index) {
  const own = sequence;
  try {
    const corpus = await corpusOf(index);
    if (own !== sequence) return;
    byId("welcome").replaceChildren(
      el("p", { class: "lead" }, "Ask in your own words. Nothing leaves this computer."),
      el("p", {}, el("strong", {}, corpus.index), ` contains ${counted(corpus.documents, "document")} in `
        + `${counted(corpus.chunks, "passage")}`, corpus.root && [", from ", el("code", {}, corpus.root)], "."),
      el("ul", {},
        el("li", {}, el("strong", {}, "Both"), " combines the evidence of meaning and words."),
        el("li", {}, el("strong", {}, "Meaning"), " finds passages even if they use other words."),
        el("li", {}, el("strong", {}, "Words"), " finds exact names and error messages.")));
    byId("welcome").hidden = false;
  } catch (error) {
    if (own === sequence) showProblem(error);
  }
}

async function fillFilters() {
  const { index } = state;
  let corpus;
  try {
    corpus = await corpusOf(index);
  } catch {
    return; // the search reports the error
  }
  if (index !== state.index) return;
  const name = (path) => `${"  ".repeat(path.split("/").length - 1)}${path}`;
  fill("folder", corpus.folders.map(({ path, files }) => [path, `${name(path)} (${number(files)})`]), state.path);
  fill("type", corpus.types.map(({ type, files }) => [`.${type}`, `${type} (${number(files)})`]), state.type);
  byId("index-choice").hidden = corpus.indexes.length < 2;
  byId("index").replaceChildren(el("option", { value: "" }, "All"),
    ...corpus.indexes.map((one) => el("option", { value: one }, one)));
  byId("index").value = index;
}

function fill(id, options, chosen) {
  const known = options.some(([value]) => value === chosen) || !chosen ? options : [[chosen, chosen], ...options];
  byId(id).replaceChildren(el("option", { value: "" }, "All"),
    ...known.map(([value, text]) => el("option", { value }, text)));
  byId(id).value = chosen;
}
