// An extension for VS Code: search while typing, open a hit at its line, and list passages related to those at the cursor.

import * as vscode from "vscode";

import { Client, describe, firstLine, settled, type Hit } from "../client.js";

const AROUND = 15; // lines above and below the cursor, for related passages

interface Item extends vscode.QuickPickItem {
  hit: Hit;
}

function server() {
  const settings = vscode.workspace.getConfiguration("cdesearch");
  return { address: settings.get("address", ""), token: settings.get("token", "") };
}

export function activate(context: vscode.ExtensionContext) {
  const client = new Client(server);
  context.subscriptions.push(
    vscode.commands.registerCommand("cdesearch.search", () => search(client)),
    vscode.commands.registerCommand("cdesearch.related", () => related(client)),
  );
}

/** Shows a list that follows what the user types. The selected text is searched first. */
function search(client: Client) {
  const list = opened(client, "Words or a question");
  let typed = 0;
  const find = async (words: string) => {
    const own = ++typed;
    list.busy = true;
    const items = await shown(() => client.search(words));
    if (own !== typed) return; // the user has typed on
    list.items = items;
    list.busy = false;
  };
  list.onDidChangeValue(settled(find));
  const editor = vscode.window.activeTextEditor;
  list.value = editor && editor.selection.isSingleLine ? editor.document.getText(editor.selection) : "";
  if (list.value) void find(list.value);
}

async function related(client: Client) {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  const first = Math.max(0, editor.selection.start.line - AROUND);
  const last = Math.min(editor.document.lineCount - 1, editor.selection.end.line + AROUND);
  const list = opened(client, "Related passages");
  list.busy = true;
  list.items = await shown(() => client.related(editor.document.uri.fsPath, `${first + 1}-${last + 1}`));
  list.busy = false;
}

function opened(client: Client, placeholder: string): vscode.QuickPick<Item> {
  const list = vscode.window.createQuickPick<Item>();
  list.placeholder = placeholder;
  list.onDidAccept(async () => {
    const [item] = list.selectedItems;
    list.hide();
    if (item) await open(client, item.hit);
  });
  list.onDidHide(() => list.dispose());
  list.show();
  return list;
}

/** Resolves to the items of hits. Of an error, the user sees the message. */
async function shown(find: () => Promise<Hit[]>): Promise<Item[]> {
  try {
    return (await find()).map((hit) => ({
      label: hit.line === null ? hit.path : `${hit.path}:${hit.line}`,
      description: describe(hit),
      detail: firstLine(hit),
      alwaysShow: true, // VS Code would hide hits without the words of the query
      hit,
    }));
  } catch (error) {
    void vscode.window.showErrorMessage((error as Error).message);
    return [];
  }
}

/** Opens text at the line of the hit, and other formats such as PDF with the program of the system. */
async function open(client: Client, hit: Hit) {
  const file = vscode.Uri.file(await client.fileOf(hit));
  if (hit.line === null) {
    await vscode.env.openExternal(file);
    return;
  }
  const place = new vscode.Position(hit.line - 1, 0);
  await vscode.window.showTextDocument(file, { selection: new vscode.Range(place, place) });
}
