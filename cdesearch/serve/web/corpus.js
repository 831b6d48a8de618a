// The indexes, folders and file types that can be searched. They are requested once for each index.

import { get } from "./api.js";

const known = new Map();

/** Returns a promise of the folders, types and sizes of an index. The name "" stands for all indexes. */
export function corpusOf(index) {
  if (!known.has(index)) {
    const asked = get("facets", { index });
    asked.catch(() => known.delete(index));
    known.set(index, asked);
  }
  return known.get(index);
}

/** Discards the stored responses. Call it after an update of an index. */
export const forgetCorpora = () => known.clear();
