// Send requests to the HTTP API. Errors are problem details, and a request is repeated if the server is busy.

const BASE = "/api/v1/";
const TRIES = 4;
const TOKEN = "cdesearch-token"; // in the storage of this tab, which no other server can read

export class Problem extends Error {
  constructor(status, detail, remedy) {
    super(detail);
    this.status = status;
    this.remedy = remedy;
  }
}

/** Stores the token at the end of the page's address (`/#token=...`) for this tab, and removes it from the address. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null || !/^[\x21-\x7e]+$/.test(token)) return; // nothing else can be in a header
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(history.state, "", location.pathname + location.search);
}

export const get = (path, parameters, signal) => request("GET", path, parameters, signal);
export const post = (path, parameters) => request("POST", path, parameters);

/** Loads a picture into an image, as a request by the image itself would have no token. Returns the headers. */
export async function loadPicture(image, path, parameters) {
  const response = await responseOf("GET", path, parameters);
  image.src = URL.createObjectURL(await response.blob());
  await image.decode().finally(() => URL.revokeObjectURL(image.src));
  return response.headers;
}

/** Yields the name and the value of each server-sent event of a response. */
export async function* events(path, parameters, signal) {
  const { body } = await responseOf("GET", path, parameters, signal);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const complete = (text + piece.value).split("\n\n");
    text = complete.pop();
    for (const event of complete) {
      const [, name, value] = /^event: (.*)\ndata: (.*)$/.exec(event);
      yield [name, JSON.parse(value)];
    }
  }
}

const request = async (...asked) => (await responseOf(...asked)).json();

async function responseOf(method, path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== null && value !== undefined) query.append(name, value);
  }
  const address = `${BASE}${path}${query.size ? `?${query}` : ""}`;
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetchOnce(address, method, signal);
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (response.status !== 429 || attempt === TRIES) throw problem;
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    await pause(1000 * Math.min(seconds, 5) * attempt * (0.75 + Math.random() / 2), signal);
  }
}

async function fetchOnce(address, method, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { Accept: "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  try {
    return await fetch(address, { method, signal, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer.", "Start it with `cdesearch serve`, and then reload this page.");
  }
}

async function problemOf(response) {
  try {
    const { detail, title, remedy } = await response.json();
    return new Problem(response.status, detail ?? title, remedy ?? "");
  } catch {
    return new Problem(response.status, `The server responded with status ${response.status}.`, "Reload this page.");
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Aborted", "AbortError"));
    });
  });
}
