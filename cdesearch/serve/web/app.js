// Start the page with all its modules, and switch between the views.

import { takeToken } from "./api.js";
import { startDocument } from "./document.js";
import { byId } from "./dom.js";
import { startHealth } from "./health.js";
import { returnToHit, startKeyboard } from "./keyboard.js";
import { setEditor, wantsEditor } from "./place.js";
import { startPreview } from "./preview.js";
import { clearProblem } from "./problem.js";
import { href, inPage, onChange, state } from "./route.js";
import { searchAgain, startSearch } from "./search.js";

const TITLES = { search: "Search", document: "Document", index: "Index" };
let listTop = 0; // the scroll position of the hits when the user left them

function showView(next, before) {
  if (before?.view === "search" && next.view !== "search") listTop = scrollY;
  for (const view of Object.keys(TITLES)) byId(`view-${view}`).hidden = view !== next.view;
  byId("search-form").hidden = next.view === "index";
  byId("summary").hidden = next.view !== "search";
  byId("title").textContent = TITLES[next.view];
  for (const link of document.querySelectorAll("nav [data-view]")) {
    const isCurrent = link.dataset.view === (next.view === "document" ? "search" : next.view);
    link.toggleAttribute("data-current", isCurrent);
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.setAttribute("href", href({ view: link.dataset.view }));
  }
  if (!before || before.view === next.view) return;
  clearProblem();
  if (next.view !== "search") scrollTo(0, 0);
  else if (before.view === "document") {
    scrollTo(0, listTop);
    returnToHit();
  }
}

takeToken();
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) location.reload();
});
history.scrollRestoration = "manual";
for (const link of document.querySelectorAll("nav [data-view]")) {
  link.addEventListener("click", (event) => inPage({ view: link.dataset.view })(event));
}
byId("editor-links").checked = wantsEditor();
byId("editor-links").addEventListener("change", (event) => {
  setEditor(event.target.checked);
  searchAgain();
});
onChange(showView);
showView(state, null);
startSearch();
startDocument();
startHealth();
startPreview();
startKeyboard();
if (state.view === "search" && matchMedia("(pointer: fine)").matches) byId("query").focus();
