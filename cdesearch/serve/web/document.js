// The view of a document: a marked passage with its neighbours, and more neighbours on request.

import { get } from "./api.js";
import { announce, byId, counted, el, number } from "./dom.js";
import { allIndexes, rootOf } from "./indexes.js";
import { copyButton, editorLink, extentOf, isCode, isMail, numberOf, pathOf } from "./place.js";
import { showProblem } from "./problem.js";
import { markRange, quotedIn } from "./quote.js";
import { nodesOf, withFolder, withMarks } from "./rendered.js";
import { go, href, inPage, onChange, state } from "./route.js";
import { withPage } from "./sheet.js";
import { joined, wordsOf } from "./words.js";

const AROUND = 7;
const STEP = 10;
const MAX_AROUND = 50;
const MOST_FIELDS = 8;
const MOST_BLANK = 5; // lines between two passages

let sequence = 0;
let open = ""; // a key for the document, passage and index that are shown
let before = AROUND;
let after = AROUND;

export function startDocument() {
  onChange(update);
  update();
}

function update() {
  if (state.view !== "document") {
    open = "";
    byId("view-document").replaceChildren();
    return;
  }
  const key = JSON.stringify([state.document, state.chunk, state.of || state.index, state.quote]);
  if (key === open) return;
  open = key;
  before = after = state.quote ? STEP : AROUND; // a passage of an answer may consist of many chunks
  byId("view-document").replaceChildren();
  show({ isFirst: true });
}

async function show({ isFirst = false, keep = null } = {}) {
  sequence += 1;
  const own = sequence;
  const { document: name, chunk } = state;
  const index = state.of || state.index;
  const path = name.split("/").map(encodeURIComponent).join("/");
  try {
    const [part, indexes] = await Promise.all([
      get(`documents/${path}`, { index, chunk, rows: true, around: Math.min(MAX_AROUND, Math.max(before, after)) }),
      allIndexes(),
    ]);
    if (own !== sequence) return;
    const anchor = keep && byId(keep)?.getBoundingClientRect().top;
    byId("view-document").replaceChildren(...page(part, rootOf(indexes, index)));
    if (isFirst) arrive(part);
    else if (anchor !== null && byId(keep)) scrollBy(0, byId(keep).getBoundingClientRect().top - anchor);
  } catch (error) {
    if (own === sequence) showProblem(error);
  }
}

function page(part, root) {
  const at = Math.max(0, part.chunks.findIndex((chunk) => chunk.is_hit));
  const hit = part.chunks[at];
  const chunks = part.chunks.slice(Math.max(0, at - before), at + after + 1);
  const first = part.first + Math.max(0, at - before);
  const left = part.n_chunks - first - chunks.length;
  const head = el("div", { class: "doc-head" },
    el("a", { class: "back", href: href({ view: "search" }), onclick: inPage({ view: "search" }) }, "← Hits"),
    el("h2", { id: "document-title", tabindex: "-1" }, pathOf(part.path)),
    el("div", { class: "actions" }, copyButton(root, part.path, hit), editorLink(root, part.path, hit),
      el("span", { class: "note" }, `Passages ${number(first + 1)}–${number(first + chunks.length)} of ${number(part.n_chunks)}`)));
  return [
    head,
    changeOf(part),
    part.title && part.title !== part.path.split("/").pop() ? el("p", { class: "trail" }, part.title) : "",
    chunks.some((chunk) => chunk.head && chunk.record === hit.record) ? "" : fieldsOf(hit),
    withPage(head, part, hit, el("div", {},
      more("Show earlier passages", first, first > 0 && before < MAX_AROUND, () => {
        before = Math.min(MAX_AROUND, before + STEP);
        show({ keep: `chunk-${chunks[0].chunk}` });
      }),
      el("div", { class: "chunks" }, sections(part, chunks)),
      more("Show later passages", left, left > 0 && after < MAX_AROUND, () => {
        after = Math.min(MAX_AROUND, after + STEP);
        show({ keep: `chunk-${chunks.at(-1).chunk}` });
      })), state.quote),
  ];
}

/** Returns a sentence if the passage is no longer in the document. */
export const changeOf = (part) => (part.changed
  ? el("p", { class: "note" }, "This part has changed. The document is shown from its beginning.") : "");

/** Returns the fields of a chunk, such as those of front matter. */
const fieldsOf = ({ fields }) => fieldList(
  Object.entries(fields).filter(([name]) => name !== "title").slice(0, MOST_FIELDS).map(([name, values]) => [name, values.join(", ")]));

const fieldList = (fields) => (fields.length ? el("dl", { class: "fields" },
  fields.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))) : "");

function more(text, count, isShown, onclick) {
  if (!isShown) return "";
  return el("button", { type: "button", class: "more", onclick }, `${text} (${number(count)} more)`);
}

const trailOf = (chunk) => (chunk ? chunk.trail.join(" › ") : "");

/** Returns the elements of consecutive chunks of a part of a document, whose headings follow one of level 2. */
export function sections(part, chunks) {
  const elements = chunks.map((chunk, i) => section(chunk, part, chunks[i - 1], chunks[i + 1]));
  let level = 2;
  for (const heading of elements.flatMap((one) => [...one.querySelectorAll("h3, h4, h5, h6")])) {
    level = Math.min(level + 1, Number(heading.tagName[1]));
    heading.ariaLevel = level;
  }
  return elements;
}

function section(chunk, part, previous, next) {
  const words = wordsOf(state.q);
  const trail = trailOf(chunk);
  const extent = extentOf(chunk);
  return el("section", {
    class: chunk.is_hit ? "chunk is-hit" : "chunk", id: `chunk-${chunk.chunk}`,
    "aria-label": chunk.is_hit ? `The passage that was found${extent && `, ${extent}`}` : extent || "Passage",
    tabindex: chunk.is_hit ? "-1" : null,
  },
  trail && (!previous || (trail !== trailOf(previous) && !isCode(part.path))) ? el("h3", {}, trail) : null,
  chunk.is_hit ? el("p", { class: "tag" }, `Found${extent && ` · ${extent}`}`) : null,
  body(chunk, part, words, previous, next));
}

/** Returns whether a chunk of code begins with the end of the line of the one before, such as the brace after a name. */
const isContinued = (chunk, next) => next?.line_start === chunk?.line_end && /^\W+\n/.test(next?.text ?? "");

function body(chunk, { path, index }, words, previous, next) {
  if (chunk.html !== undefined) {
    const prose = el("div", { class: isMail(path) ? "text prose mail" : "text prose" }, fieldList(chunk.head ?? []), nodesOf(chunk.html));
    return withFolder(withMarks(prose, words), path, index);
  }
  const text = joined(path, chunk.text.replace(/\n+$/, ""), chunk.text);
  const nodesIn = (line, one, i) => (one.code ? [...nodesOf(`<code>${one.code[i]}</code>`)] : [line || " "]);
  const lines = text.split("\n").map((line, i) => withMarks(el("div", {}, nodesIn(line, chunk, i)), words));
  const isNumbered = numberOf(chunk, 0) !== null && lines.length <= chunk.line_end - chunk.line_start + 1;
  for (const [i, line] of isNumbered ? lines.entries() : []) {
    line.className = "line";
    line.dataset.line = numberOf(chunk, i);
  }
  if (isNumbered) { // with the blank lines between chunks, and no line in two
    if (isContinued(previous, chunk)) lines.shift();
    if (isContinued(chunk, next)) lines.at(-1).append(" ", ...nodesIn(next.text.split("\n")[0], next, 0));
    for (let n = chunk.line_end + 1; n < Math.min(next?.line_start ?? 0, chunk.line_end + MOST_BLANK); n += 1) {
      lines.push(el("div", { class: "line", "data-line": n }, " "));
    }
  }
  return el("div", { class: `text${isCode(path) || chunk.code ? " code" : ""}${isNumbered ? " numbered" : ""}` }, lines);
}

/** Returns the line at which the anchor of a link begins, or "". */
function lineOfAnchor(part) {
  const hit = part.chunks.find((chunk) => chunk.is_hit);
  const found = state.chunk.startsWith("#") && hit?.places.anchors.find(([, name]) => name === state.chunk.slice(1));
  return found ? hit.text.split("\n")[found[0]] : "";
}

function arrive(part) {
  const quoted = quotedIn(byId("view-document"), state.quote || lineOfAnchor(part));
  const chunk = quoted?.startContainer.parentElement.closest(".chunk").id.replace("chunk-", "");
  if (chunk && part.chunks.some((one) => one.chunk === chunk && !one.is_hit)) {
    go({ chunk, quote: state.quote }, { replace: true });
    return;
  }
  markRange(quoted);
  const found = document.querySelectorAll("#view-document :is(.sheet img, .is-hit)"); // one of them is shown
  const hit = [...found].find((one) => one.offsetParent);
  if (!hit) {
    byId("document-title")?.focus({ preventScroll: true });
    scrollTo(0, 0);
    return;
  }
  hit.focus({ preventScroll: true });
  const top = (hit.classList.contains("is-hit") && quoted ? quoted : hit).getBoundingClientRect().top + scrollY;
  scrollTo(0, Math.max(0, top - Math.max(120, innerHeight / 4)));
  announce(`${part.path}, ${counted(part.n_chunks, "passage")}. The passage that was found is marked.`);
}
