// Create elements without parsing HTML, so that text from files can never become markup.

export const byId = (id) => document.getElementById(id);

/** Creates an element with attributes, event listeners (`onclick`) and children. Children that are null or false are
 * left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Returns the parts of a text, in which back-ticks mark code. */
export function withCode(text) {
  return text.split("`").map((part, position) => (position % 2 ? el("code", {}, part) : part));
}

/** Lets screen readers read a sentence. */
export function announce(text) {
  byId("announcer").textContent = text;
}

const NUMBERS = new Intl.NumberFormat("en"); // toLocaleString would make one for each number
export const number = (value) => NUMBERS.format(value);
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Formats a number with a fixed number of decimal places and a typographic minus sign. */
export const fixed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
