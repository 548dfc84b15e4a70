/** The tab Stress: what the configuration loses when its API misbehaves. */
import { counted, fill, h } from "./dom.ts";
import { notice, sentence } from "./pages.ts";
import type { Change, StressReport, StressRow } from "./types.ts";

export interface StressModel {
  report: StressReport | null;
  stale: boolean; // whether the text has changed since
  busy: boolean;
  error: { message: string; hint?: string } | null;
  shown: StressRow["verdict"] | "";
  start(): void;
  show(verdict: StressRow["verdict"] | ""): void;
  apply(row: StressRow): void;
}

const tones = { SILENT: "bad", endless: "bad", reported: "warn", complete: "good" } as const;
const meanings = { SILENT: "rows are lost, and nothing says so", endless: "only a guard ends the run", reported: "rows are lost, and the run says so", complete: "every row arrives" } as const;
const order = ["SILENT", "endless", "reported", "complete"] as const;

export function render(to: HTMLElement, model: StressModel): void {
  const { report } = model;
  const start = h("button", { class: "button primary", type: "button", id: "startStress", disabled: model.busy, onclick: () => model.start() },
    model.busy ? h("span", { class: "spinner" }) : null, model.busy ? "Running…" : report ? "Run again" : "Run the stress test");
  if (!report) {
    fill(to, h("div", { class: "state" }, h("h2", null, "What may the API do that loses items?"),
      h("p", null, "The stress test derives a model of the API from your rules, lets it misbehave in some forty ways, and says after which of them the list is incomplete without a word. It takes some seconds and makes no request."),
      model.error ? notice("bad", sentence(model.error.message), model.error.hint) : null, start));
    return;
  }
  const rows = report.jobs.flatMap((job) => (job.rows ?? []).map((row) => ({ row, job: job.job })));
  const count = (v: StressRow["verdict"]): number => rows.filter((r) => r.row.verdict === v).length;
  const shown = rows.filter((r) => (model.shown ? r.row.verdict === model.shown : r.row.verdict !== "complete"))
    .sort((a, b) => order.indexOf(a.row.verdict) - order.indexOf(b.row.verdict));
  fill(to, h("div", { class: "column" },
    h("div", { class: "row between" }, h("div", { class: "chips", role: "group", "aria-label": "Verdicts" }, order.map((v) =>
      h("button", { class: `chip ${count(v) ? tones[v] : ""}`, type: "button", "aria-pressed": String(model.shown === v), title: sentence(meanings[v]), onclick: () => model.show(model.shown === v ? "" : v) }, v, h("b", null, count(v))))), start),
    model.stale ? notice("plain", "The configuration has changed since this test.") : null,
    model.error ? notice("bad", sentence(model.error.message), model.error.hint) : null,
    report.jobs.filter((j) => j.unknown).map((j) => notice("warn", `Job ${j.job} was not tested.`, sentence(j.unknown!))),
    count("SILENT") === 0 && rows.length > 0 && !model.shown ? h("p", null, "Nothing loses items silently.") : null,
    shown.length > 0 ? h("section", { class: "card", "aria-label": "Behaviours" }, shown.map(({ row, job }) => rowOf(row, report.jobs.length > 1 ? job : "", model))) : null,
    h("details", null, h("summary", { class: "dim" }, "The model of the API"), h("ul", { class: "model" }, report.jobs.flatMap((j) => (j.model ?? []).map((m) => h("li", null, m)))))));
}

function rowOf(row: StressRow, job: string, model: StressModel): HTMLElement {
  return h("div", { class: `behaviour ${tones[row.verdict]}` },
    h("div", { class: "head" }, h("span", { class: "outcome" }, row.verdict), h("b", null, row.behaviour), job ? h("span", { class: "dim" }, job) : null,
      h("span", { class: "numbers" }, `${row.obtained} of ${counted(row.served, "item")}${row.duplicated ? `, ${row.duplicated} twice` : ""}`)),
    h("p", null, row.says), h("p", { class: "dim" }, sentence(row.why)),
    row.fix ? h("div", { class: "fix" }, h("span", null, sentence(row.fix.says)), row.fix.changes?.length ? h("pre", null, row.fix.changes.map(changeOf).join("\n")) : null,
      row.fix.changes?.length ? h("button", { class: "button small", type: "button", onclick: () => model.apply(row) }, "Apply this fix") : null) : null);
}

function changeOf(c: Change): string {
  const path = c.path.join(".");
  if (c.remove) return `remove ${path}`;
  return `${path}${c.append ? " +" : ""}: ${JSON.stringify(c.value)}`;
}
