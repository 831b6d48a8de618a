// The client asks a real server. The command is $CDESEARCH or `cdesearch`.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client, describe, firstLine } from "./dist/client.mjs";

const COMMAND = process.env.CDESEARCH ?? "cdesearch";
const TOKEN = "a-token-of-sixteen-or-more";
const NOTES = {
  "garden/roses.md": "---\ndate: 2026-01-31\n---\n# Roses\n\nPrune roses in late winter.\n\nCut above a bud.\n",
  "garden/hedges.md": "# Hedges\n\nPrune hedges in late summer, with sharp shears.\n",
  "kitchen/bread.md": "# Bread\n\nKnead the dough, and bake it for forty minutes.\n",
};

let folder;
let server;
let address;
const client = new Client(() => ({ address, token: TOKEN }));

before(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "client-")));
  const environment = { ...process.env, HOME: join(folder, "home"), XDG_RUNTIME_DIR: join(folder, "run") };
  for (const [name, text] of Object.entries(NOTES)) {
    mkdirSync(join(folder, "notes", name, ".."), { recursive: true });
    writeFileSync(join(folder, "notes", name), text);
  }
  mkdirSync(environment.XDG_RUNTIME_DIR, { mode: 0o700 });
  const options = { cwd: join(folder, "notes"), env: environment };
  const built = spawnSync(COMMAND, ["index", "."], options);
  assert.equal(built.status, 0, String(built.stderr));
  server = spawn(COMMAND, ["serve", "--port", "0", "--token", TOKEN, "--no-watch"], options);
  address = await new Promise((resolve, reject) => {
    let said = "";
    server.on("exit", () => reject(new Error(said)));
    server.stderr.on("data", (text) => {
      said += text;
      const found = / at (http:\S+)\. /.exec(said);
      if (found) resolve(found[1]);
    });
  });
});

after(async () => {
  if (server?.exitCode === null) {
    server.kill();
    await new Promise((resolve) => { server.on("exit", resolve); });
  }
  rmSync(folder, { recursive: true });
});

test("a hit has its place, its date and its text", async () => {
  const [hit] = await client.search("when are roses cut");
  assert.equal(hit.path, "garden/roses.md");
  assert.ok(NOTES[hit.path].split("\n")[hit.line - 1].length, "the line has text");
  assert.equal(await client.fileOf(hit), `${folder.replaceAll("\\", "/")}/notes/garden/roses.md`);
  assert.match(describe(hit), /^Roses · 2026-01-31 · \d+%$/);
  assert.match(firstLine(hit), /roses/i);
  assert.deepEqual(await client.search("  "), []);
});

test("passages of other files are related to a file or to some of its lines", async () => {
  for (const lines of ["", "1-3"]) {
    const [hit, ...others] = await client.related(join(folder, "notes", "garden", "hedges.md"), lines);
    assert.equal(hit.path, "garden/roses.md");
    assert.ok(others.every(({ path }) => path !== "garden/hedges.md"));
    assert.equal(await client.fileOf(hit), `${folder.replaceAll("\\", "/")}/notes/garden/roses.md`);
  }
});

test("what goes wrong is said in one message", async () => {
  await assert.rejects(client.related("/elsewhere/a.md"), /is in no index of the server/);
  await assert.rejects(client.related(join(folder, "notes", "missing.md")), /missing.md is not an indexed document/);
  await assert.rejects(new Client(() => ({ address, token: "" })).search("roses"), /no valid token/);
  const nowhere = new Client(() => ({ address: "http://127.0.0.1:9", token: "" }));
  await assert.rejects(nowhere.search("roses"), /No server answers .* Run `cdesearch serve FOLDER`/);
});
