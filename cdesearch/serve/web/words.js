// Find the words of a query in a text, to mark them and to crop long lines.

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const STEM = 4; // the minimum number of letters that two forms of a word share; the same rule is in word_forms.py
const ADVERB = /..(?:out|up|off)s?$/; // the second part of a noun: "time" is no form of "timeout"
const MAX_LINE = 260; // characters
const MIN_FULL = 40; // characters of a line that fills a column
const IGNORED = new Set( // these words are too common to be marked, and full text ignores nearly all of them
  ("a about after again all am an and any are as at be because been before being between both but by can could did do"
    + " does doing for from had has have having he her here him his how i if in into is it its just me more most my no"
    + " nor not of on once only or other our out over own same she should so some such than that the their them then"
    + " there these they this those through to too under until up very was we were what when where which while who whom"
    + " why will with would you your").split(" "),
);

const folded = (word) => word.normalize("NFD").replace(/(?![\u0900-\u093b\u093d-\u0dff])\p{M}/gu, "").toLowerCase();

// Scripts without spaces between words: a word is found by its pieces, as in word_forms.py.
const PAIRS = /[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]+/gu;
const FOURS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+/gu;
const UNSPACED = new RegExp(`${PAIRS.source}|${FOURS.source}`, "gu");
const HIRAGANA = /^[\u3040-\u309f]+$/u;
// Quoted phrases, and the operators of query_syntax.py.
const OPERATOR = /"[^"\n]+"|“[^”\n]+”|(?<![^ \t])(?:-?(?:path|type):|-(?=\p{L}\S|["“]))(?:"[^"\n]+"|“[^”\n]+”|[^\s":]\S*)/gu;
const ARTICLE = /^[وفبك]?ال(?=\p{L}{2})/u; // of Arabic, written together with the noun

function piecesOf(query) {
  const found = [];
  for (const [pattern, most] of [[PAIRS, 2], [FOURS, 4]]) {
    for (const [run] of query.toLowerCase().matchAll(pattern)) {
      const letters = [...run];
      const size = Math.min(letters.length, most);
      for (let at = 0; at + size <= letters.length; at += 1) found.push(letters.slice(at, at + size).join(""));
    }
  }
  const others = found.filter((piece) => !HIRAGANA.test(piece));
  return others.length ? others : found;
}

const isPiece = (word) => word.replace(UNSPACED, "") === "";

/** Returns the start and end of each part of a text that is a form of one of the words. */
export function spansOf(text, words) {
  const spans = [];
  const blank = text.replace(UNSPACED, (run) => " ".repeat(run.length));
  for (const match of blank.matchAll(WORD)) {
    const token = folded(match[0]);
    if (words.some((word) => isFormOf(token, word))) spans.push([match.index, match.index + match[0].length]);
  }
  const lowered = text.toLowerCase();
  if (lowered.length !== text.length) return spans;
  for (const piece of words.filter(isPiece)) {
    for (let at = lowered.indexOf(piece); at >= 0; at = lowered.indexOf(piece, at + 1)) spans.push([at, at + piece.length]);
  }
  spans.sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [start, end] of spans) {
    const last = joined.at(-1);
    if (last && start < last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

export const isPhrase = (operator) => /^["“]/.test(operator);

/** Returns the quoted phrases of a query, and the operators that exclude passages or restrict the files. */
export const operatorsOf = (query) => query.match(OPERATOR) ?? [];

/** Returns the query's words without accents and in lower case, which is how they are compared. */
export function wordsOf(typed) {
  const query = typed.replace(OPERATOR, (found) => (isPhrase(found) ? found : " "));
  const spaced = query.replace(UNSPACED, " ");
  const words = (spaced.match(WORD) ?? []).map(folded).filter((word) => !IGNORED.has(word));
  return [...new Set([...words, ...piecesOf(query)])];
}

function isFormOf(full, asked) {
  const token = full.replace(ARTICLE, "");
  const word = asked.replace(ARTICLE, "");
  if (word.length < STEM) return token === word || (word.length === STEM - 1 && token === `${word}s`);
  if (ADVERB.test(word)) return token.startsWith(word.replace(/s$/, ""));
  // A word with a digit has no other forms.
  return token.startsWith(/\d/.test(word) ? word : word.slice(0, Math.max(STEM, word.length - 3)));
}

/** Returns `text` as nodes, with a `mark` element around every form of one of the words. */
export function marked(text, words) {
  if (!words.length) return [text];
  const nodes = [];
  let end = 0;
  for (const [start, stop] of spansOf(text, words)) {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, stop);
    nodes.push(text.slice(end, start), mark);
    end = stop;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/** Returns the lines of a passage without their common indentation, and without the far ends of long lines. */
export function excerpt(text, words) {
  const lines = text.split("\n");
  const indent = Math.min(...lines.map((line) => line.length - line.trimStart().length));
  return lines.map((line) => cropped(line.slice(indent), words)).join("\n");
}

/** Shortens a long line, so that it begins shortly before its first word of the query. */
function cropped(line, words) {
  if (line.length <= MAX_LINE) return line;
  const [match] = spansOf(line, words);
  const first = Math.max(0, Math.min((match?.[0] ?? 0) - 80, line.length - MAX_LINE));
  const start = first && line.indexOf(" ", first) + 1 || first;
  return `${first ? "… " : ""}${line.slice(start, start + MAX_LINE)}${start + MAX_LINE < line.length ? " …" : ""}`;
}

/** Returns a line that is shown only in part without its start, if that is far before its first word of the query. */
export function fromMatch(line, words) {
  const [match] = spansOf(line, words);
  const start = line.lastIndexOf(" ", (match?.[0] ?? 0) - 8) + 1;
  return start < 24 ? line : `… ${line.slice(start)}`;
}

/** Returns a text of the file at `path`, for a PDF with joined lines: a full line of `whole` goes on in the next one. */
export function joined(path, text, whole) {
  if (!/\.pdf$/i.test(path)) return text;
  const longest = Math.max(MIN_FULL, ...whole.split("\n").map(({ length }) => length));
  return text.replace(/^([^\t\n]+)\n(?!.*\t|[^\S\n]*(?:[•▪◦*–-]|\d+[.)])\s|[^\S\n]*$)/gm, (found, line) => (
    line.length > longest * (/[.:;!?]$/.test(line) ? 0.9 : 0.7) ? `${line} ` : found));
}
