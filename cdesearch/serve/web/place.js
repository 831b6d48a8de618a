// The location of a hit: its path, its lines or page, and the controls to copy or open it.

import { announce, el } from "./dom.js";

const EDITOR_KEY = "cdesearch.editor";
const CODE = new Set(("py pyi js mjs ts tsx jsx c h cc cpp hpp cs java kt go rs rb php swift scala sh bash ps1 sql lua r"
  + " jl toml yaml yml json jsonl ini cfg css xml csv tsv").split(" "));

export const isMail = (path) => /\.(?:emlx?|mbox|msg)(?:\.\w+)?$/i.test(path);
export const isCode = (path) => CODE.has(path.split(".").pop().toLowerCase());

/** Returns the parts of a path, between which a line may break. */
export const breakable = (path) => path.split(/(?<=\/)/).flatMap((part) => [part, el("wbr")]);

/** Returns elements for the folder of a path, in a muted colour, and for the name of the file. */
export function pathOf(path) {
  const end = path.lastIndexOf("/") + 1;
  return [el("span", { class: "folder" }, breakable(path.slice(0, end))), el("span", { class: "name" }, path.slice(end))];
}

/** Returns the extent of a chunk, such as "lines 3–9", "page 2" or "#setup", with its record; may be empty. */
export function extentOf(chunk) {
  const parts = [];
  if (chunk.page !== null) parts.push(`page ${chunk.page}`);
  else if (chunk.line_start !== null) {
    const isOne = chunk.line_end === null || chunk.line_end === chunk.line_start;
    parts.push(isOne ? `line ${chunk.line_start}` : `lines ${chunk.line_start}–${chunk.line_end}`);
  }
  else if (chunk.anchor) parts.push(`#${chunk.anchor}`);
  if (chunk.record !== null && chunk.record !== undefined) parts.push(`record ${chunk.record}${cellsOf(chunk)}`);
  return parts.join(", ");
}

/** Returns the cells of one row of a sheet, such as "!A7:D7"; empty for others. */
const cellsOf = (chunk) => chunk.anchor && chunk.line_start !== null && chunk.line_start === chunk.line_end
  ? `!${chunk.anchor}` : "";

const isHere = /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** Returns a path for other programs: absolute on the computer of the server, with the line if its format has lines. */
function locationOf(root, path, chunk) {
  const whole = isHere && root ? `${root.replace(/[\\/]$/, "")}/${path}` : path;
  const line = chunk.line_start === null || chunk.anchor ? "" : `:${chunk.line_start}`; // rows of a sheet have cells, too
  return (root?.includes("\\") ? whole.replaceAll("/", "\\") : whole) + line;
}

/** Returns the entry of a list of [line, value] that holds for a line of a chunk, counted from 0. */
const entryAt = (entries, line) => entries.findLast(([start]) => start <= line) ?? entries[0];

/** Returns the number in the file of a line of a chunk; null if the format has no lines or if the number is unknown. */
export function numberOf(chunk, line) {
  if (chunk.line_start === null || chunk.line_end === null) return null;
  const { numbers } = chunk.places;
  const hasGaps = chunk.line_end - chunk.line_start !== chunk.text.trimEnd().split("\n").length - 1;
  if (hasGaps && numbers.length < 2) return null;
  const [start, number] = entryAt(numbers, line);
  return Math.min(number + line - start, chunk.line_end);
}

/**
 * Returns the chunk with the place of a passage: the number and the anchor of its line `best`, which has most words of
 * the query. Lines are counted from the start of the chunk.
 */
export function placeOfPassage(chunk, best) {
  const [, anchor] = entryAt(chunk.places.anchors, best);
  const line = numberOf(chunk, best);
  const lines = line === null ? {} : { line_start: line, line_end: line };
  return { ...chunk, ...lines, anchor };
}

export function copyButton(root, path, chunk) {
  const location = locationOf(root, path, chunk);
  const button = el("button", { type: "button", class: "small", "aria-label": `Copy path ${location}` }, "Copy path");
  button.addEventListener("click", async () => {
    const isCopied = await copied(location);
    button.textContent = isCopied ? "Copied" : "Not allowed";
    announce(isCopied ? `${location} is copied.` : "The browser does not allow copying.");
    setTimeout(() => { button.textContent = "Copy path"; }, 1500);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedFromField(text); // browsers disable the clipboard for pages that another computer serves by HTTP
  }
}

function copiedFromField(text) {
  const focused = document.activeElement;
  const field = el("textarea", { class: "unseen", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}

export function wantsEditor() {
  try {
    return localStorage.getItem(EDITOR_KEY) === "vscode";
  } catch {
    return false;
  }
}

export function setEditor(isWanted) {
  try {
    localStorage.setItem(EDITOR_KEY, isWanted ? "vscode" : "");
  } catch { /* storage is disabled, so the choice lasts only until the user leaves the page */ }
}

/** Returns a link that opens the file in VS Code at the line of the chunk; null if these links are switched off. */
export function editorLink(root, path, chunk) {
  if (!wantsEditor() || !root) return null;
  const folder = root.replaceAll("\\", "/").replace(/\/$/, "");
  const file = `${folder}/${path}`.split("/").map(encodeURIComponent).join("/").replace(/^\/?/, "/");
  const line = chunk.line_start === null ? "" : `:${chunk.line_start}`;
  return el("a", { class: "small button", href: `vscode://file${file}${line}` }, "VS Code");
}
