// The view of the search: the form, which searches while the user types, and the list of hits.

import { hideAnswer, isQuestion, noTextContains, showAnswer } from "./answer.js";
import { get } from "./api.js";
import { byId, counted, el } from "./dom.js";
import { filtersInWords, showFilters, showTabs, startFilters } from "./filters.js";
import { addHits } from "./hit.js";
import { allIndexes, rootOf } from "./indexes.js";
import { openAwaited } from "./keyboard.js";
import { previewFirst } from "./preview.js";
import { clearProblem, showProblem } from "./problem.js";
import { go, onChange, searched, state } from "./route.js";
import { isPhrase, operatorsOf } from "./words.js";

const DELAY = 30; // milliseconds between a keystroke and the search while another search is running
const SHOW_PROGRESS = 250; // milliseconds after which the page shows that a search is running
const PAGE = 10; // hits

let timer = 0;
let sequence = 0; // the number of the latest search; responses to earlier searches are ignored
let controller = null; // aborts the request of the running search
let reading = null; // aborts the request of the answer
let answered = ""; // a key for the search whose hits are shown or requested
let shown = 0; // the number of documents whose hits are shown
let latest = null; // the last response with hits
let isAsked = false; // whether its query is a question, whose answer is above the hits
const keyOf = () => JSON.stringify(searched());
const withoutQuery = (one) => JSON.stringify({ ...one, q: "" });

export function startSearch() {
  byId("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(submit, byId("hits").ariaBusy === "true" ? DELAY : 0);
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    submit();
  });
  for (const radio of document.querySelectorAll("[name=mode]")) {
    radio.addEventListener("change", () => changed({ mode: radio.value }));
  }
  startFilters(changed);
  byId("more").addEventListener("click", () => search(shown));
  byId("weak").addEventListener("click", showWeak);
  addEventListener("popstate", () => { byId("query").value = state.q; }); // also if it has the focus
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

function update(_, before) {
  if (answered !== keyOf()) { // first of all, so that the server searches while the page changes
    answered = keyOf();
    search(0);
  }
  if (document.activeElement !== byId("query")) byId("query").value = state.q;
  for (const radio of document.querySelectorAll("[name=mode]")) radio.checked = radio.value === state.mode;
  if (!before || withoutQuery(before) !== withoutQuery(state)) {
    showFilters();
    showTabs().catch(() => {}); // the search reports the error
  }
  document.title = state.q.trim() ? `${state.q.trim().slice(0, 60)} – cdesearch` : "cdesearch";
}

async function search(offset) {
  const asked = searched();
  controller?.abort();
  if (!offset) reading?.abort();
  sequence += 1;
  const own = sequence;
  clearProblem();
  if (!asked.q.trim()) {
    hideAnswer();
    setBusy(false);
    clearHits();
    showFilters({});
    await showWelcome(asked.index);
    return;
  }
  controller = new AbortController();
  byId("welcome").hidden = true;
  setBusy(true, own);
  try {
    const answer = await get("search", { ...asked, k: PAGE, offset, facets: true, group: true }, controller.signal);
    const indexes = await allIndexes();
    if (own !== sequence) return;
    const meant = { ...asked, q: answer.searched ?? asked.q };
    showHits(answer, meant, offset, (hit) => rootOf(indexes, hit.index ?? asked.index));
    showFilters(answer.facets);
    if (!offset) {
      previewFirst();
      isAsked = shown > 0 && asked.mode === "hybrid" && isQuestion(asked.q);
      const question = isAsked ? { ...meant, index: answer.hits[0].index ?? asked.index } : null;
      reading = new AbortController();
      showAnswer(question, answer, reading.signal);
    }
    summarise(answer);
    if (!offset) openAwaited();
  } catch (error) {
    if (own !== sequence || error.name === "AbortError") return;
    clearHits();
    openAwaited(); // without hits, Enter no longer waits for them
    hideAnswer();
    previewFirst();
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

function clearHits() {
  byId("hits").replaceChildren();
  delete byId("hits").dataset.best;
  byId("more").hidden = byId("weak").hidden = true;
  byId("summary").textContent = "";
}

function showHits(answer, asked, offset, rootOf) {
  if (!offset) clearHits();
  const before = byId("hits").children.length;
  addHits(answer.hits, asked, { k: PAGE, offset }, rootOf);
  const hidden = passagesIn("[hidden]");
  if (offset) byId("hits").children[before]?.querySelector("a")?.focus();
  shown = offset + answer.hits.filter(({ further }) => further !== null).length;
  latest = answer;
  byId("weak").textContent = counted(hidden, "more unlikely passage");
  byId("weak").hidden = !hidden;
  byId("more").hidden = !answer.more || hidden > 0;
}

/** Returns the number of passages in those items of the list that match a selector. */
const passagesIn = (items) => byId("hits").querySelectorAll(`:scope > ${items} a.open`).length;

function showWeak() {
  const items = [...byId("hits").children].filter((item) => item.hidden);
  for (const item of items) item.hidden = false;
  byId("weak").hidden = true;
  byId("more").hidden = !latest.more;
  summarise(latest);
  items[0]?.querySelector("a").focus();
}

function summarise(answer) {
  const filters = filtersInWords();
  const passages = passagesIn(":not([hidden])");
  const files = new Set([...byId("hits").querySelectorAll(":scope > :not([hidden])")].map((item) => item.dataset.file)).size;
  let text = `${answer.more && !passagesIn("[hidden]") ? "Best " : ""}${counted(passages, "passage")} in ${counted(files, "file")}${filters && ` ${filters}`} · ${Math.round(answer.milliseconds)} ms`;
  if (!shown) text = `No hits${filters && ` ${filters}`}. ${filters ? "Remove a filter, or use other words." : whyNone(answer.query)}`;
  if (answer.unmatched) text = `No indexed file matches ${answer.unmatched.replaceAll("operator ", "")}. Change or remove it.`;
  if (shown && answer.total !== null) text = `${shown < answer.total ? `The first ${shown} of ` : ""}${counted(answer.total, "file")}${filters && ` ${filters}`}`;
  if (shown && !answer.answered && !isAsked) text = `Nothing here seems to answer that; the nearest passages are shown. ${text}`;
  if (shown && answer.unknown_name && !isAsked) text = `${noTextContains(answer.unknown_name)} ${text}`;
  if (answer.searched) text = `Showing hits for “${answer.searched}”. ${text}`;
  if (answer.truncated_to !== null) text += ` · The model reads only the first ${answer.truncated_to} tokens.`;
  if (answer.stage !== "complete") text += ` · The index is not complete yet (${answer.stage}).`;
  byId("summary").textContent = text;
}

/** Returns sentences that say why no passage was found without a filter, and what to do. */
function whyNone(query) {
  const operators = operatorsOf(query);
  const phrases = operators.filter(isPhrase);
  if (phrases.length) {
    const others = phrases.length < operators.length ? " that meets the other conditions" : "";
    return `No passage${others} contains the phrase ${phrases.join(" or the phrase ")}. Remove the quotation marks to find similar passages.`;
  }
  if (state.mode === "text") return "No passage contains these words. Rank by meaning to find other wordings.";
  return "Use other words.";
}

async function showWelcome(index) {
  const own = sequence;
  try {
    const all = await allIndexes();
    if (own !== sequence) return;
    const named = all.filter(({ name }) => name === index);
    const chosen = named.length ? named : all;
    const total = (what) => chosen.reduce((sum, one) => sum + one[what], 0);
    byId("welcome").replaceChildren(
      el("p", { class: "lead" }, "Ask in your own words. Nothing leaves this computer."),
      el("p", {}, el("strong", {}, chosen.map(({ name }) => name).join(", ")), ` ${chosen.length > 1 ? "contain" : "contains"} `
        + `${counted(total("files"), "file")} in ${counted(total("chunks"), "passage")}`,
      chosen.length === 1 && [", from ", el("code", {}, chosen[0].root)], "."),
      el("ul", {},
        el("li", {}, el("strong", {}, "Both"), " combines the evidence of meaning and words."),
        el("li", {}, el("strong", {}, "Meaning"), " finds passages even if they use other words."),
        el("li", {}, el("strong", {}, "Words"), " finds exact names and error messages.")));
    byId("welcome").hidden = false;
  } catch (error) {
    if (own === sequence) showProblem(error);
  }
}
