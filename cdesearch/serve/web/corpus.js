// What there is to search in: indexes, folders and types. Each index is asked for once.

import { get } from "./api.js";

const known = new Map();

/** The facts of an index; "" names the first one. */
export function corpusOf(index) {
  if (!known.has(index)) {
    const asked = get("facets", { index });
    asked.catch(() => known.delete(index));
    known.set(index, asked);
  }
  return known.get(index);
}

/** Forgets all facts, after an update. */
export const forgetCorpora = () => known.clear();
