// The preview beside the hits on wide screens: the passage of the hit, or of the source of an answer, that has the focus
// or the pointer, with its neighbours.

import { get } from "./api.js";
import { changeOf, sections } from "./document.js";
import { byId, el } from "./dom.js";
import { pathOf } from "./place.js";
import { markRange, quotedIn, quotes } from "./quote.js";
import { inPage, onChange, state } from "./route.js";
import { withPage } from "./sheet.js";

const AROUND = 2; // passages on each side
const AROUND_QUOTE = 10; // as a passage of an answer may consist of many chunks
const DELAY = 120; // milliseconds that the pointer rests on a link
const wide = matchMedia("(min-width: 1240px)");

let timer = 0;
let shown = ""; // the address of what is previewed

export function startPreview() {
  for (const list of [byId("hits"), byId("answer")]) {
    list.addEventListener("focusin", (event) => preview(linkOf(event.target)));
    list.addEventListener("mousemove", (event) => { // a hit that appears below a resting mouse is not chosen
      if (!event.movementX && !event.movementY) return;
      clearTimeout(timer);
      timer = setTimeout(() => preview(linkOf(event.target)), DELAY);
    });
  }
  wide.addEventListener("change", previewFirst);
  onChange(hide);
}

/** Previews the first hit, if there is one. Call it when the hits of a search are shown. */
export function previewFirst() {
  hide();
  const first = document.querySelector("#hits a.open");
  if (!first) byId("preview").hidden = true;
  preview(first);
}

const linkOf = (target) => target.closest("a.open, #answer a") ?? target.closest(".also li, .hit")?.querySelector("a.open");

function hide() {
  clearTimeout(timer);
  if (state.view === "search" && state.q.trim() && wide.matches) return;
  shown = "";
  byId("preview").hidden = true;
}

async function preview(link) {
  if (!link || !wide.matches || link.href === shown) return;
  shown = link.href;
  const target = new URL(link.href).searchParams;
  const quote = target.get("quote") ?? "";
  const path = target.get("document").split("/").map(encodeURIComponent).join("/");
  const asked = { chunk: target.get("chunk"), index: target.get("of") || target.get("index"), around: quote ? AROUND_QUOTE : AROUND };
  try {
    const part = await get(`documents/${path}`, asked);
    if (shown !== link.href) return;
    const box = byId("preview");
    const quoting = quote ? part.chunks.find((chunk) => quotes(chunk.text, quote)) : undefined;
    const hit = quoting ?? part.chunks.find((chunk) => chunk.is_hit) ?? part.chunks[0];
    const name = el("a", { class: "open", href: link.getAttribute("href"), onclick: inPage(Object.fromEntries(target)) }, pathOf(part.path));
    const head = el("div", { class: "preview-head" }, el("h2", {}, name));
    box.replaceChildren(head, changeOf(part), withPage(head, part, hit, el("div", {}, sections(part, part.chunks)), quote));
    box.hidden = false;
    const quoted = quotedIn(box, quote);
    markRange(quoted);
    const found = quoted ?? box.querySelector(".is-hit mark") ?? box.querySelector(".is-hit");
    if (found) box.scrollTop += found.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 4;
  } catch {
    byId("preview").hidden = true; // opening the hit shows the error
  }
}
