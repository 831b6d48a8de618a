// The box above the hits: sentences that answer a question, each with the numbers of its sources.

import { events } from "./api.js";
import { byId, el } from "./dom.js";
import { isLikely } from "./hit.js";
import { pathOf } from "./place.js";
import { href, inPage } from "./route.js";

const DELAY = 350; // milliseconds after the hits are shown, so that nothing is asked, and no answer is declined, while the user types
const USUAL = "200px"; // the height of a usual answer, so that the hits hardly move when it arrives
const CITED = /\[(\d+(?:, \d+)*)\]/;
const FENCE = /^```/;
// The words with which questions begin in the languages that most users write.
const ASKING = new Set(
  ("how what why when where which who whose whom is are was were do does did can could should will would has have had"
    + " wie was warum wann wo wer welche welcher welches wieso woher womit comment pourquoi quand où qui quel quelle que"
    + " combien cómo qué cuándo dónde quién cuál cuánto come cosa perché quando dove chi quale wat waarom wanneer waar"
    + " hoe как что почему когда где кто").split(" "),
);

/** Returns whether a query asks something, rather than naming it. */
export function isQuestion(query) {
  const text = query.trim().toLowerCase();
  return /[?？؟]$/.test(text) || (text.split(/\s+/).length > 2 && ASKING.has(text.split(/[\s'’]/)[0]));
}

export function hideAnswer() {
  byId("answer").hidden = true;
}

/**
 * Shows the answer to the question of a search that has `found` something, or says that there is none. The box is hidden
 * if no question is `asked`. A new search aborts `signal`.
 */
export async function showAnswer(asked, found, signal) {
  const box = byId("answer");
  if (!box.hidden) box.style.minHeight = `${box.offsetHeight}px`; // so that the hits stay where they are
  box.replaceChildren(asked ? el("p", { class: "note" }, "Reading the passages …") : "");
  if (asked && found.answered && box.hidden) {
    box.style.minHeight = USUAL;
    box.hidden = false;
  }
  await new Promise((resolve) => { setTimeout(resolve, DELAY); });
  if (signal.aborted) return;
  box.hidden = !asked;
  if (!asked) return;
  const nothing = [el("p", {}, "Nothing here seems to answer that."),
    el("p", { class: "note" }, "The passages below are only the nearest ones.")];
  const isQuoted = found.answered && await quoteAnswer(asked, signal);
  if (!isQuoted) box.replaceChildren(...nothing);
  if (signal.aborted) return;
  if (isQuoted && !found.hits.some(isLikely)) box.prepend(el("p", { class: "note" }, "This is a possible answer, but not a likely one."));
  box.style.minHeight = "";
  if (found.unknown_name) box.prepend(el("p", {}, noTextContains(found.unknown_name)));
}

/** Returns the sentence that tells an unknown name of a query. */
export const noTextContains = (name) => `No text here contains “${name}”.`;

/** Asks for an answer, and shows it while it arrives. Returns whether there is anything to show. */
async function quoteAnswer(asked, signal) {
  const box = byId("answer");
  let passages = [];
  let text = "";
  try {
    for await (const [name, value] of events("ask", asked, signal)) {
      if (name === "passages") passages = value.passages;
      else if (name === "text") text += value.text;
      else if (name === "error") throw new Error(`${value.detail} ${value.remedy ?? ""}`);
      if (name === "answer" && !value.answered) text = "";
      const quotes = new Map(); // the first quote from each source
      const target = (number, quote) => {
        if (quote && !quotes.has(number)) quotes.set(number, quote);
        return targetOf(passages[number - 1], asked.index, quote || quotes.get(number));
      };
      if (text) box.replaceChildren(...paragraphs(text, target));
      if (name === "answer") box.append(sources(value.citations, passages, target));
    }
    return text !== "";
  } catch (error) {
    if (!signal.aborted) box.replaceChildren(el("p", { class: "note" }, error.message));
    return true;
  }
}

const targetOf = (passage, index, quote) => ({ view: "document", document: passage.document, chunk: passage.chunks[0], of: index, quote });

/** Returns an element for each line of an answer, and one for each block of code. */
function paragraphs(text, target) {
  const found = [];
  let code = null;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) {
      if (code !== null) found.push(el("pre", {}, code.join("\n")));
      code = code === null ? [] : null;
    } else if (code !== null) code.push(line);
    else if (line.trim()) found.push(el("p", {}, linked(line, target, found.at(-1)?.matches("pre") ? found.at(-1).textContent : "")));
  }
  return found;
}

/** Returns the parts of a line, in which the numbers of sources are links to the sentence, or the `code`, before them. */
function linked(line, target, code) {
  const parts = line.split(CITED);
  return parts.flatMap((part, position) => {
    if (position % 2 === 0) return part;
    return part.split(", ").map((number) => {
      const place = target(Number(number), parts[position - 1].trim() || code);
      return el("a", { class: "cite", href: href(place), onclick: inPage(place), "aria-label": `Source ${number}` }, number);
    });
  });
}

function sources(citations, passages, target) {
  return el("ol", { class: "sources" }, citations.map(({ number, location }) => {
    const { path } = passages[number - 1];
    return el("li", { value: number }, el("a", { href: href(target(number)), onclick: inPage(target(number)) },
      pathOf(path), el("span", { class: "extent" }, location.slice(path.length).replace(/^:/, ", line ").replace("#page=", ", page "))));
  }));
}
