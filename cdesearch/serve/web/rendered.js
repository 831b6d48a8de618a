// Show what rendered.py has made of a chunk: HTML that it has sanitised.

import { spansOf } from "./words.js";

/** Returns the nodes of sanitised HTML. Parsed so, a document runs no scripts and loads nothing. */
export function nodesOf(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map((node) => document.adoptNode(node));
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
