// The view of an index: what it contains, what has changed, which files could not be read, and a button to update it.

import { get, post } from "./api.js";
import { announce, byId, counted, el, number } from "./dom.js";
import { allIndexes, forgetIndexes } from "./indexes.js";
import { breakable } from "./place.js";
import { clearProblem, showProblem } from "./problem.js";
import { onChange, state } from "./route.js";
import { searchAgain } from "./search.js";

const POLL = 1000; // milliseconds between two requests for the state of a running update
const SETTLE = 1200; // milliseconds in which the server opens the new generation after an update
const PAGE = 100; // files
const OUTCOMES = { skipped: "Skipped", indexed: "Indexed", ignored: "Ignored" };

let shown = null; // the name of the index that is shown
let polling = 0; // the id of the timer for the next request for the state of an update
let listed = 0; // the number of the latest request for files; responses to earlier requests are ignored

export function startHealth() {
  onChange(update);
  update();
}

function update() {
  if (state.view !== "index") {
    clearTimeout(polling);
    shown = null;
    return;
  }
  if (shown === state.index) return;
  shown = state.index;
  show();
}

async function show() {
  const index = state.index;
  const view = byId("view-index");
  view.replaceChildren(el("p", { class: "note" }, "Checking the files for changes …"));
  try {
    const name = index || (await allIndexes())[0].name;
    const [status, run] = await Promise.all([get("status", { index: name }), get("updates", { index: name })]);
    if (shown !== index) return;
    clearProblem();
    view.replaceChildren(...page(status.indexes[0]));
    showRun(run);
    await list("skipped", 0);
  } catch (error) {
    if (shown === index) showProblem(error);
  }
}

function page(facts) {
  const changes = [["new", facts.new_files], ["modified", facts.modified_files], ["deleted", facts.deleted_files]]
    .filter(([, count]) => count).map(([word, count]) => `${number(count)} ${word}`);
  const isCurrent = !changes.length;
  return [
    facts.problem && el("div", { class: "problem" }, el("strong", {}, facts.problem.detail), ` ${facts.problem.remedy}`),
    el("div", { class: "health-head" },
      el("div", {},
        el("h2", {}, facts.name),
        el("p", { class: "note" }, el("code", {}, facts.root ?? ""))),
      el("button", { type: "button", id: "update", class: "primary", onclick: startUpdate }, "Update now")),
    el("p", { class: isCurrent ? "verdict good" : "verdict" }, facts.root === undefined ? "The state of the index is unknown."
      : isCurrent ? "The index is up to date with its files." : `Changed since the last update: ${changes.join(", ")} files.`),
    el("div", { id: "run", role: "status" }),
    facts.root !== undefined && cards(facts),
    (facts.missing_sources ?? []).length > 0 && el("div", { class: "problem" },
      `These sources no longer exist: ${facts.missing_sources.join(", ")}. Restore them, or index another folder.`),
    el("h2", {}, "Files"),
    el("div", { class: "filters" },
      el("fieldset", { class: "modes" }, el("legend", { class: "unseen" }, "Files to show"),
        Object.entries(OUTCOMES).map(([outcome, text]) => el("label", {},
          el("input", { type: "radio", name: "outcome", value: outcome, checked: outcome === "skipped", onchange: relist }),
          el("span", {}, `${text} ${number(facts[`${outcome}_files`] ?? 0)}`)))),
      el("label", { class: "choice" }, el("span", {}, "Path contains"),
        el("input", { type: "text", id: "contains", autocomplete: "off", oninput: relist }))),
    el("div", { id: "files" }),
  ].filter(Boolean);
}

function cards(facts) {
  const [drift, size] = facts.drift.split(" (");
  const isComplete = facts.stage === "complete";
  const entries = [
    ["Documents", number(facts.documents), `${counted(facts.chunks, "passage")}${isComplete ? "" : ` (${facts.stage})`}`],
    ["Files", number(facts.indexed_files), `${number(facts.skipped_files)} skipped, ${number(facts.ignored_files)} ignored`],
    ["Updated", age(facts.updated_hours_ago), `${facts.size_mb} MB on disk`],
    ["Drift", drift.split(":")[0], size ? `${size.replace(")", "")} from the context` : isComplete ? "too few passages to measure" : "the index is not complete yet"],
    ["Context", facts.context.split(",")[0].replace("chunk", "passage"), `fingerprint ${facts.context_fingerprint.slice(0, 8)}`],
    facts.most_attended && ["Second stage", facts.second_stage.replace("chunk", "passage"),
      breakable(facts.most_attended.length ? `most attended: ${facts.most_attended.join(", ")}` : "")],
    facts.languages && ["Languages", facts.languages.split(",")[0], facts.unread ?? facts.languages.split(",").slice(1).join(",")],
    ["Model", facts.model.split("/").pop(), `fingerprint ${facts.model_fingerprint.slice(0, 8)}`],
  ];
  return el("dl", { class: "cards" }, entries.filter(Boolean).map(([term, value, note]) =>
    el("div", {}, el("dt", {}, term), el("dd", {}, value), el("dd", { class: "note" }, note))));
}

function age(hours) {
  if (hours < 0.1) return "just now";
  if (hours < 1) return `${Math.round(60 * hours)} min ago`;
  if (hours < 48) return `${Math.round(hours)} h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

async function startUpdate() {
  try {
    clearProblem();
    showRun(await post("updates", { index: state.index }));
    announce("The update has started.");
  } catch (error) {
    showProblem(error);
  }
}

function showRun(run) {
  clearTimeout(polling);
  const button = byId("update");
  if (!button || run.state === "never") return;
  const isRunning = run.state === "running";
  button.disabled = isRunning;
  const text = { running: "Updating …", done: "The update is done.", failed: "The update failed." }[run.state];
  byId("run").replaceChildren(el("div", { class: `run ${run.state}` },
    el("p", {}, el("b", {}, text), isRunning ? ` ${run.lines.at(-1) ?? ""}` : ""),
    isRunning ? el("div", { class: "progress" }) : null,
    run.state !== "running" && run.lines.length ? el("details", { open: run.state === "failed" },
      el("summary", {}, "Output"), el("pre", {}, run.lines.join("\n"))) : null));
  if (isRunning) polling = setTimeout(poll, POLL);
}

async function poll() {
  try {
    const run = await get("updates", { index: state.index });
    if (state.view !== "index") return;
    if (run.state === "running") {
      showRun(run);
      return;
    }
    await new Promise((resolve) => { setTimeout(resolve, SETTLE); });
    forgetIndexes();
    searchAgain();
    await show();
  } catch (error) {
    showProblem(error);
  }
}

const relist = () => list(document.querySelector("[name=outcome]:checked").value, 0);

async function list(outcome, offset) {
  listed += 1;
  const own = listed;
  const contains = byId("contains").value;
  try {
    const found = await get("files", { index: state.index, outcome, contains, offset, limit: PAGE });
    if (own !== listed || !byId("files")) return;
    byId("files").replaceChildren(...files(found, outcome, contains));
  } catch (error) {
    showProblem(error);
  }
}

function files(found, outcome, contains) {
  if (!found.total) return [el("p", { class: "note" }, contains ? "No path contains this text." : `No file was ${outcome}.`)];
  const heads = ["Path", outcome === "indexed" ? "Note" : "Reason", "Size"].map((text) => el("th", { scope: "col" }, text));
  const rows = found.files.map((file) => el("tr", {}, el("td", { class: "path" }, breakable(file.path)), el("td", {}, file.reason),
    el("td", { class: "number" }, file.size === null ? "" : `${number(Math.ceil(file.size / 1000))} kB`)));
  const last = found.offset + found.files.length;
  const step = (text, to, isThere) => isThere && el("button", { type: "button", onclick: () => list(outcome, to) }, text);
  return [
    el("p", { class: "note", role: "status" }, `${number(found.offset + 1)}–${number(last)} of ${counted(found.total, "file")}`),
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Files" },
      el("table", { class: "files" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))),
    el("div", { class: "actions" }, step("Previous", Math.max(0, found.offset - PAGE), found.offset > 0),
      step("Next", last, last < found.total)),
  ];
}
