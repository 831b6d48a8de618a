// The filters of a search by folder, type, year and tag, and the tabs of several indexes.

import { byId, el, number } from "./dom.js";
import { allIndexes } from "./indexes.js";
import { href, inPage, NO_FILTERS, state } from "./route.js";

// The name of each facet, its name in the state, and how many values it needs to be of use.
const FACETS = [["folder", "path", 1], ["type", "type", 2], ["year", "year", 2], ["tag", "tag", 1]];
const MARKS = { path: "/", type: "." }; // before a folder that is no name at any depth, and before the end of a name
const unmarked = (value) => value.replace(/^[/.]/, "");

let facets = {}; // of the hits that are shown

/** Adds a menu for each facet. `choose` receives the change of the state. */
export function startFilters(choose) {
  byId("facets").replaceChildren(...FACETS.map(([name, key]) => {
    const select = el("select", { id: name, "aria-label": `Filter by ${name}`, onchange: () => choose({ [key]: select.value }) });
    const remove = () => {
      choose({ [key]: "" });
      (select.parentElement.hidden ? byId("query") : select).focus();
    };
    return el("span", { class: "facet", hidden: true }, select,
      el("button", { type: "button", "aria-label": `Remove the filter by ${name}`, onclick: remove }, "×"));
  }));
}

/** Shows the filters of the state and, from the facets of an answer, what else can be chosen. */
export function showFilters(found = facets) {
  facets = found;
  for (const [name, key, least] of FACETS) {
    const options = (facets[name] ?? []).map(({ value, files }) => [
      `${MARKS[key] ?? ""}${value}`, `${value} (${number(files)})`]);
    const chosen = state[key];
    if (chosen && !options.some(([value]) => value === chosen)) options.unshift([chosen, unmarked(chosen)]);
    const select = byId(name);
    select.replaceChildren(el("option", { value: "" }, `Any ${name}`),
      ...options.map(([value, text]) => el("option", { value }, text)));
    select.value = chosen;
    select.parentElement.classList.toggle("chosen", chosen !== "");
    select.parentElement.hidden = !chosen && options.length < least;
  }
}

/** Shows a tab for each of several indexes. All can be searched together, but only one can be examined. */
export async function showTabs() {
  const names = (await allIndexes()).map(({ name }) => name);
  const isSearch = state.view === "search";
  byId("tabs").hidden = names.length < 2 || state.view === "document";
  const current = state.index || (isSearch ? "" : names[0]);
  byId("tabs").replaceChildren(...[...(isSearch ? [""] : []), ...names].map((index) => {
    const changes = { ...NO_FILTERS, index };
    return el("a", { href: href(changes), onclick: inPage(changes), "aria-current": index === current && "page" }, index || "All");
  }));
}

/** Returns the filters of the state in words, such as "in docs, of 2026"; empty without filters. */
export const filtersInWords = () => [
  state.path && `in ${unmarked(state.path)}`,
  state.type && `of type ${unmarked(state.type)}`,
  state.year && `of ${state.year}`,
  state.tag && `with the tag ${state.tag}`,
].filter(Boolean).join(", ");
