// Show what rendered.py has made of a chunk: HTML that it has sanitised.

import { loadPicture } from "./api.js";
import { el } from "./dom.js";
import { spansOf } from "./words.js";

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

/** Puts the images of the folder in place of their descriptions in the text of the document at `path`. */
export function withImages(element, path, index) {
  const descriptions = [...element.querySelectorAll("[data-src]")].slice(0, MOST_IMAGES);
  for (const description of descriptions) show(description, path, index).catch(() => {});
  return element;
}

async function show(description, path, index) {
  const folder = new URL(path.split("/").map(encodeURIComponent).join("/"), "http://folder.invalid/");
  const { origin, pathname } = new URL(description.dataset.src, folder);
  if (origin !== folder.origin) return;
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
