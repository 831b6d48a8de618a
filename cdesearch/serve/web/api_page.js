// The page /api, which lists every request that openapi.json describes.

import { get, takeToken } from "./api.js";
import { byId, el, withCode } from "./dom.js";
import { showProblem } from "./problem.js";

takeToken();
try {
  const { paths } = await get("openapi.json");
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => request(path, method, described)));
  byId("requests").replaceChildren(...requests);
} catch (error) {
  showProblem(error);
}

function request(path, method, described) {
  const parameters = described.parameters ?? [];
  return el("section", { class: "request" },
    el("h2", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), " ", el("code", {}, path)),
    el("p", {}, withCode(described.description ?? described.summary)),
    parameters.length ? el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Parameters of ${path}` },
      el("table", {},
        el("thead", {}, el("tr", {}, ["Parameter", "Type", "Default", "Description"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, parameters.map(parameter)))) : null,
    method === "get" && !path.includes("{") ? el("pre", {}, example(path, parameters)) : null);
}

function parameter({ name, schema, required, description }) {
  return el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)), el("td", {}, typeOf(schema)),
    el("td", {}, required ? "required" : shown(schema.default)), el("td", {}, withCode(description ?? schema.description ?? "")));
}

function typeOf(schema) {
  if (schema.enum) return schema.enum.join(", ");
  if (schema.anyOf) return schema.anyOf.filter((one) => one.type !== "null").map(typeOf).join(" or ");
  if (schema.type === "array") return `${typeOf(schema.items)}, repeatable`;
  const range = [schema.minimum, schema.maximum].some((limit) => limit !== undefined)
    ? ` ${schema.minimum ?? ""}–${schema.maximum ?? ""}` : "";
  return `${schema.type ?? ""}${range}`;
}

function shown(value) {
  return value === undefined || value === null ? "" : String(value) || "empty";
}

function example(path, parameters) {
  const query = parameters.filter((one) => one.required).map((one) => `${one.name}=WORDS`).join("&");
  return `curl '${location.origin}${path}${query && `?${query}`}'`;
}
