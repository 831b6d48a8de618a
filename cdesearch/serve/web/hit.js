// A hit: the file with its best passage, and further passages of the same file below it.

import { byId, counted, el, fixed } from "./dom.js";
import { copyButton, editorLink, extentOf, isCode, pathOf, placeOfPassage } from "./place.js";
import { href, inPage } from "./route.js";
import { whyButton } from "./why.js";
import { excerpt, fromMatch, joined, marked, spansOf, wordsOf } from "./words.js";

const LIKELY = 0.5; // see LIKELY in result.py
const POSSIBLE = 0.1; // below it a query counts as not answered, see ANSWERABLE in result.py
const UNLIKELY = 0.05; // below it a hit is not shown beside better ones, see UNLIKELY in grouping.py
const NEAREST = 3; // files that are shown of a query that is not answered

/** Adds hits to the list of files. It hides those that are unlikely beside better ones, or after the nearest ones. */
export function addHits(hits, asked, page, rootOf) {
  const best = Number(byId("hits").dataset.best ?? Math.max(0, ...hits.map(({ confidence }) => confidence ?? 1)));
  byId("hits").dataset.best = best;
  for (const hit of hits) {
    const [file, record] = [`${hit.index ?? ""} ${hit.path}`, `${hit.document} ${hit.record ?? ""}`];
    const known = [...byId("hits").children].find(({ dataset }) => dataset.file === file && dataset.record === record);
    if (known) {
      known.querySelector(".also").append(furtherPassage(hit, asked));
      continue;
    }
    const item = hitItem(hit, asked, page, rootOf(hit));
    [item.dataset.file, item.dataset.record] = [file, record];
    const isFar = !page.offset && byId("hits").children.length >= NEAREST;
    item.hidden = best >= POSSIBLE ? (hit.confidence ?? 1) < UNLIKELY : isFar;
    byId("hits").append(item);
  }
}

const targetOf = (hit) => ({ view: "document", document: hit.document, chunk: hit.chunk, of: hit.index ?? "" });
/** Returns the text of a passage, without the heading that is its title. */
const passageOf = (hit, words) => {
  const [first, ...rest] = hit.passage.text.split("\n");
  return joined(hit.path, excerpt(first === titleOf(hit) && rest.length ? rest.join("\n") : hit.passage.text, words), hit.text);
};
const trailOf = (hit) => {
  const name = hit.path.split("/").pop();
  return [...new Set(hit.headings)].filter((part) => part !== name && part !== name.replace(/\.\w+$/, ""));
};

/** Returns the heading above a passage, by which people know it; undefined for code, which they know by its file. */
const titleOf = (hit) => (isCode(hit.path) ? undefined : trailOf(hit).at(-1));

function hitItem(hit, asked, page, root) {
  const words = wordsOf(asked.q);
  const target = targetOf(hit);
  const place = placeOfPassage(hit, hit.passage.row);
  const extent = extentOf(place);
  const headings = trailOf(hit);
  const title = titleOf(hit) && headings[0];
  const section = title && headings.length > 1 ? headings.at(-1) : "";
  const trail = (title ? headings.slice(1, -1) : headings).join(" › ");
  const file = [hit.index && el("span", { class: "folder" }, `${hit.index}: `), pathOf(hit.path),
    extent && el("span", { class: "extent" }, `, ${extent}`)];
  const ranks = { ...page, offset: Math.max(page.offset, hit.rank - page.k) };
  const why = isRanked(hit) ? whyButton(hit, asked, ranks) : { button: null, panel: null };
  return el("li", { class: "hit" },
    el("div", { class: "head" },
      el("h2", {},
        el("a", { href: href(target), onclick: inPage(target), class: "open" },
          title ? el("span", { class: "title" }, marked(title, words), section && el("span", { class: "section" }, " › ", marked(section, words)))
            : file)),
      el("div", { class: "marks" }, hit.date && el("time", { datetime: hit.date }, dateOf(hit)), scoreOf(hit))),
    title ? el("p", { class: "file" }, file, trail && el("span", { class: "trail" }, ` · ${trail}`))
      : trail && el("p", { class: "trail" }, trail),
    el("p", { class: isCode(hit.path) ? "passage code" : "passage" }, marked(passageOf(hit, words), words)),
    hit.copies?.length ? el("p", { class: "note" }, `Same text in ${hit.copies.map(copyOf).join(", ")}`) : null,
    el("ul", { class: "also" }),
    hit.further ? el("p", { class: "note" }, el("a", { href: href({ path: hit.path }), onclick: inPage({ path: hit.path }) },
      `At least ${counted(hit.further, "more passage")} of this file`)) : null,
    el("div", { class: "actions" }, why.button, copyButton(root, hit.path, place), editorLink(root, hit.path, place)),
    why.panel);
}

/** Returns one line for another passage of a file that is in the list already. */
function furtherPassage(hit, asked) {
  const words = wordsOf(asked.q);
  const extent = extentOf({ ...placeOfPassage(hit, hit.passage.row), anchor: null });
  const name = [titleOf(hit), extent].filter(Boolean).join(", ") || trailOf(hit).at(-1) || "another passage";
  const lines = passageOf(hit, words).split("\n").filter((one) => one.trim());
  const line = lines.find((one) => spansOf(one, words).length) ?? lines[0] ?? "";
  return el("li", {},
    el("a", { href: href(targetOf(hit)), onclick: inPage(targetOf(hit)), class: "open" }, name),
    " ", el("span", { class: isCode(hit.path) ? "code" : null }, marked(fromMatch(line.trim(), words), words)));
}

const DATES = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const dateOf = ({ date }) => DATES.format(new Date(`${date}T00:00`));
const copyOf = ({ index, location }) => (index ? `${index}: ${location}` : location);

/** Returns whether a hit is more likely relevant than not. */
export const isLikely = ({ confidence }) => (confidence ?? 1) >= LIKELY;

/** Returns whether a hit has a score; without words to search for, hits are in the order of their paths. */
const isRanked = (hit) => hit.dense_score !== null || hit.text_score !== null;

/** Returns a word for the confidence; the numbers are its title. */
function scoreOf({ confidence, score, ...hit }) {
  if (!isRanked(hit)) return null;
  const numbers = `score ${fixed(score)}`;
  if (confidence === null) return el("span", { class: "score" }, numbers);
  const percent = Math.min(99, Math.max(1, Math.round(100 * confidence))); // no estimate is certain
  const word = isLikely({ confidence }) ? "likely" : confidence >= POSSIBLE ? "possible" : "unlikely";
  return el("span", { class: `score ${word}`, title: `Confidence ${percent}%: the estimated probability that this passage is relevant; ${numbers}` },
    word, el("span", { class: "unseen" }, ` (${percent}%, ${numbers})`));
}
