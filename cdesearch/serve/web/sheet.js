// The page of a PDF as a picture with the words of the query and a quotation marked, and the text of its passages one
// click away.

import { loadPicture } from "./api.js";
import { el, number } from "./dom.js";
import { go, state } from "./route.js";

const DELAY = 60; // milliseconds, within which arrow keys may have moved on to another hit
const [LEAST, STEP, MOST] = [1000, 200, 2000]; // pixels; a few widths, so that the browser has most pictures already

let prefersText = false;

/**
 * Returns `text`, the passages of a document around a hit, or for a PDF an element that shows the page of the hit. The
 * buttons that turn its pages are then at the end of `head`, which stays in sight.
 */
export function withPage(head, part, hit, text, quote = "") {
  if (!/\.pdf$/i.test(part.path) || !hit?.page) return text;
  let page = Number(state.page) || hit.page; // only the document view has the former
  let count = page; // until the first picture says how many pages there are
  let image = imageOf();
  const button = (attributes, ...label) => el("button", { type: "button", class: "small", ...attributes }, label);
  const back = button({ "aria-label": "Previous page", onclick: () => turn(-1) }, "←");
  const forth = button({ "aria-label": "Next page", onclick: () => turn(1) }, "→");
  const place = el("span", { class: "note", role: "status" }, `Page ${number(page)}`);
  const turns = el("div", {}, back, place, forth);
  const swap = button({ onclick: () => {
    prefersText = !prefersText;
    show();
    if (prefersText) text.querySelector(".is-hit")?.scrollIntoView({ block: "nearest" });
  } });
  const bar = el("div", { class: "pages" }, turns, swap);
  const sheet = el("div", { class: "sheet" }, image);
  head.append(bar);
  const box = el("div", {}, sheet, text);
  show();
  setTimeout(load, DELAY);
  return box;

  function imageOf() {
    return el("img", { alt: `Page ${number(page)} of ${part.path}`, tabindex: "-1" });
  }

  function show() {
    text.hidden = !prefersText;
    image.hidden = turns.hidden = prefersText;
    swap.textContent = prefersText ? "Show the page" : "Show the text";
  }

  function turn(by) {
    const next = page + by;
    if (next < 1 || next > count) return;
    page = next;
    if (state.view === "document") go({ page: String(page), quote }, { replace: true }); // so it is kept on reload
    load();
  }

  /** Scrolls down to a part of the picture, unless it is in sight. */
  function reveal(part) {
    const { top, height } = image.getBoundingClientRect();
    const below = top + part * height - innerHeight * 0.85;
    if (below > 0) (box.closest(".preview") ?? document.documentElement).scrollTop += below + innerHeight * 0.3;
  }

  async function load() {
    if (!box.isConnected) return;
    const [asked, fresh] = [page, imageOf()];
    const width = Math.min(MOST, Math.max(LEAST, STEP * Math.ceil((sheet.clientWidth * devicePixelRatio) / STEP)));
    const path = `pages/${part.path.split("/").map(encodeURIComponent).join("/")}`;
    try {
      const headers = await loadPicture(fresh, path, { page, width, q: state.q, quote, index: part.index });
      if (asked !== page) return;
      count = Number(headers.get("Page-Count"));
      place.textContent = `Page ${number(page)} of ${number(count)}`;
      [back.ariaDisabled, forth.ariaDisabled] = [page === 1, page === count]; // they keep the focus
      const [isFirst, hasFocus] = [!image.src, document.activeElement === image];
      image.replaceWith(fresh);
      image = fresh;
      show();
      if (hasFocus) image.focus({ preventScroll: true });
      if (isFirst && !prefersText) reveal(Number(headers.get("Middle-Mark")) / 100);
    } catch {
      sheet.hidden = bar.hidden = true; // the file is gone, has changed, or cannot be drawn; the index has its text
      text.hidden = false;
    }
  }
}
