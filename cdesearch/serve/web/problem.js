// Show an error with its remedy above the content of the view.

import { byId, el, withCode } from "./dom.js";

export function showProblem(error) {
  if (error.name === "AbortError") return;
  const text = error.remedy === undefined ? `The page has a defect: ${error.message}` : error.message;
  byId("problem").replaceChildren(
    el("div", { class: "problem" }, el("strong", {}, text), error.remedy ? el("span", {}, " ", withCode(error.remedy)) : null),
  );
  if (error.remedy === undefined) throw error;
}

export const clearProblem = () => byId("problem").replaceChildren();
