// The page of a PDF as a picture with the words of the query marked, and the text of its passages one click away.

import { picture } from "./api.js";
import { el, number } from "./dom.js";
import { state } from "./route.js";

const DELAY = 60; // milliseconds, within which arrow keys may have moved on to another hit
const [LEAST, STEP, MOST] = [1000, 200, 2000]; // pixels; a few widths, so that the browser has most pictures already

let prefersText = false;

/** Returns an element with `text`, the passages of a document around a hit, or with the page of the hit in a PDF. */
export function withPage(part, hit, text) {
  if (!/\.pdf$/i.test(part.path) || !hit?.page) return text;
  let shown = hit.page;
  let count = 0;
  const button = (onclick, label) => el("button", { type: "button", class: "small", onclick }, label);
  const place = el("span", { class: "note", role: "status" });
  const turns = [[-1, "← Previous page"], [1, "Next page →"]].map(([by, label]) => button(() => turn(by), label));
  const image = el("img", {});
  const swap = button(() => {
    prefersText = !prefersText;
    show();
  });
  const sheet = el("div", { class: "sheet", tabindex: "-1" }, el("div", { class: "pages" }, turns[0], place, turns[1], swap), image);
  const box = el("div", {}, sheet, text);
  show();
  setTimeout(load, DELAY);
  return box;

  function show() {
    text.hidden = !prefersText;
    image.hidden = place.hidden = turns[0].hidden = turns[1].hidden = prefersText;
    swap.textContent = prefersText ? "Show the page" : "Show the text";
  }

  function turn(by) {
    shown += by;
    load();
  }

  async function load() {
    if (!box.isConnected) return;
    const page = shown;
    place.textContent = `Page ${number(page)}${count ? ` of ${number(count)}` : ""}`;
    [turns[0].disabled, turns[1].disabled] = [page === 1, page === count];
    const pixels = STEP * Math.ceil((sheet.clientWidth * devicePixelRatio) / STEP);
    const asked = { page, q: state.q, index: part.index, width: Math.min(MOST, Math.max(LEAST, pixels)) };
    try {
      const [src, headers] = await picture(`pages/${part.path.split("/").map(encodeURIComponent).join("/")}`, asked);
      if (page !== shown) return;
      count = Number(headers.get("Page-Count")) || count;
      Object.assign(image, { src, alt: `Page ${page} of ${part.path}` });
      await image.decode();
      turns[1].disabled = page === count;
    } catch {
      sheet.hidden = true; // the file is gone, has changed, or cannot be drawn; the index has its text
      text.hidden = false;
    }
  }
}
