// A plugin for Obsidian: search while typing, open a hit at its line, and a list of notes related to the open one.

import {
  FileSystemAdapter, ItemView, Notice, Plugin, PluginSettingTab, requestUrl, Setting, SuggestModal, type App,
  type WorkspaceLeaf,
} from "obsidian";

import { Client, describe, firstLine, settled, type Get, type Hit, type Server } from "../client.js";

const RELATED = "cdesearch-related";
const DEFAULTS: Server = { address: "http://127.0.0.1:7878", token: "" };

// `fetch` would send the origin of the app, which the server refuses because it is another site.
const requested: Get = async (url, headers) => {
  const { status, json } = await requestUrl({ url, headers, throw: false });
  return { status, body: json };
};

export default class SearchPlugin extends Plugin {
  server: Server = { ...DEFAULTS };
  readonly client = new Client(() => this.server, requested);

  async onload() {
    this.server = { ...DEFAULTS, ...(await this.loadData()) };
    this.addSettingTab(new Settings(this.app, this));
    this.registerView(RELATED, (leaf) => new RelatedNotes(leaf, this));
    this.addCommand({ id: "search", name: "Search by meaning", callback: () => new Search(this.app, this).open() });
    this.addCommand({ id: "related", name: "Show related notes", callback: () => this.showRelated() });
    this.addRibbonIcon("search", "Search by meaning", () => new Search(this.app, this).open());
  }

  /** The folder of the vault, with slashes. */
  get vault(): string {
    const { adapter } = this.app.vault;
    return adapter instanceof FileSystemAdapter ? adapter.getBasePath().replaceAll("\\", "/") : "";
  }

  async openHit(hit: Hit) {
    const file = await this.client.fileOf(hit);
    if (!file.startsWith(`${this.vault}/`)) {
      new Notice(`${file} is not in this vault.`);
      return;
    }
    const place = hit.line === null ? {} : { eState: { line: hit.line - 1 } };
    await this.app.workspace.openLinkText(file.slice(this.vault.length + 1), "", false, place);
  }

  private async showRelated() {
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(RELATED)[0] ?? workspace.getRightLeaf(false);
    await leaf?.setViewState({ type: RELATED, active: true });
    if (leaf) await workspace.revealLeaf(leaf);
  }
}

class Search extends SuggestModal<Hit> {
  private words = "";
  private found: Hit[] = [];

  constructor(app: App, private readonly plugin: SearchPlugin) {
    super(app);
    this.setPlaceholder("Words or a question");
    this.emptyStateText = "Nothing was found.";
  }

  private readonly find = settled(async (words: string) => {
    try {
      const hits = await this.plugin.client.search(words);
      if (words !== this.words) return; // the user has typed on
      this.found = hits;
    } catch (error) {
      new Notice((error as Error).message);
      return;
    }
    this.inputEl.dispatchEvent(new Event("input")); // asks for the suggestions again
  });

  getSuggestions(words: string): Hit[] {
    if (words !== this.words) {
      this.words = words;
      this.find(words);
    }
    return this.found;
  }

  renderSuggestion(hit: Hit, element: HTMLElement) {
    render(hit, element);
  }

  onChooseSuggestion(hit: Hit) {
    void this.plugin.openHit(hit);
  }
}

class RelatedNotes extends ItemView {
  icon = "search";
  private shown = "";

  constructor(leaf: WorkspaceLeaf, private readonly plugin: SearchPlugin) {
    super(leaf);
  }

  getViewType = () => RELATED;
  getDisplayText = () => "Related notes";

  async onOpen() {
    this.registerEvent(this.app.workspace.on("file-open", () => this.update()));
    await this.update();
  }

  private async update() {
    const note = this.app.workspace.getActiveFile();
    if (!note || note.path === this.shown) return;
    this.shown = note.path;
    let hits: Hit[] = [];
    let problem = "No other note is like this one.";
    try {
      hits = await this.plugin.client.related(`${this.plugin.vault}/${note.path}`);
    } catch (error) {
      problem = (error as Error).message;
    }
    if (note.path !== this.shown) return; // another note has been opened meanwhile
    this.contentEl.empty();
    if (!hits.length) this.contentEl.createEl("p", { text: problem });
    for (const hit of hits) {
      const item = this.contentEl.createDiv({ cls: "tree-item-self is-clickable" }).createDiv();
      render(hit, item);
      item.addEventListener("click", () => void this.plugin.openHit(hit));
    }
  }
}

/** Shows a hit. Its text is never taken for markup. */
function render(hit: Hit, element: HTMLElement) {
  element.createEl("div", { text: hit.path.replace(/\.md$/, "") });
  element.createEl("small", { text: [describe(hit), firstLine(hit)].filter(Boolean).join(" – ") });
}

class Settings extends PluginSettingTab {
  constructor(app: App, private readonly plugin: SearchPlugin) {
    super(app, plugin);
  }

  display() {
    this.containerEl.empty();
    this.field("address", "Address", "The address of the server, as `cdesearch serve` prints it.");
    this.field("token", "Token", "The token of the server, if it was started with --token.");
  }

  private field(key: keyof Server, name: string, description: string) {
    new Setting(this.containerEl).setName(name).setDesc(description).addText((text) => text
      .setValue(this.plugin.server[key])
      .onChange(async (value) => {
        this.plugin.server[key] = value;
        await this.plugin.saveData(this.plugin.server);
      }));
  }
}
