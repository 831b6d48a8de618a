// Mark a hit as good or bad. The server stores the marks beside the index.

import { post } from "./api.js";
import { announce, el } from "./dom.js";
import { showProblem } from "./problem.js";

/** Returns two buttons that mark a hit of the search `asked`. The pressed one shows the mark of this visit. */
export function labelButtons(hit, asked) {
  const buttons = [["good", "Good"], ["bad", "Bad"]].map(([mark, text]) => {
    const button = el("button", { type: "button", class: "small", "aria-pressed": "false",
      title: `Mark this hit as ${mark}, for cdesearch eval --labels` }, text);
    button.addEventListener("click", async () => {
      try {
        await post("labels", { q: asked.q, chunk: hit.chunk, mark, index: hit.index ?? asked.index });
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        announce(`Marked as ${mark}.`);
      } catch (error) {
        showProblem(error);
      }
    });
    return button;
  });
  return el("span", { class: "pair", role: "group", "aria-label": "Mark this hit" }, buttons);
}
