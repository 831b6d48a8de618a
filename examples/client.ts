// Ask a running `cdesearch serve`. Nothing here depends on an editor, and each editor brings its own way to send requests.

export interface Hit {
  path: string; // relative to the folder of the index
  index?: string; // its name, in a search of several indexes
  line: number | null; // from 1; null for formats without lines
  headings: string[];
  date?: string | null; // such as "2026-01-31"
  confidence: number | null; // the probability that the passage is relevant; null for related passages
  passage: { text: string };
}

export interface Index {
  name: string;
  root: string; // the folder to which paths are relative
}

export interface Server {
  address: string; // such as "http://127.0.0.1:7878"
  token: string; // empty without one
}

/** Sends a GET request, and resolves to the status and the parsed JSON. Rejects if the server cannot be reached. */
export type Get = (address: string, headers: Record<string, string>) => Promise<{ status: number; body: unknown }>;

/** Sends the requests of a program that has `fetch`. */
export const fetched: Get = async (address, headers) => {
  const response = await fetch(address, { headers });
  return { status: response.status, body: await response.json() };
};

export class Client {
  private indexes: Promise<Index[]> | null = null;

  /** `server` is called for each request, so that changes of settings count at once. */
  constructor(private readonly server: () => Server, private readonly get: Get = fetched) {}

  /** Resolves to the best hits for words or a question, best first. */
  async search(words: string): Promise<Hit[]> {
    return words.trim() ? this.hits("search", { q: words, facets: "true" }) : [];
  }

  /** Resolves to passages of other files that are like a file, or like some of its lines, such as "10-20". */
  async related(file: string, lines = ""): Promise<Hit[]> {
    const { index, path } = await this.indexed(file);
    const hits = await this.hits("related", { path: lines ? `${path}:${lines}` : path, index: index.name });
    return hits.map((hit) => ({ ...hit, index: index.name }));
  }

  /** Resolves to the absolute path of the file of a hit, with slashes. */
  async fileOf(hit: Hit): Promise<string> {
    const indexes = await this.all();
    const { root } = indexes.find(({ name }) => name === hit.index) ?? indexes[0];
    return `${slashed(root)}/${hit.path}`;
  }

  private async indexed(file: string): Promise<{ index: Index; path: string }> {
    const indexes = await this.all();
    const holders = indexes.filter(({ root }) => slashed(file).startsWith(`${slashed(root)}/`));
    if (!holders.length) throw new Error(`${file} is in no index of the server.`);
    const index = holders.reduce((one, other) => (other.root.length > one.root.length ? other : one));
    return { index, path: slashed(file).slice(slashed(index.root).length + 1) };
  }

  private all(): Promise<Index[]> {
    if (!this.indexes) {
      this.indexes = this.ask("indexes", {}).then(({ indexes }) => indexes as Index[]);
      this.indexes.catch(() => { this.indexes = null; });
    }
    return this.indexes;
  }

  private async hits(path: string, parameters: Record<string, string>): Promise<Hit[]> {
    return (await this.ask(path, parameters)).hits as Hit[];
  }

  private async ask(path: string, parameters: Record<string, string>): Promise<Record<string, unknown>> {
    const { address, token } = this.server();
    const url = `${address.replace(/\/+$/, "")}/api/v1/${path}?${new URLSearchParams(parameters)}`;
    let answer;
    try {
      answer = await this.get(url, token ? { Authorization: `Bearer ${token}` } : {});
    } catch {
      throw new Error(`No server answers at ${address}. Run \`cdesearch serve FOLDER\`, or change the address.`);
    }
    const body = answer.body as Record<string, unknown>;
    if (answer.status !== 200) throw new Error([body.detail, body.remedy].filter(Boolean).join(" "));
    return body;
  }
}

const slashed = (path: string) => path.replaceAll("\\", "/").replace(/\/$/, "");

/** Returns what a list shows of a hit: its headings, date and confidence. */
export function describe({ headings, date, confidence }: Hit): string {
  const percent = confidence === null ? null : `${Math.min(99, Math.max(1, Math.round(100 * confidence)))}%`;
  return [headings.join(" › "), date, percent].filter(Boolean).join(" · ");
}

/** Returns the first line of the passage with text. */
export const firstLine = ({ passage }: Hit) => passage.text.split("\n").find((line) => line.trim())?.trim() ?? "";

/** Returns a function that calls `later` once no further call has followed for a time, in milliseconds. */
export function settled<Value>(later: (value: Value) => void, milliseconds = 150): (value: Value) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (value) => {
    clearTimeout(timer);
    timer = setTimeout(() => later(value), milliseconds);
  };
}
