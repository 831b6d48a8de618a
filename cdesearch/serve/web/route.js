// The state of the page is stored in its address, so that the back button, bookmarks and new tabs work.

export const NO_FILTERS = { path: "", type: "", year: "", tag: "" };
const DEFAULTS = { view: "search", q: "", mode: "hybrid", ...NO_FILTERS, index: "", document: "", chunk: "", of: "", quote: "", page: "" };
const MOST = 4000; // characters of a query that the server takes
const VIEWS = ["search", "document", "index"];
const MODES = ["hybrid", "dense", "text"];
const listeners = [];

export let state = read();

function read() {
  const found = new URLSearchParams(location.search);
  const next = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) next[name] = found.get(name) ?? DEFAULTS[name];
  if (!VIEWS.includes(next.view) || (next.view === "document" && !next.document)) next.view = "search";
  if (!MODES.includes(next.mode)) next.mode = "hybrid";
  return next;
}

/** Returns the address of the current state with some changes. Views other than the document view omit the document. */
export function href(changes) {
  const next = { ...state, quote: "", page: "", ...changes };
  if (next.view !== "document") next.document = next.chunk = next.of = next.quote = next.page = "";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) if ((value ?? "") !== DEFAULTS[name]) query.set(name, value);
  return query.size ? `/?${query}` : "/";
}

/** Changes the state. With `replace`, the change adds no entry to the history. */
export function go(changes, { replace = false } = {}) {
  const address = href(changes);
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  follow();
}

export function onChange(listener) {
  listeners.push(listener);
}

export function follow() {
  const before = state;
  state = read();
  for (const listener of listeners) listener(state, before);
}

/** Returns the parameters of a search with the names that the HTTP API uses. */
export const searched = ({ q, mode, path, type, year, tag, index } = state) => ({
  q: q.slice(0, MOST), mode, path, type, index,
  since: year,
  before: year && String(Number(year) + 1),
  filter: tag && (tag.includes('"') ? `tag='${tag}'` : `tag="${tag}"`),
});

/** Returns a click handler that changes the state instead of loading the page. Clicks that open a new tab are ignored. */
export function inPage(changes) {
  return (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(changes);
  };
}

addEventListener("popstate", follow);
