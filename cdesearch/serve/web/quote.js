// Find the sentence that an answer quotes in the text of a document, and mark it without a change of the document.

const LETTER = /[\p{L}\p{N}]/u; // what text and quote have in common: signs of markup and blanks differ
const NAME = "quote"; // of the highlight in style.css

/** Returns the range of a quoted sentence within the chunks of a view from the one that was found on, or null. */
export function quotedIn(view, quote) {
  for (const chunk of view.querySelectorAll(".is-hit, .is-hit ~ .chunk")) {
    const range = rangeOf(quote, chunk.querySelector(".text"));
    if (range) return range;
  }
  return null;
}

const lettersOf = (text) => [...text].filter((one) => LETTER.test(one)).join("");

/** Returns whether a text has the letters of a quotation in a row. */
export const quotes = (text, quote) => lettersOf(text).includes(lettersOf(quote));

function rangeOf(quote, element) {
  const sought = lettersOf(quote);
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const places = []; // of each letter: its node, and its offset there
  let letters = "";
  while (walker.nextNode()) {
    let offset = 0;
    for (const one of walker.currentNode.data) {
      if (LETTER.test(one)) {
        letters += one;
        for (let unit = 0; unit < one.length; unit += 1) places.push([walker.currentNode, offset]);
      }
      offset += one.length;
    }
  }
  const start = sought ? letters.indexOf(sought) : -1;
  if (start < 0) return null;
  const range = document.createRange();
  range.setStart(...places[start]);
  const [node, offset] = places[start + sought.length - 1];
  range.setEnd(node, offset + 1);
  return range;
}

/** Marks a range, and only this one; without a range, nothing. Some browsers cannot mark ranges. */
export function markRange(range) {
  if (typeof Highlight === "undefined") return;
  if (range) CSS.highlights.set(NAME, new Highlight(range));
  else CSS.highlights.delete(NAME);
}
