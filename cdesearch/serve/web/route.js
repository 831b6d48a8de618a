// What the page shows is in its address, so that the back button, bookmarks and new tabs work.

const DEFAULTS = { view: "search", q: "", mode: "hybrid", path: "", type: "", index: "", document: "", chunk: "" };
const VIEWS = ["search", "document", "map", "index"];
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

/** The address of the present state with some changes. Another view forgets the document. */
export function href(changes) {
  const next = { ...state, ...changes };
  if (next.view !== "document") next.document = next.chunk = "";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) if (value !== DEFAULTS[name]) query.set(name, value);
  return query.size ? `/?${query}` : "/";
}

/** Changes the state; `replace` makes no new entry in the history. */
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

/** The parameters of a search, as the interface names them. */
export const searched = ({ q, mode, path, type, index } = state) => ({ q, mode, path, type, index });

/** Lets a click on a link change the state instead of loading the page; other clicks (new tab) are left alone. */
export function inPage(changes) {
  return (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(changes);
  };
}

addEventListener("popstate", follow);
