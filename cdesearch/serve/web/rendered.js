// Show what rendered.py has made of a chunk: HTML that it has sanitised.

import { loadPicture } from "./api.js";
import { el } from "./dom.js";
import { href, inPage } from "./route.js";
import { spansOf } from "./words.js";

const FOLDER = "http://folder.invalid/"; // stands for the indexed folder, of which no address leads out
const MOST_IMAGES = 30; // of a document that are loaded; one may have thousands

/** Returns the nodes of sanitised HTML, with descriptions in place of images. Parsed so, it runs and loads nothing. */
export function nodesOf(html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const image of body.querySelectorAll("img")) {
    const [src, width] = ["src", "width"].map((name) => image.getAttribute(name));
    image.replaceWith(el("span", { "data-src": src, "data-width": width }, image.alt));
  }
  return [...body.childNodes].map((node) => document.adoptNode(node));
}

/** Shows the images of the folder in the text of the document at `path`, and lets its links lead to other documents. */
export function withFolder(element, path, index) {
  const place = new URL(FOLDER + path.split("/").map(encodeURIComponent).join("/"));
  const descriptions = [...element.querySelectorAll("[data-src]")].slice(0, MOST_IMAGES);
  for (const description of descriptions) show(description, place, index).catch(() => {});
  for (const link of element.querySelectorAll("a[href]")) lead(link, place, index);
  return element;
}

/** Lets a link that is relative to a document lead to a place in it or in another one, or for `?q=name` to a search. */
function lead(link, place, index) {
  try {
    const to = new URL(link.getAttribute("href"), place);
    if (to.origin !== place.origin) return;
    const q = link.getAttribute("href").startsWith("?") && to.searchParams.get("q");
    const document = decodeURIComponent(to.pathname.slice(1));
    const target = q ? { view: "search", q } : { view: "document", document, chunk: decodeURIComponent(to.hash), of: index };
    link.href = href(target);
    link.addEventListener("click", inPage(target));
  } catch {
    link.removeAttribute("href"); // it is no address
  }
}

async function show(description, place, index) {
  const { origin, pathname } = new URL(description.dataset.src, place);
  if (origin !== place.origin) return;
  const image = el("img", { alt: description.textContent, width: description.dataset.width });
  await loadPicture(image, `images${pathname}`, { index });
  description.replaceWith(image);
}

/** Puts a `mark` element around every form of one of the words in the texts of an element, and returns the element. */
export function withMarks(element, words) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of words.length ? texts : []) {
    for (const [start, stop] of spansOf(text.data, words).reverse()) {
      const found = text.splitText(start);
      found.splitText(stop - start);
      const mark = document.createElement("mark");
      found.replaceWith(mark);
      mark.append(found);
    }
  }
  return element;
}
