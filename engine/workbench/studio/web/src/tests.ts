/** The tab Tests: the tests in the configuration. */
import { counted, fill, h } from "./dom.ts";
import { notice, sentence } from "./pages.ts";
import type { TestReport, TestResult } from "./types.ts";

export interface TestsModel {
  report: TestReport | null;
  error: { message: string; hint?: string } | null;
  add(): void; // writes a test to start from
  reveal(line: number, column: number): void;
}

export function render(to: HTMLElement, model: TestsModel): void {
  const { report } = model;
  if (!report) {
    fill(to, h("div", { class: "state" }, h("h2", null, "The tests cannot run"), model.error ? notice("bad", sentence(model.error.message), model.error.hint) : h("p", null, "The configuration has a mistake.")));
    return;
  }
  const tests = report.tests ?? [];
  if (tests.length === 0) {
    fill(to, h("div", { class: "state" }, h("h2", null, "No tests yet"),
      h("p", null, "A test says what the API answers and what must be extracted. It stands in the configuration, runs without a network, and runs here after every edit."),
      h("button", { class: "button primary", type: "button", id: "addTest", onclick: () => model.add() }, "Add a test that passes")));
    return;
  }
  const failed = tests.filter((t) => !t.ok).length;
  fill(to, h("div", { class: "column" },
    h("h2", { class: failed ? "bad" : "good" }, h("span", { class: "outcome" }, failed ? `${failed} failed` : "passed"), ` ${counted(tests.length, "test")}, ${failed === 0 ? "none" : failed} failed`),
    h("section", { class: "card", "aria-label": "Tests" }, tests.map((t) => testOf(t, model))),
    (report.coverage ?? []).map((c) => coverage(c))));
}

function testOf(t: TestResult, model: TestsModel): HTMLElement {
  const at = /:(\d+):(\d+)$/.exec(t.place ?? "");
  return h("div", { class: `behaviour ${t.ok ? "good" : "bad"}` },
    h("div", { class: "head" }, h("span", { class: "outcome" }, t.ok ? "ok" : "failed"), h("span", null, t.name),
      at ? h("span", { class: "numbers" }, h("button", { class: "link", type: "button", onclick: () => model.reveal(Number(at[1]), Number(at[2])) }, `line ${at[1]}`)) : null),
    (t.differences ?? []).map((d) => d.of || d.want || d.got
      ? h("dl", { class: "difference" }, d.of ? [h("dt", null, "of"), h("dd", null, d.of)] : null, d.want ? [h("dt", null, "want"), h("dd", null, d.want)] : null, d.got ? [h("dt", null, "got"), h("dd", null, d.got)] : null, d.message ? [h("dt", null, ""), h("dd", null, d.message)] : null)
      : h("p", null, sentence(d.message ?? ""))),
    t.ok ? null : (t.because ?? []).map((b) => h("p", { class: "dim" }, sentence(b))));
}

function coverage(c: NonNullable<TestReport["coverage"]>[number]): HTMLElement | null {
  const rules = (c.rules ?? []).filter((r) => r.condition && !r.guard);
  const gaps = (c.rules ?? []).filter((r) => r.gap);
  if (rules.length === 0) return null;
  return h("section", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, `Rules of ${c.job}`), h("span", { class: "dim" }, gaps.length === 0 ? "every rule was true on one page and false on another" : `${counted(gaps.length, "rule")} not fully shown by a test`)),
    gaps.length === 0 ? null : h("div", { class: "rules" }, gaps.map((r) => h("div", { class: "rule" }, h("span", { class: "id" }, r.rule), h("code", null, r.source), h("span", { class: "place" }, r.gap ?? "")))));
}
