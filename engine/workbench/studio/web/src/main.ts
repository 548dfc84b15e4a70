/** The page of the studio and of the playground. */
import { CallError, playground, studio, type Call } from "./api.ts";
import { append, byID, counted, debounced, fill, h, icon } from "./dom.ts";
import { Editor } from "./editor.ts";
import * as items from "./items.ts";
import * as pages from "./pages.ts";
import * as rules from "./rules.ts";
import * as stress from "./stress.ts";
import { choose, confirm, dropZone, toast, themeSwitch, divider } from "./shell.ts";
import * as tests from "./tests.ts";
import { Tabs } from "./tabs.ts";
import type { CaseInfo, Cell, Completion, Diagnostic, Explained, Hover, ItemsView, Opened, PageDetail, RecordingInfo, RunView, StressReport, StressRow, TestReport } from "./types.ts";

const editDelay = 120; // milliseconds without a key until the recorded pages are replayed

interface Problem { message: string; hint?: string }

/** problemOf returns the error of a call. Other errors are mistakes of this page. */
function problemOf(error: unknown): Problem {
  if (error instanceof CallError) return { message: error.message, hint: error.hint };
  throw error;
}

class Studio {
  private readonly editor: Editor;
  private readonly tabs: Tabs;
  private name = "";
  private savedText = "";
  private playing = ""; // built-in case whose API answers
  private recording: RecordingInfo | null = null;
  private run: RunView | null = null;
  private baseline: RunView | null = null;
  private runProblem: Problem | null = null;
  private compiles = true;
  private selected = ""; // key of a page
  private detail: PageDetail | null = null;
  private details = new Map<string, PageDetail>();
  private left: pages.LeftDetail | null = null; // the recorded page that is shown instead
  private explained: Explained | null = null;
  private itemsView: ItemsView | null = null;
  private itemsJob = "";
  private testReport: TestReport | null = null;
  private testProblem: Problem | null = null;
  private stressReport: StressReport | null = null;
  private stressText = "";
  private stressProblem: Problem | null = null;
  private stressBusy = false;
  private stressShown: StressRow["verdict"] | "" = "";
  private running: AbortController | null = null;
  private edits = 0; // counts the texts, so that an answer about an earlier one is dropped
  private readonly maxPages: HTMLInputElement;

  constructor(private readonly call: Call, private readonly opened: Opened) {
    this.maxPages = h("input", { class: "field", type: "number", min: "1", max: "1000", value: "10", id: "maxPages", "aria-label": "Pages to request at most" });
    const later = debounced(() => void this.textChanged(), editDelay);
    this.editor = new Editor(byID("editor"), {
      changed: () => {
        this.showFile();
        later();
      },
      save: () => void this.save(),
      run: () => void this.live(),
      complete: (at) => this.call<Completion[]>("completion", this.about({ at })).then((all) => all ?? [], () => []),
      hover: (at) => this.call<Hover | null>("hover", this.about({ at })).catch(() => null),
    });
    this.tabs = new Tabs(byID("tabs"), byID("panel"), [
      { id: "pages", title: "Pages", render: (to) => this.renderPages(to) },
      { id: "rules", title: "Rules", render: (to) => void this.renderRules(to) },
      { id: "stress", title: "Stress", render: (to) => this.renderStress(to) },
      { id: "tests", title: "Tests", render: (to) => this.renderTests(to) },
      { id: "items", title: "Items", render: (to) => void this.renderItems(to) },
    ]);
    byID("face").textContent = opened.playground ? "playground" : "studio";
    this.show(opened);
    this.actions();
    dropZone((file) => void this.drop(file));
    window.addEventListener("beforeunload", (e) => {
      if (this.unsaved && !this.opened.playground) e.preventDefault();
    });
    document.addEventListener("keydown", (e) => {
      if (e.defaultPrevented || !(e.ctrlKey || e.metaKey)) return;
      if (e.key === "s") void this.save();
      else if (e.key === "Enter") void this.live();
      else return;
      e.preventDefault();
    });
  }

  private about(more: object = {}): object {
    return { name: this.name, text: this.editor.text, recording: this.recording?.id ?? "", case: this.playing, ...more };
  }

  /** canRun reports whether a run can ask an API. */
  private get canRun(): boolean {
    return this.opened.live || this.playing !== "";
  }

  private get unsaved(): boolean {
    return this.editor.text !== this.savedText;
  }

  /** show shows a configuration that was opened. */
  private show(opened: Opened): void {
    this.name = opened.name;
    this.savedText = opened.text;
    this.recording = opened.recording ?? null;
    this.playing = opened.case ?? "";
    this.run = this.baseline = this.detail = this.stressReport = null;
    this.selected = "";
    this.left = null;
    this.editor.open(opened.text, opened.name);
    this.showFile();
    this.showSource();
    if (opened.notice) toast(opened.notice);
    void this.textChanged();
  }

  /** textChanged asks about the text again: what is wrong, where each list ends now, and what the tab shows. */
  private async textChanged(): Promise<void> {
    const edit = ++this.edits;
    const start = performance.now();
    if (this.opened.playground) link(this.name, this.editor.text, this.savedText);
    const [found, run, report] = await Promise.all([
      this.call<Diagnostic[]>("diagnostics", this.about()).catch((e) => [problemMark(problemOf(e))]),
      this.recording ? this.call<RunView>("replay", this.about()).catch(problemOf) : null,
      this.call<TestReport>("tests", this.about()).catch(problemOf),
    ]);
    if (edit !== this.edits) return;
    this.compiles = !found.some((d) => d.severity === "error");
    this.editor.mark(found);
    this.showProblems(found);
    if (run && "jobs" in run) this.setRun(run);
    else this.runProblem = run;
    [this.testReport, this.testProblem] = "tests" in report ? [report, null] : [null, report];
    this.explained = null;
    this.itemsView = null;
    this.badges();
    if (this.tabs.current === "pages") await this.loadDetail();
    if (edit !== this.edits) return;
    this.tabs.refresh();
    performance.measure("answer", { start }); // the developer tools of a browser show it
  }

  /** setRun shows another run. The same page stays selected; if it was the one at which the list ended, the one at which it ends now is. */
  private setRun(run: RunView): void {
    const before = this.run?.pages.find((p) => keyOf(p) === this.selected);
    const atEnd = !before || before.decision === "stop" || !!before.error;
    this.run = run;
    this.left = null;
    this.runProblem = null;
    this.details.clear();
    if (!this.baseline || !this.unsaved) this.baseline = run;
    const chosen = run.pages.find((p) => keyOf(p) === this.selected);
    if (chosen && !atEnd) return;
    const last = run.pages.findLast((p) => (p.decision === "stop" || p.error) && (!chosen || p.job === chosen.job)) ?? run.pages.at(-1);
    this.selected = last ? keyOf(last) : "";
  }

  private get selectedNumber(): number {
    return this.run?.pages.find((p) => keyOf(p) === this.selected)?.number ?? 0;
  }

  private async loadDetail(): Promise<void> {
    const { run, selectedNumber: number } = this;
    if (!run || !number) {
      this.detail = null;
      return;
    }
    const key = `${run.id}/${number}`;
    const known = this.details.get(key) ?? (await this.call<PageDetail>("page", { run: run.id, number }).catch(() => null));
    if (known) this.details.set(key, known);
    if (run === this.run && number === this.selectedNumber) this.detail = known;
  }

  private async select(number: number): Promise<void> {
    const page = this.run?.pages.find((p) => p.number === number);
    if (!page) return;
    this.selected = keyOf(page);
    this.left = null;
    await this.loadDetail();
    this.showCell(`[data-number="${number}"]`);
  }

  /** showLeft shows a recorded page that the configuration does not request. */
  private async showLeft(index: number): Promise<void> {
    const { run } = this;
    const response = run && (await this.call<PageDetail["response"]>("unplayed", { run: run.id, number: index + 1 }).catch(() => null));
    if (!response || run !== this.run) return;
    this.left = { index, response };
    this.showCell(`[data-left="${index}"]`);
  }

  /** showCell renders the tab with another page selected. The line of pages stays where it is, and the focus on its page. */
  private showCell(selector: string): void {
    const focused = document.activeElement?.classList.contains("cell");
    const scrolled = [...document.querySelectorAll(".strip")].map((s) => s.scrollLeft);
    this.tabs.refresh();
    document.querySelectorAll(".strip").forEach((s, i) => (s.scrollLeft = scrolled[i] ?? 0));
    const cell = document.querySelector<HTMLElement>(`button.cell${selector}`);
    cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (focused) cell?.focus({ preventScroll: true });
  }

  // What the tabs show.

  private renderPages(to: HTMLElement): void {
    if (this.running) {
      fill(to, h("div", { class: "state" }, h("h2", null, "Asking the API…"), h("p", { class: "row" }, h("span", { class: "spinner" }), "At most ", counted(Number(this.maxPages.value), "page"), ". They are recorded, so that no later edit asks again."),
        h("button", { class: "button", type: "button", onclick: () => this.running?.abort() }, "Stop")));
      return;
    }
    if (!this.run) {
      fill(to, this.emptyPages());
      return;
    }
    if (this.detail === null && this.selectedNumber) void this.loadDetail().then(() => this.detail && this.tabs.refresh());
    pages.render(to, {
      run: this.run, baseline: this.baseline, live: this.canRun, selected: this.selectedNumber, detail: this.detail, left: this.left,
      select: (n) => void this.select(n), showLeft: (i) => void this.showLeft(i), goOn: () => void this.live(),
    });
    const problem = this.runProblem ?? (this.compiles ? null : { message: "The configuration has a mistake.", hint: "" });
    if (problem) to.firstElementChild?.append(pages.notice("warn stale", pages.sentence(problem.message), problem.hint, h("p", { class: "dim" }, "The pages are those of the latest text without a mistake.")));
  }

  private emptyPages(): HTMLElement {
    const problem = this.runProblem;
    const { playground: inBrowser } = this.opened;
    const live = this.canRun;
    return h("div", { class: "state" }, h("h2", null, problem ? "The list was not read" : "No pages yet"),
      problem ? pages.notice("bad", pages.sentence(problem.message), problem.hint)
        : h("p", null, inBrowser ? "Open an example, or drop a recording (a HAR file of stopwhen record or of a browser) onto the page."
          : "Run the configuration to request its first pages. They are recorded: from then on, every edit shows at once where the list would end, without another request."),
      h("div", { class: "row" }, live ? h("button", { class: "button primary", type: "button", onclick: () => void this.live() }, "Run") : null,
        !this.opened.file ? h("button", { class: inBrowser ? "button primary" : "button", type: "button", onclick: () => void this.example() }, "Open an example") : null,
        h("button", { class: "button", type: "button", onclick: () => this.pick() }, "Open a recording")));
  }

  private async renderRules(to: HTMLElement): Promise<void> {
    const edit = this.edits;
    if (!this.explained) {
      const explained = await this.call<Explained>("explain", this.about()).catch(problemOf);
      if (edit !== this.edits || this.tabs.current !== "rules") return;
      if (!("data" in explained)) {
        fill(to, h("div", { class: "state" }, h("h2", null, "There are no rules yet"), pages.notice("bad", pages.sentence(explained.message), explained.hint)));
        return;
      }
      this.explained = explained;
    }
    rules.render(to, this.explained, (line, column) => this.editor.reveal({ line: line - 1, character: column - 1 }));
  }

  private renderStress(to: HTMLElement): void {
    stress.render(to, {
      report: this.stressReport, stale: this.stressReport !== null && this.stressText !== this.editor.text, busy: this.stressBusy, error: this.stressProblem, shown: this.stressShown,
      start: () => void this.startStress(),
      show: (verdict) => {
        this.stressShown = verdict;
        this.tabs.refresh();
      },
      apply: (row) => void this.applyFix(row),
    });
  }

  private async startStress(): Promise<void> {
    this.stressBusy = true;
    this.stressProblem = null;
    this.tabs.refresh();
    const text = this.editor.text;
    const report = await this.call<StressReport>("stress", this.about({ stress: {} })).catch(problemOf);
    this.stressBusy = false;
    if ("jobs" in report) [this.stressReport, this.stressText] = [report, text];
    else this.stressProblem = report;
    this.badges();
    this.tabs.refresh();
  }

  private async applyFix(row: StressRow): Promise<void> {
    const changed = await this.call<{ text: string }>("mend", this.about({ fixes: [row.behaviour] })).catch(problemOf);
    if (!("text" in changed)) {
      toast(changed.message);
      return;
    }
    this.editor.replace(changed.text);
    toast("The fix is in the editor. Ctrl+Z takes it back.");
  }

  private renderTests(to: HTMLElement): void {
    tests.render(to, {
      report: this.testReport, error: this.testProblem, add: () => void this.addTest(),
      reveal: (line, column) => this.editor.reveal({ line: line - 1, character: column - 1 }),
    });
  }

  private async addTest(): Promise<void> {
    const changed = await this.call<{ text: string }>("sampleTest", this.about()).catch(problemOf);
    if ("text" in changed) this.editor.replace(changed.text);
    else toast(changed.message);
  }

  private async renderItems(to: HTMLElement): Promise<void> {
    const { run, edits } = this;
    if (!run || run.jobs.length === 0) {
      fill(to, this.emptyPages());
      return;
    }
    const job = run.jobs.some((j) => j.job === this.itemsJob) ? this.itemsJob : run.jobs[0]!.job;
    if (!this.itemsView || job !== this.itemsJob) {
      const view = await this.call<ItemsView>("items", { run: run.id, job }).catch(problemOf);
      if (edits !== this.edits || this.tabs.current !== "items" || !("rows" in view)) return;
      [this.itemsView, this.itemsJob] = [view, job];
    }
    items.render(to, { run, job, view: this.itemsView, choose: (chosen) => ((this.itemsJob = chosen), (this.itemsView = null), this.tabs.refresh()) });
  }

  // What the buttons do.

  private actions(): void {
    const { playground: inBrowser, file } = this.opened;
    append(byID("actions"), [
      h("span", { class: "split" }, this.maxPages, h("span", { class: "dim wide" }, "pages")),
      h("button", { class: "button primary", type: "button", id: "run", title: "Ctrl+Enter", onclick: () => void this.live() }, icon("M5 3.5v9l7-4.5z"), "Run"),
      inBrowser ? h("button", { class: "button", type: "button", id: "link", onclick: () => void this.copyLink() }, icon("M6.5 9.5l3-3M5 8L3.5 9.5a2.1 2.1 0 003 3L8 11M11 8l1.5-1.5a2.1 2.1 0 00-3-3L8 5"), "Copy link") : null,
      themeSwitch(),
    ]);
    if (file) append(byID("fileActions"), [h("button", { class: "button small", type: "button", id: "save", title: "Ctrl+S", onclick: () => void this.save() }, "Save")]);
  }

  private showFile(): void {
    fill(byID("file"), this.name, this.unsaved ? h("span", { class: "unsaved", title: "Not saved" }, h("span", { class: "hidden" }, "not saved")) : null);
    const button = document.getElementById("save") as HTMLButtonElement | null;
    if (button) button.disabled = !this.unsaved;
    document.title = `${this.unsaved ? "• " : ""}${this.name} – stopwhen ${this.opened.playground ? "playground" : "studio"}`;
  }

  private showSource(): void {
    const r = this.recording;
    fill(byID("source"), icon("M3 4.5h10v7H3zM6 14h4", "icon"), r ? h("span", { class: "name", title: r.name }, r.name) : h("span", { class: "wide" }, "no recording"),
      r ? h("span", { class: "dim" }, counted(r.exchanges, "exchange"), r.truncated ? ", ends early" : "") : null,
      r && !r.saved && this.opened.file ? h("button", { class: "button small", type: "button", id: "saveRecording", onclick: () => void this.saveRecording() }, "Save recording") : null,
      h("button", { class: "button small quiet", type: "button", id: "openRecording", onclick: () => this.pick() }, "Open", h("span", { class: "wide" }, " recording…")),
      this.opened.file ? null : h("button", { class: "button small quiet", type: "button", id: "examples", onclick: () => void this.example() }, "Examples…"));
  }

  private showProblems(found: Diagnostic[]): void {
    const box = byID("problems");
    box.classList.toggle("some", found.length > 0);
    const most = 50;
    fill(box, found.length === 0 ? h("span", { class: "ok" }, icon("M3.5 8.5l3 3 6-7"), "No problems") : found.slice(0, most).map((d) => {
      const row = h("button", { class: `problem ${d.severity}`, type: "button", onclick: () => this.editor.reveal(d.range.start) },
        h("span", { class: "dot" }), h("span", null, h("span", { class: "hidden" }, `${d.severity}: `), pages.sentence(d.message), d.hint ? h("span", { class: "hint" }, " ", pages.sentence(d.hint)) : null), h("span", { class: "at" }, `line ${d.range.start.line + 1}`));
      return row;
    }));
  }

  private badges(): void {
    const lists = (this.testReport?.tests ?? []).length;
    const failed = (this.testReport?.tests ?? []).filter((t) => !t.ok).length;
    this.tabs.badge("tests", failed ? `${failed} failed` : lists ? String(lists) : "", failed ? "bad" : "good");
    const count = this.run?.pages.length ?? 0;
    this.tabs.badge("pages", count ? String(count) : "", "");
    const silent = (this.stressReport?.jobs ?? []).flatMap((j) => j.rows ?? []).filter((r) => r.verdict === "SILENT").length;
    this.tabs.badge("stress", this.stressReport ? (silent ? `${silent} silent` : "0 silent") : "", silent ? "bad" : "good");
  }

  /** live runs the configuration against its API. */
  private async live(): Promise<void> {
    if (this.running) return;
    if (!this.canRun) {
      toast("The playground makes no requests. Open a recording, or an example.");
      return;
    }
    this.running = new AbortController();
    this.tabs.open("pages");
    const most = Math.min(Math.max(Math.round(Number(this.maxPages.value)) || 10, 1), 1000);
    this.maxPages.value = String(most);
    const text = this.editor.text;
    try {
      const made = await this.call<{ run: RunView; recording?: RecordingInfo }>("run", this.about({ limits: { pages: most } }), this.running.signal);
      if (made.recording) this.recording = made.recording;
      this.baseline = null;
      if (text === this.editor.text) this.setRun(made.run);
      this.baseline = made.run;
      this.runProblem = made.run.pages.length === 0 && made.run.error ? { message: made.run.error, hint: made.run.hint ?? "" } : null;
      if (this.runProblem) this.run = null;
      this.showSource();
      this.detail = null;
      await this.loadDetail();
    } catch (error) {
      if (this.running?.signal.aborted) toast("The run was stopped.");
      else this.runProblem = problemOf(error);
    } finally {
      this.running = null;
    }
    this.itemsView = null;
    this.badges();
    this.tabs.refresh();
  }

  private async save(force = false): Promise<void> {
    if (this.opened.playground || !this.opened.file) {
      toast(this.opened.playground ? "The link of this page has the configuration: copy it." : "This configuration has no file: start stopwhen studio with the name of one.");
      return;
    }
    const text = this.editor.text;
    const saved = await this.call<{ conflict?: string }>("save", { text, force }).catch(problemOf);
    if ("message" in saved) {
      toast(saved.message);
      return;
    }
    if (saved.conflict) {
      const answer = await confirm(`${this.name} has changed on the disk`, saved.conflict, ["Overwrite it", "Load it instead"]);
      if (answer === 0) await this.save(true);
      else if (answer === 1) this.show(await this.call<Opened>("open"));
      return;
    }
    this.savedText = text;
    this.baseline = this.run;
    this.showFile();
    this.tabs.refresh();
    toast(`Saved ${this.name}`);
  }

  private async saveRecording(): Promise<void> {
    if (!this.recording) return;
    const saved = await this.call<RecordingInfo>("saveRecording", { recording: this.recording.id }).catch(problemOf);
    if ("message" in saved) {
      toast(saved.message);
      return;
    }
    this.recording = saved;
    this.showSource();
    toast(`Saved ${saved.name}`);
  }

  private pick(): void {
    const input = h("input", { type: "file", accept: ".har,.json,.yaml,.yml" });
    input.addEventListener("change", () => input.files?.[0] && void this.drop(input.files[0]));
    input.click();
  }

  /** drop opens a file: a recording, or a configuration. */
  private async drop(file: File): Promise<void> {
    const text = await file.text();
    if (!/\.har$/i.test(file.name) && !/^\s*\{\s*"log"/.test(text)) {
      if (this.unsaved && (await confirm("Replace the configuration?", `The text of ${file.name} takes the place of the one in the editor.`, ["Replace it"])) !== 0) return;
      if (this.opened.playground) this.show({ ...this.opened, name: file.name, text, ...(this.recording ? { recording: this.recording } : {}) });
      else this.editor.replace(text);
      return;
    }
    const recording = await this.call<RecordingInfo>("record", { name: file.name, archive: text }).catch(problemOf);
    if ("message" in recording) {
      toast(recording.message);
      return;
    }
    this.recording = recording;
    this.baseline = this.run = null;
    this.showSource();
    this.tabs.open("pages");
    await this.textChanged();
  }

  private async example(): Promise<void> {
    const all = await this.call<CaseInfo[]>("cases");
    const chosen = await choose("Examples", "Each is a configuration with the API that it reads, played in your browser.", all.map((c) => ({ value: c.name, title: c.name, text: c.title })));
    if (!chosen) return;
    const opened = await this.call<Opened>("case", { case: chosen }).catch(problemOf);
    if ("message" in opened) toast(opened.message);
    else this.show({ ...this.opened, ...opened });
  }

  private async copyLink(): Promise<void> {
    const { text } = await this.call<{ text: string }>("withoutSecrets", this.about());
    await navigator.clipboard.writeText(await linkTo(this.name, text));
    toast(text === this.editor.text ? "Copied. The link holds the configuration; nothing is uploaded." : "Copied, without the secrets in the configuration.");
  }
}

/** keyOf names a page of a list, in any run. */
function keyOf(page: Cell): string {
  return JSON.stringify([page.job, page.partition, page.page]);
}

function problemMark(p: Problem): Diagnostic {
  const start = { line: 0, character: 0 };
  return { range: { start, end: start }, severity: "error", message: p.message, ...(p.hint ? { hint: p.hint } : {}) };
}

// A link of the playground has the configuration in its fragment, compressed.

async function linkTo(name: string, text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const encoded = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  return `${location.href.split("#")[0]}#${encodeURIComponent(name)}=${encoded}`;
}

async function linked(): Promise<{ name: string; text: string } | null> {
  const [name, encoded] = location.hash.slice(1).split("=");
  if (!name || !encoded) return null;
  try {
    const bytes = Uint8Array.from(atob(encoded.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
    return text.length > 1 << 20 ? null : { name: decodeURIComponent(name), text };
  } catch {
    return null;
  }
}

/** link puts an edited configuration into the address, so that a reload keeps it. */
function link(name: string, text: string, opened: string): void {
  if (text !== opened) void linkTo(name, text).then((address) => history.replaceState(null, "", address));
}

async function begin(): Promise<void> {
  const panel = byID("panel");
  divider(byID("divider"));
  const inBrowser = document.documentElement.dataset["face"] === "playground";
  try {
    if (inBrowser) {
      const bar = h("progress", { max: "1", value: "0", "aria-label": "Loading" });
      fill(panel, h("div", { class: "state" }, h("h2", null, "Loading the engine…"), bar, h("p", null, "It runs in this page: nothing that you open or write leaves the browser.")));
      const call = await playground((loaded, size) => (bar.value = size ? loaded / size : 0));
      const given = await linked();
      new Studio(call, await call<Opened>("open", given ?? {}));
      return;
    }
    const call = await studio();
    if (!call) {
      fill(panel, h("div", { class: "state" }, h("h2", null, "Open the address of the studio"), h("p", null, "This page needs the token in the address that stopwhen studio has printed: http://127.0.0.1:…/?token=…")));
      return;
    }
    new Studio(call, await call<Opened>("open"));
  } catch (error) {
    const problem = problemOf(error);
    fill(panel, h("div", { class: "state" }, h("h2", null, inBrowser ? "The playground cannot start" : "The studio cannot start"), pages.notice("bad", pages.sentence(problem.message), problem.hint)));
  }
}

void begin();
