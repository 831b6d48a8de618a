// Elements made without HTML: text from files is only ever the text of a node.

export const byId = (id) => document.getElementById(id);

/** An element with attributes, listeners (`onclick`) and children; null and false children are left out. */
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

/** Reads a sentence to users of screen readers. */
export function announce(text) {
  byId("announcer").textContent = text;
}

export const number = (value) => value.toLocaleString("en");
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A number with two decimals and a true minus sign. */
export const fixed = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
