// Keyboard shortcuts: `/` moves to the query, the arrow keys move between hits and turn the pages of a PDF, Enter opens a
// hit, and Esc goes back.

import { byId } from "./dom.js";
import { go, state } from "./route.js";

let awaited = null; // the query in which Enter was pressed
let opened = null; // the link of the hit or of the source that was opened last

export function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const handled = {
      "/": slash, Escape: escape, ArrowDown: () => move(1, event), ArrowUp: () => move(-1, event), Enter: () => enter(event),
      ArrowLeft: () => turn("Previous", event), ArrowRight: () => turn("Next", event),
    }[event.key]?.(event);
    if (handled) event.preventDefault();
  });
  byId("query").addEventListener("input", () => { awaited = null; });
  byId("view-search").addEventListener("click", (event) => { // the preview has a link to its document, too
    const link = event.target.closest("a.open, #answer a");
    opened = (link?.closest("#preview") ? links().find((one) => one.href === link.href) : link) ?? opened;
  });
}

/** Moves the focus to the hit or the source that was opened last. */
export function returnToHit() {
  const link = opened?.isConnected ? opened : links().find((one) => one.href === opened?.href);
  link?.focus({ preventScroll: true });
}

const links = () => [...document.querySelectorAll("#hits > :not([hidden]) a.open")];
const isTyping = (target) => target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select") !== null;

function slash(event) {
  if (isTyping(event.target)) return false;
  byId("query").focus();
  byId("query").select();
  return true;
}

function escape(event) {
  awaited = null;
  if (state.view === "document") {
    go({ view: "search" });
    return true;
  }
  if (event.target === byId("query")) {
    if (!byId("query").value) return false;
    byId("query").value = "";
    go({ q: "" }); // the browser's back button brings the query back
    return true;
  }
  if (event.target.closest("#hits, #weak, #more, #answer")) {
    byId("query").focus();
    return true;
  }
  return false;
}

function move(step, event) {
  if (state.view !== "search") return false;
  const all = links();
  const fromQuery = event.target === byId("query");
  if (!all.length || (isTyping(event.target) && !fromQuery) || event.target.closest("fieldset, .why")) return false;
  const current = event.target.closest("a.open") ?? event.target.closest(".hit")?.querySelector("a.open");
  const at = all.indexOf(current);
  if (at < 0 && step < 0) return false;
  if (at === 0 && step < 0) {
    byId("query").focus();
    return true;
  }
  const next = all[at + step];
  if (!next) [byId("weak"), byId("more")].find((button) => !button.hidden)?.focus();
  if (!next) return true;
  next.focus({ preventScroll: true });
  next.closest("li").scrollIntoView({ block: "nearest" });
  return true;
}

/** Turns the page of a PDF in the document view, unless its text is shown. */
function turn(direction, event) {
  const button = document.querySelector(`#view-document [aria-label="${direction} page"]`);
  if (!button?.offsetParent || event.target.closest("input, select")) return false;
  button.click();
  return true;
}

/** Opens the first hit on Enter in the query, if the hits of this query are already shown, and else when they are. */
function enter(event) {
  if (event.target !== byId("query") || state.view !== "search") return false;
  awaited = byId("query").value;
  return awaited === state.q && byId("hits").ariaBusy !== "true" && openAwaited();
}

/** Opens the first hit if Enter was pressed in the query that is shown. Call it when a search ends. */
export function openAwaited() {
  const [first] = awaited === byId("query").value && state.view === "search" ? links() : [];
  awaited = null;
  first?.click();
  return first !== undefined;
}
