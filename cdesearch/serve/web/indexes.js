// The indexes of the server, with their folders and sizes. They are requested once.

import { get } from "./api.js";

let known = null;

/** Returns a promise of all indexes. */
export function allIndexes() {
  if (!known) {
    known = get("indexes").then(({ indexes }) => indexes);
    known.catch(forgetIndexes);
  }
  return known;
}

/** Discards the stored response. Call it after an update of an index. */
export function forgetIndexes() {
  known = null;
}

/** Returns the folder to which the paths of an index are relative. The name is empty if there is only one index. */
export const rootOf = (indexes, name) => (indexes.find((one) => one.name === name) ?? indexes[0]).root;
