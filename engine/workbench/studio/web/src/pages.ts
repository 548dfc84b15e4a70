/** The tab Pages: how each list ends, the line of its pages, and one page with every verdict. */
import { counted, fill, grouped, h } from "./dom.ts";
import { show } from "./json.ts";
import type { Cell, Finding, JobResult, PageDetail, ReadHeader, Response, RunView, Verdict } from "./types.ts";

/** toneOf returns the class for how a job ended. */
export function toneOf(job: JobResult | undefined): "good" | "warn" | "bad" | "" {
  if (!job || !job.outcome) return "";
  if (job.outcome === "failed" || job.outcome === "guarded" || job.outcome === "unfinished" || evidence(job)) return "bad";
  return job.outcome === "complete" && !job.findings?.length ? "good" : "warn";
}

function evidence(job: JobResult): boolean {
  return (job.findings ?? []).some((f) => f.weight === "evidence");
}

function outcomeOf(job: JobResult): string {
  if (evidence(job)) return "incomplete";
  if (job.outcome === "complete" && job.findings?.length) return "may be incomplete";
  return job.outcome;
}

/** A recorded response that the run has not requested, by its position among these. */
export interface LeftDetail { index: number; response: Response }

/** What the tab shows and does. */
export interface PagesModel {
  run: RunView;
  baseline: RunView | null; // the run before the edits
  live: boolean; // whether the API can be asked
  selected: number; // number of a page of the run
  detail: PageDetail | null;
  left: LeftDetail | null; // a recorded page that is not requested, in the place of the detail
  select(number: number): void;
  showLeft(index: number): void;
  goOn(): void; // asks the API
}

export function render(to: HTMLElement, model: PagesModel): void {
  const { run } = model;
  const column = h("div", { class: "column" });
  if (run.error && run.jobs.length === 0) column.append(notice("bad", run.error, run.hint));
  for (const job of run.jobs) {
    const cells = run.pages.filter((p) => p.job === job.job);
    const left = unplayed(run, job, cells);
    column.append(ending(model, job, cells, left));
    if (cells.length + left.length > 0) column.append(strip(model, job, cells, left));
  }
  const page = h("div", { id: "page" });
  if (model.left) page.append(leftDetail(model.left));
  else if (model.detail) page.append(detail(model.detail, run));
  column.append(page);
  fill(to, column);
}

export function notice(tone: string, message: string, hint?: string, ...more: (Node | string)[]): HTMLElement {
  return h("div", { class: `notice ${tone}`, role: "alert" }, h("p", null, h("b", null, message)), hint ? h("p", { class: "dim" }, hint) : null, more);
}

function ending(model: PagesModel, job: JobResult, cells: Cell[], left: string[]): HTMLElement {
  const { run } = model;
  const last = cells.at(-1);
  const unrecorded = isUnrecorded(run, job);
  const stopped = run.more && job.outcome !== "complete" && !job.findings?.length && !unrecorded && !job.reason.includes(".") && (job.reason === "error" || !job.reason);
  const box = h("section", { class: "ending", "aria-label": `End of ${job.job}` });
  if (unrecorded) {
    box.classList.add("warn");
    box.append(
      h("h2", null, h("span", { class: "outcome" }, "not recorded"), cells.length > 1
        ? `The list goes on after page ${cells.length - 1}, but the recording does not` : "The recording does not have the first request"),
      h("p", { class: "request" }, run.played!.missing!),
      job.error?.hint ? h("p", { class: "dim" }, sentence(job.error.hint)) : "",
      model.live ? h("div", null, h("button", { class: "button small", type: "button", onclick: () => model.goOn() }, "Ask the API")) : "",
    );
  } else if (stopped) {
    box.append(h("h2", null, h("span", { class: "outcome" }, "cut off"), `The run ended after ${counted(run.pages.length, "page")}, as you asked`),
      h("p", { class: "dim" }, "No rule was met until then."));
  } else {
    const tone = toneOf(job);
    if (tone) box.classList.add(tone);
    const title = job.error ? (cells.length > 0 ? `The list fails on page ${last!.page}` : "The list fails")
      : last && !job.partitions ? `The list ends on page ${job.pages}: ${clause(job.message)}` : sentence(job.message);
    box.append(h("h2", null, h("span", { class: "outcome" }, outcomeOf(job)), h("span", null, title)));
    if (job.error) box.append(h("p", null, sentence(job.error.message)), job.error.hint ? h("p", { class: "dim" }, sentence(job.error.hint)) : "");
    if (last?.met?.length && !job.partitions) box.append(h("ul", { class: "why" }, last.met.map((v) => h("li", null, h("b", null, v.rule), v.because ? h("code", { class: "because" }, values(v.because)) : null))));
    for (const f of [...(job.findings ?? [])].sort((a, b) => a.weight.localeCompare(b.weight))) box.append(findingOf(f));
  }
  box.append(facts(model, job, left));
  return box;
}

/** isUnrecorded reports whether a job failed because the recording does not have its next request. */
function isUnrecorded(run: RunView, job: JobResult): boolean {
  return !!run.played?.missing && !!job.error && job.outcome === "failed";
}

function findingOf(f: Finding): HTMLElement {
  return h("div", { class: `finding ${f.weight === "evidence" ? "bad" : "warn"}` }, h("span", { class: "weight" }, f.weight === "evidence" ? "Evidence" : "Hint"),
    h("span", null, sentence(f.message), " ", f.because ? h("code", { title: f.id }, f.because) : ""));
}

function facts(model: PagesModel, job: JobResult, left: string[]): HTMLElement {
  const { run, baseline } = model;
  const all = h("div", { class: "facts" }, run.jobs.length > 1 ? h("span", null, "job ", h("b", null, job.job)) : "",
    h("span", null, h("b", null, grouped(job.items)), job.items === 1 ? " item" : " items"),
    h("span", null, h("b", null, grouped(job.pages)), job.pages === 1 ? " page" : " pages"),
    left.length > 0 ? h("span", null, h("b", null, grouped(left.length)), ` recorded ${left.length === 1 ? "page is" : "pages are"} not requested`) : "",
    job.filtered ? h("span", null, h("b", null, grouped(job.filtered)), " left out by the filter") : "");
  const before = baseline?.jobs.find((b) => b.job === job.job);
  if (before && baseline !== run && !isUnrecorded(run, job) && (before.items !== job.items || before.pages !== job.pages || before.reason !== job.reason)) {
    const items = job.items - before.items;
    const pages = job.pages - before.pages;
    const parts = [items ? `${signed(items)} ${Math.abs(items) === 1 ? "item" : "items"}` : "", pages ? `${signed(pages)} ${Math.abs(pages) === 1 ? "page" : "pages"}` : ""];
    const text = parts.filter(Boolean).join(", ") || "another reason";
    all.append(h("span", { class: `delta ${items < 0 ? "bad" : items > 0 ? "good" : "warn"}`, title: `Before your edits: page ${before.pages}, ${before.reason}` },
      text, h("span", { class: "wide" }, " by your edits")));
  }
  return all;
}

function signed(n: number): string {
  return n > 0 ? `+${grouped(n)}` : `−${grouped(-n)}`;
}

/** sentence returns a message as a sentence. */
export function sentence(text: string): string {
  const first = /^[a-z]+[A-Z0-9.[(_]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1); // not a path
  return /[.!?…]$/.test(first) ? first : first + ".";
}

/** clause returns a message without what the title says already. */
function clause(text: string): string {
  return text.replace(/\.$/, "");
}

/** unplayed returns the recorded requests of a job that were not made. */
function unplayed(run: RunView, job: JobResult, cells: Cell[]): string[] {
  const left = run.played?.unplayed ?? [];
  if (run.jobs.length === 1) return left;
  const path = (request: string): string => request.replace(/^\S+ /, "").split("?")[0]!;
  const own = new Set(cells.map((c) => c.request.url.split("?")[0]!));
  return left.filter((request) => own.has(path(request)) && run.jobs.find((j) => j.job === job.job));
}

const mostCells = 500;

function strip(model: PagesModel, job: JobResult, cells: Cell[], left: string[]): HTMLElement {
  const largest = Math.max(1, ...cells.map((c) => c.count));
  const line = h("div", { class: `strip ${toneOf(job)}`, role: "listbox", "aria-label": `Pages of ${job.job}`, "aria-orientation": "horizontal" });
  const shown = cells.length > mostCells ? [...cells.slice(0, mostCells / 2), ...cells.slice(-mostCells / 2)] : cells;
  const current = !!model.left || shown.some((c) => c.number === model.selected);
  shown.forEach((c, i) => {
    const ends = c.decision === "stop" || !!c.error;
    const selected = c.number === model.selected && !model.left;
    line.append(h("button", {
      class: `cell${ends ? " stop" : ""}`, type: "button", role: "option", "aria-selected": String(selected), "data-number": c.number,
      tabindex: selected || (!current && i === 0) ? "0" : "-1", title: `${c.request.method} ${c.request.url}`,
      "aria-label": `Page ${c.page}, ${counted(c.count, "item")}${ends ? ", the list ends here" : ""}`, onclick: () => model.select(c.number),
    }, h("span", { class: "well" }, h("span", { class: "bar2", vars: { "--size": `${Math.round((100 * c.count) / largest)}%` } })),
      h("span", null, h("span", { class: "no" }, c.page), h("br"), h("span", { class: "items" }, c.error ? "error" : grouped(c.count)))));
    if (i === mostCells / 2 - 1 && shown.length < cells.length) line.append(h("span", { class: "dim", role: "presentation" }, `${cells.length - shown.length} more`));
  });
  if (left.length > 0) {
    line.append(h("span", { class: "end", role: "presentation" }, isUnrecorded(model.run, job) ? "not recorded" : "ends here"));
    const made = cells.filter((c) => !c.error).length;
    left.slice(0, mostCells).forEach((request, i) => {
      const index = (model.run.played?.unplayed ?? []).indexOf(request, i);
      line.append(h("button", {
        class: "cell skipped", type: "button", role: "option", "aria-selected": String(model.left?.index === index), "data-left": index, tabindex: model.left?.index === index ? "0" : "-1", title: request,
        "aria-label": `Recorded page ${made + i + 1}, not requested`, onclick: () => model.showLeft(index),
      }, h("span", { class: "well" }, h("span", { class: "bar2", vars: { "--size": "35%" } })), h("span", null, h("span", { class: "no" }, made + i + 1), h("br"), h("span", { class: "items" }, "–"))));
    });
  }
  line.addEventListener("keydown", (e) => move(e, line, model));
  return line;
}

function move(e: KeyboardEvent, line: HTMLElement, model: PagesModel): void {
  const cells = [...line.querySelectorAll<HTMLElement>("button.cell")];
  const at = cells.findIndex((c) => c === e.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: cells.length - 1 }[e.key];
  if (to === undefined || !cells[to]) return;
  e.preventDefault();
  const { number, left } = cells[to].dataset;
  cells[to].focus(); // the selected page keeps the focus
  if (left === undefined) model.select(Number(number));
  else model.showLeft(Number(left));
}

/** leftDetail shows a recorded page that the configuration does not request. */
function leftDetail({ response }: LeftDetail): HTMLElement {
  return h("div", { class: "cards two" }, h("section", { class: "card" },
    h("div", { class: "cardHead" }, h("h3", null, "Not requested"), h("span", { class: `status ${statusTone(response.status)}` }, response.status || "no response")),
    h("div", { class: "cardBody" }, requestOf(response.method, response.url, response.requestBody))), responseOf(response));
}

/** detail shows a page. */
function detail({ page, response, guards }: PageDetail, run: RunView): HTMLElement {
  const job = run.jobs.find((j) => j.job === page.job);
  const tone = page.error ? "bad" : page.decision === "stop" ? toneOf(job) : "";
  const verdicts = [...(page.verdicts ?? [])].sort((a, b) => Number(b.met) - Number(a.met));
  const shown = verdicts.filter((v) => v.met || !guards.includes(v.rule));
  const quiet = verdicts.filter((v) => !shown.includes(v));
  const met = verdicts.filter((v) => v.met).length;
  const left = h("div", { class: "stack" },
    h("section", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, `Page ${page.page}`), partition(page.partition), h("span", { class: `status ${statusTone(page.status)}` }, page.status || "no response"),
      h("span", { class: "dim" }, [counted(page.count, "item"), page.written !== undefined ? `${grouped(page.written)} written` : "", page.status ? `${grouped(page.ms)} ms` : ""].filter(Boolean).join(", "))),
      h("div", { class: "cardBody" }, requestOf(page.request.method, response?.url ?? page.request.url, response?.requestBody))),
    h("section", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, "Verdicts"), h("span", { class: "dim" }, page.error && met === 0 ? "the page was not judged" : met === 0 ? `none of ${counted(verdicts.length, "rule")} is met: the list goes on` : `${met} of ${counted(verdicts.length, "rule")} met`)),
      page.error ? h("div", { class: "cardBody" }, notice("bad", sentence(page.error.message), page.error.hint)) : "",
      h("ol", { class: `verdicts ${tone}` }, shown.map(verdict)),
      quiet.length > 0 ? h("details", { class: "quiet" }, h("summary", null, `${counted(quiet.length, "guard")} not met`), h("ol", { class: "verdicts" }, quiet.map(verdict))) : null));
  const right = h("div", { class: "stack" }, responseOf(response));
  return h("div", { class: "cards two" }, left, right);
}

function partition(values: Record<string, unknown> | undefined): HTMLElement | null {
  return values && Object.keys(values).length > 0 ? h("code", null, Object.entries(values).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join(", ")) : null;
}

function statusTone(status: number): string {
  return status >= 200 && status < 300 ? "good" : status >= 400 || status === 0 ? "bad" : "warn";
}

function requestOf(method: string, address: string, body?: string): HTMLElement {
  const [path, query] = [address.split("?")[0]!, address.split("?").slice(1).join("?")];
  const params = query ? query.split("&").map((p) => [decode(p.split("=")[0]!), decode(p.split("=").slice(1).join("="))] as const) : [];
  return h("div", null, h("div", { class: "requestLine" }, h("p", { class: "request" }, h("span", { class: "verb" }, method), " ", path),
    params.map(([name, value]) => h("span", { class: "param" }, h("span", { class: "dim" }, name), " ", value))),
    body ? show(body, [], "Body of the request") : null);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

function verdict(v: Verdict): HTMLElement {
  return h("li", { class: v.met ? "verdict met" : "verdict" }, h("span", { class: "dot" }), h("span", { class: "id" }, v.rule),
    h("code", { class: "because" }, values(v.because ?? "")), h("span", { class: "is" }, v.met ? "met" : "not met"),
    (v.missing ?? []).map((m) => h("div", { class: "note" }, `The response does not have ${m}.`)),
    (v.notes ?? []).map((n) => h("div", { class: "note" }, sentence(n))));
}

/** The value of what a rule has read stands after it: count(5) < limit(10). An argument of a function is none. */
const readValue = /(?<=[\w\])"])\(("(?:[^"\\]|\\.)*"|-?\d[\w.+-]*|true|false|nil|null|absent|\[[^\]]*\]|\{[^}]*\})\)(?!\()/;

function values(because: string): (Node | string)[] {
  return because.split(readValue).map((part, i) => (i % 2 === 1 ? h("mark", null, part) : part));
}

function responseOf(response: PageDetail["response"]): HTMLElement {
  const card = h("section", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, "Response"),
    response ? h("span", { class: "dim" }, `${grouped(response.bytes)} bytes`) : null, response?.spans.some((s) => s.readBy.length > 0) ? h("span", { class: "dim" }, "rules read the ", h("mark", null, "marked values")) : null));
  if (!response) {
    card.append(h("div", { class: "cardBody dim" }, "There is no response."));
    return card;
  }
  const body = h("div", { class: "cardBody" });
  if (response.error) body.append(notice("bad", sentence(response.error)));
  const read = response.read ?? [];
  if (read.length > 0) body.append(h("dl", { class: "headers" }, read.flatMap((r) => readHeader(r))));
  const absent = (response.paths ?? []).filter((p) => p.absent);
  if (absent.length > 0) body.append(h("div", { class: "absent" }, "Rules read, and the response does not have: ", absent.map((p) => h("code", { title: (p.readBy ?? []).join(", ") }, p.path))));
  body.append(response.body ? show(response.body, response.spans ?? [], "Body of the response") : h("p", { class: "dim" }, "The body is empty."));
  if (response.clipped) body.append(h("p", { class: "dim" }, "This is only the beginning of the body."));
  const others = response.headers.filter((o) => !read.some((r) => r.name.toLowerCase() === o.name.toLowerCase()));
  if (others.length > 0) body.append(h("details", null, h("summary", { class: "dim" }, counted(others.length, read.length > 0 ? "other header" : "header")), h("dl", { class: "headers" }, others.flatMap((o) => [h("dt", null, o.name), h("dd", null, o.value)]))));
  card.append(body);
  return card;
}

function readHeader(r: ReadHeader): HTMLElement[] {
  return [h("dt", null, r.name), h("dd", { title: r.readBy.join(", ") }, r.absent ? h("span", { class: "dim" }, "absent") : h("mark", null, r.value ?? ""), " ", h("span", { class: "dim" }, r.readBy.join(", ")))];
}
