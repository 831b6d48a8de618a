// Explain why a passage is a hit: the evidence of its meaning and of its words, side by side.

import { get } from "./api.js";
import { counted, el, fixed, number, svg } from "./dom.js";
import { pathOf } from "./place.js";
import { href, inPage } from "./route.js";

let panels = 0;

/** Returns a button and the panel that it opens. `page` has the `k` and the `offset` of the search. */
export function whyButton(hit, asked, page) {
  panels += 1;
  const panel = el("div", { class: "why", id: `why-${panels}`, hidden: true });
  const button = el("button", { type: "button", class: "small", "aria-expanded": "false", "aria-controls": panel.id },
    "Why this hit?");
  button.addEventListener("click", async () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (panel.hidden || panel.childElementCount) return;
    try {
      const explained = await get("explain", { ...asked, index: hit.index ?? asked.index, chunk: hit.chunk, ...page });
      const alone = `In a search of several indexes, scores change. This is the evidence in ${hit.index} alone.`;
      panel.replaceChildren(...explanation(explained, hit.index), hit.index ? el("p", { class: "note" }, alone) : "");
    } catch (error) {
      panel.replaceChildren(el("p", {}, `${error.message} ${error.remedy ?? ""}`));
    }
  });
  return { button, panel };
}

function explanation(found, index) {
  return [
    el("p", { class: "inshort" }, [found.mode !== "text" && nearness(found.dense), found.mode !== "dense" && shared(found.words)]
      .filter(Boolean).join(" ")),
    el("details", {},
      el("summary", {}, "Details"),
      el("div", { class: "sides" }, meaning(found), words(found)),
      found.context && found.mode !== "text" && context(found.context, index),
      total(found)),
  ];
}

/** Says in a sentence how near the meaning is, by the distance from passages that were sampled without any query. */
function nearness({ z }) {
  const how = ["hardly nearer", "somewhat nearer", "clearly nearer", "much nearer"][Math.min(3, Math.max(0, Math.floor(z)))];
  return `Its meaning is ${how} to the query than that of other passages here.`;
}

/** Says in a sentence or two which words of the query a passage contains. */
function shared(list) {
  const counted = list.filter((word) => word.chunks && !word.word.startsWith('"')); // without phrases, which repeat words
  const here = counted.filter((word) => word.count);
  const others = counted.filter((word) => word.bm25 && !word.count).map(({ word }) => `“${word}”`);
  const also = others.length ? ` The name of its file or a similar word matches ${others.join(", ")}.` : "";
  if (!here.length) return `It contains no word of the query.${also}`;
  const rarest = here.reduce((one, other) => (other.chunks < one.chunks ? other : one));
  const rare = here.length > 1 ? `, of which “${rarest.word}” is the rarest` : "";
  const all = here.length === counted.length ? `all ${here.length}` : `${here.length} of ${counted.length}`;
  const which = counted.length === 1 ? `the word of the query, “${rarest.word}”` : `${all} words of the query: ${here.map(({ word }) => word).join(", ")}`;
  return `It contains ${which}${rare}.${also}`;
}

/** Lists the passages of the context to which the query attends most. */
function context({ reads, attended, sink }, index = "") {
  const most = Math.max(...attended.map(({ weight }) => weight));
  const items = attended.map((one) => {
    const target = { view: "document", document: one.document, chunk: one.chunk, of: index };
    return el("li", {},
      bar(one.weight / most), el("span", { class: "share" }, percent(one.weight)),
      el("a", { href: href(target), onclick: inPage(target) }, pathOf(one.path)), el("span", { class: "start" }, one.start));
  });
  return el("section", { class: "context" },
    el("h3", {}, "Context"),
    el("p", {}, `The model reads the query together with ${counted(reads, "passage")} of this corpus.`
      + ` ${percent(sink)} of its attention goes to no passage.${items.length ? " It attends most to these:" : ""}`),
    items.length > 0 && el("ol", {}, items));
}

const percent = (share) => `${(100 * share).toFixed(1)}%`;

function meaning({ dense, mode }) {
  if (dense.cosine === null) {
    return el("section", {},
      el("h3", {}, "Meaning"),
      el("p", {}, "This passage has no vector yet. From its words, its similarity is estimated as ",
        el("b", {}, `${fixed(dense.z, 1)} standard deviations`), " above the mean of the context."));
  }
  const change = dense.own_cosine === null ? null : dense.cosine - dense.own_cosine;
  return el("section", {},
    el("h3", {}, "Meaning"),
    el("p", {}, "The cosine with the query is ", el("b", {}, fixed(dense.cosine, 3)), ". The passages of the context,"
      + ` which were sampled without any query, have ${fixed(dense.null_mean, 3)} ± ${fixed(dense.null_spread, 3)}.`
      + " This passage is ",
      el("b", {}, `${fixed(Math.abs(dense.z), 1)} standard deviations ${dense.z < 0 ? "below" : "above"}`),
      " their mean."),
    strip(dense),
    Math.abs(dense.near_z - dense.z) < 0.05 ? null
      : el("p", { class: "note" }, `Its nearest neighbours among the best candidates are at ${fixed(dense.near_z, 1)}`
        + ` standard deviations, which is ${percent(dense.share)} of its score by meaning.`),
    dense.blindness > 0.005 ? el("p", { class: "note" }, `With a probability of ${Math.round(100 * dense.blindness)}%, the`
      + ` model does not read the language of this query. Its meaning therefore has a weight of ${fixed(dense.weight)}.`) : null,
    change === null || Math.abs(change) < 0.0005 ? null
      : el("p", { class: "note" }, `Its document and the context ${change > 0 ? "add" : "subtract"} ${fixed(Math.abs(change), 3)}.`
        + ` Without them, the cosine would be ${fixed(dense.own_cosine, 3)}.`),
    mode === "text" ? el("p", { class: "note" }, "This ranking does not use the meaning.") : null);
}

/** Draws the cosine on an axis with the null distribution. */
function strip({ cosine, null_mean: mean, null_spread: spread }) {
  const low = Math.min(cosine, mean - 3 * spread);
  const high = Math.max(cosine, mean + 3 * spread);
  const at = (value) => 6 + 288 * (value - low) / Math.max(high - low, 1e-9);
  const band = (width) => svg("rect", {
    x: at(mean - width * spread), y: 14, height: 12, width: Math.max(0, at(mean + width * spread) - at(mean - width * spread)),
    class: "band",
  });
  return svg("svg", { viewBox: "0 0 300 44", class: "strip", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 300, y1: 20, y2: 20, class: "axis" }), band(2), band(1),
    svg("line", { x1: at(mean), x2: at(mean), y1: 11, y2: 29, class: "axis" }),
    svg("circle", { cx: at(cosine), cy: 20, r: 6, class: "dot" }),
    svg("text", { x: clamp(at(mean)), y: 41, "text-anchor": "middle" }, "chance"),
    svg("text", { x: clamp(at(cosine)), y: 8, "text-anchor": "middle" }, "this passage"));
}

const clamp = (x) => Math.min(264, Math.max(36, x));

function words({ words: list, text, n_chunks: chunks, mode }) {
  const most = Math.max(...list.map((word) => word.idf), 0.01);
  const known = list.filter((word) => word.chunks);
  const unknown = list.filter((word) => !word.chunks).map((word) => word.word);
  const rows = known.map((word) => el("tr", { class: word.bm25 ? "" : "off" },
    el("th", { scope: "row" }, word.word),
    el("td", {}, number(word.chunks)),
    el("td", {}, bar(word.idf / most), fixed(word.idf)),
    el("td", {}, word.count || "–"),
    el("td", {}, word.bm25 ? fixed(word.bm25) : "–")));
  return el("section", {},
    el("h3", {}, "Words"),
    known.length > 0 && el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Words of the query" },
      el("table", {},
        el("caption", { class: "unseen" }, `Words of the query among ${number(chunks)} passages`),
        el("thead", {}, el("tr", {}, ["Word", "Passages", "Rarity (idf)", "Here", "BM25"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, rows))),
    unknown.length > 0 && el("p", { class: "note" }, `These words are too common, or are in no passage: ${unknown.join(", ")}.`),
    textNote(text, mode));
}

function bar(share) {
  const filled = el("span", { class: "filled" });
  filled.style.width = `${Math.round(100 * share)}%`;
  return el("span", { class: "meter", "aria-hidden": "true" }, filled);
}

function textNote(text, mode) {
  if (text.bm25 === null) return el("p", { class: "note" }, "The search by words did not find this passage.");
  if (mode !== "hybrid") return el("p", { class: "note" }, mode === "dense" ? "This ranking does not use the words." : "");
  const own = `BM25 ${fixed(text.bm25)} is ${fixed(text.own)} standard deviations above the mean of the best passages.`;
  const document = text.of_document === null ? ""
    : ` The best evidence in its document is ${fixed(text.of_document)}. The mean of both is ${fixed(text.evidence)}.`;
  return el("p", { class: "note" }, `${own}${document} The weight of words is ${fixed(text.weight)}.`);
}

function added(name, value) {
  return value ? ` + ${name} ${fixed(value)}` : "";
}

function total({ mode, score, dense, text, code, tokens }) {
  if (mode === "dense") return el("p", { class: "total" }, `Score = cosine = ${fixed(score, 3)}`);
  if (mode === "text") return el("p", { class: "total" }, `Score = sum of BM25${added("file", code)} = ${fixed(score)}`);
  const sum = Math.max(dense.contribution, 0) + Math.max(text.contribution, 0);
  const share = sum > 0 ? Math.round(100 * Math.max(dense.contribution, 0) / sum) : 50;
  const left = el("span", { class: "left" });
  const right = el("span", { class: "right" });
  left.style.width = `${share}%`;
  right.style.width = `${100 - share}%`;
  return el("div", { class: "total" },
    el("span", { class: "split", "aria-hidden": "true" }, left, right),
    el("p", {}, el("span", { class: "key left", "aria-hidden": "true" }), `meaning ${fixed(dense.contribution)} + `,
      el("span", { class: "key right", "aria-hidden": "true" }), `words ${fixed(text.contribution)}${added("file", code)}${added("passage", tokens)} = score `,
      el("b", {}, fixed(score))));
}
