// The map of the corpus: its passages by folder, the passages of the context, the hits of the query, and the drift.

import { get } from "./api.js";
import { announce, byId, counted, el, number } from "./dom.js";
import { MapCanvas } from "./map_canvas.js";
import { showProblem } from "./problem.js";
import { go, href, inPage, onChange, oneIndex, searched, state } from "./route.js";
import { icon } from "./shapes.js";

const OTHERS = "all other folders";
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

let map = null; // the canvas and the points of the map that is shown
let asked = ""; // a key for the search whose hits are shown or requested
let sequence = 0; // the number of the latest request; responses to earlier requests are ignored

export function startMap() {
  onChange(update);
  addEventListener("resize", () => map?.canvas.draw());
  document.addEventListener("themechange", () => map?.canvas.draw());
  update();
}

/** Discards the map. Call it after an update of the index. */
export function forgetMap() {
  map = null;
  asked = "";
  update();
}

async function update() {
  if (state.view !== "map") return;
  const key = JSON.stringify(searched());
  if (key === asked) {
    map?.canvas.draw();
    return;
  }
  asked = key;
  sequence += 1;
  const own = sequence;
  const needsPoints = map?.index !== oneIndex();
  if (needsPoints) {
    map = null;
    byId("view-map").replaceChildren(el("p", { class: "note" }, "Loading the map …"));
  }
  try {
    const query = { ...(state.q.trim() ? searched() : {}), index: oneIndex() };
    const found = await get("map", { ...query, points: needsPoints });
    if (own !== sequence) return;
    if (needsPoints) build(found);
    showHits(found.hits);
  } catch (error) {
    if (own !== sequence) return;
    asked = "";
    showProblem(error);
  }
}

function build(found) {
  const columns = found.points;
  const points = columns.x.map((x, i) => ({
    x, y: columns.y[i], folder: columns.folder[i], isContext: columns.is_context[i], chunk: columns.chunk[i],
    document: columns.document[i], location: columns.location[i], heading: columns.heading[i],
  }));
  const canvas = el("canvas", {
    id: "map", tabindex: "0", role: "application", "aria-label": "Map of the passages", "aria-describedby": "map-about",
  });
  map = { index: oneIndex(), canvas: new MapCanvas(canvas), points, folders: found.folders };
  map.canvas.setPoints(points, found.drift);
  byId("view-map").replaceChildren(
    el("p", { id: "map-about", class: "about" }, about(found)),
    el("div", { class: "map-box" }, canvas, el("div", { id: "map-label", class: "label", hidden: true })),
    legend(found),
    el("p", { id: "map-hits", class: "note" }),
    el("details", { id: "map-table" }, el("summary", {}, "The map as a table")),
  );
  listen(canvas);
}

function about(found) {
  const share = Math.round(100 * (found.explained[0] + found.explained[1]));
  const which = found.shown < found.chunks ? `${number(found.shown)} of ${number(found.chunks)}` : `all ${number(found.shown)}`;
  return `The map shows ${which} passages as points. Passages with a similar meaning are close to each other. The two`
    + ` principal components explain ${share}% of the variance. To see the name of a passage, point at it or use the`
    + " arrow keys. Press Enter to open it.";
}

const nameOf = (folder) => (folder.name === null ? OTHERS : folder.name || "(top folder)");

function legend(found) {
  const buttons = found.folders.map((folder, i) => {
    const button = el("button", { type: "button", "aria-pressed": "false", class: "group" }, icon(i),
      `${nameOf(folder)} `, el("span", { class: "count" }, number(folder.points)));
    button.addEventListener("click", () => {
      const isOn = map.canvas.folder !== i;
      map.canvas.folder = isOn ? i : null;
      for (const other of button.parentNode.children) other.setAttribute("aria-pressed", String(isOn && other === button));
      map.canvas.draw();
    });
    return button;
  });
  const { drift } = found;
  const moved = drift.standard_errors === null ? "too few passages to measure" : drift.text;
  return el("div", { class: "legend" },
    el("div", { class: "groups", role: "group", "aria-label": "Folders. Press a button to emphasise one." }, buttons),
    el("ul", { class: "marks" },
      el("li", {}, el("span", { class: "mark ring", "aria-hidden": "true" }), `Rings are the ${counted(found.context, "passage")} of the context.`),
      el("li", {}, el("span", { class: "mark disc", "aria-hidden": "true" }, "1"), "Numbers are hits of the query."),
      el("li", {}, el("span", { class: "mark cross", "aria-hidden": "true" }, "+"), el("span", {}, "The cross and the square are the means of the context and the corpus. Drift: ", el("b", {}, moved)))));
}

function showHits(hits) {
  const { canvas, points } = map;
  const byChunk = new Map(points.map((point) => [point.chunk, point]));
  canvas.hits = hits.map((hit) => ({ folder: null, heading: "", isContext: false, ...byChunk.get(hit.chunk), ...hit }));
  canvas.chosen = null;
  name(null);
  canvas.draw();
  byId("map-hits").textContent = state.q.trim()
    ? `${counted(hits.length, "hit")} of “${state.q.trim()}” on the map.`
    : "Type a query to see its hits on the map.";
  byId("map-table").replaceChildren(el("summary", {}, "The map as a table"), ...tables(hits));
}

function tables(hits) {
  const rows = map.folders.map((folder, i) => {
    const own = map.points.filter((point) => point.folder === i);
    return el("tr", {}, el("th", { scope: "row" }, nameOf(folder)), el("td", {}, number(own.length)),
      el("td", {}, number(own.filter((point) => point.isContext).length)),
      el("td", {}, number(map.canvas.hits.filter((hit) => hit.folder === i).length)));
  });
  const heads = ["Folder", "Passages shown", "In the context", "Hits"].map((text) => el("th", { scope: "col" }, text));
  const list = hits.map((hit) => {
    const target = { view: "document", document: hit.document, chunk: hit.chunk };
    const near = nearest(hit).map((point) => point.location).join(", ");
    return el("li", {}, el("a", { href: href(target), onclick: inPage(target) }, hit.location), near && ` near ${near}`);
  });
  return [
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Folders of the map" },
      el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))),
    list.length ? el("ol", {}, list) : null,
  ].filter(Boolean);
}

/** Returns the two passages of other documents that are nearest to a hit on the map. */
function nearest(hit) {
  return map.points.filter((point) => point.document !== hit.document)
    .map((point) => [Math.hypot(point.x - hit.x, point.y - hit.y), point])
    .sort(([a], [b]) => a - b).slice(0, 2).map(([, point]) => point);
}

function listen(element) {
  element.addEventListener("pointermove", (event) => choose(map.canvas.at(event.clientX, event.clientY)));
  element.addEventListener("pointerleave", () => choose(null));
  element.addEventListener("click", (event) => open(map.canvas.at(event.clientX, event.clientY)));
  element.addEventListener("keydown", (event) => {
    const direction = ARROWS[event.key];
    if (direction) {
      event.preventDefault();
      event.stopPropagation();
      const next = map.canvas.beside(direction);
      if (next) choose(next, { isSpoken: true });
    } else if (event.key === "Enter") {
      open(map.canvas.chosen);
    }
  });
}

function open(point) {
  if (point) go({ view: "document", document: point.document, chunk: point.chunk });
}

function choose(point, { isSpoken = false } = {}) {
  if (!map || point === map.canvas.chosen) return;
  map.canvas.chosen = point;
  map.canvas.canvas.classList.toggle("pointing", point !== null);
  map.canvas.draw();
  name(point);
  if (point && isSpoken) announce(describe(point).join(", "));
}

const describe = (point) => [
  point.rank && `Hit ${point.rank}`, point.location, point.heading, point.isContext && "in the context",
].filter(Boolean);

function name(point) {
  const label = byId("map-label");
  label.hidden = point === null;
  if (point === null) return;
  const [first, ...others] = describe(point);
  label.replaceChildren(el("b", {}, first), ...others.map((text) => el("span", {}, text)));
  const [x, y] = map.canvas.place(point);
  const box = map.canvas.canvas.getBoundingClientRect();
  label.style.left = `${Math.max(8, Math.min(x + 14, box.width - label.offsetWidth - 8))}px`;
  label.style.top = y > box.height / 2 ? `${y - label.offsetHeight - 14}px` : `${y + 14}px`;
}
