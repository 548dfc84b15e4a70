/** The tab Rules: what the configuration compiles to. */
import { fill, h } from "./dom.ts";
import { notice, sentence } from "./pages.ts";
import type { Explained, JobExplanation, Origin, Rule } from "./types.ts";

export function render(to: HTMLElement, explained: Explained, reveal: (line: number, column: number) => void): void {
  const column = h("div", { class: "column" });
  if (!explained.current) column.append(notice("warn", "The configuration has a mistake.", "These are the rules of the latest text without one."));
  for (const job of explained.data.jobs) column.append(jobOf(job, reveal));
  column.append(h("details", null, h("summary", { class: "dim" }, "The whole explanation as text"), h("pre", { class: "raw", tabindex: "0", "aria-label": "Explanation" }, explained.text)));
  fill(to, column);
}

type Reveal = (line: number, column: number) => void;

function jobOf(job: JobExplanation, reveal: Reveal): HTMLElement {
  const stops = (job.stops ?? []).concat(job.noNextRequest ? [job.noNextRequest] : []);
  const of = (...outcomes: string[]): Rule[] => stops.filter((r) => !r.guard && outcomes.includes(r.outcome ?? ""));
  return h("section", { class: "stack", "aria-label": `Job ${job.job}` },
    h("div", { class: "row" }, h("h2", null, job.job), h("span", { class: "dim" }, job.method ? `method ${job.method}` : "not paged", job.scroller ? `, scroller ${job.scroller}` : "")),
    h("p", { class: "summary" }, job.summary),
    requests(job),
    group("The list is complete when", of("complete", "suspect", "partial"), reveal, "good"),
    group("The list is cut off when", of("limited"), reveal, "warn"),
    group("The run fails when", of("failed", "guarded"), reveal, "bad"),
    group("On an error response", job.onError ?? [], reveal),
    group("The next request has", job.nextRequest ?? [], reveal),
    group("Variables", job.state ?? [], reveal),
    group("Computed before the first request", job.computed ?? [], reveal),
    group("Items", (job.shape ?? []).concat(job.keep ?? []), reveal),
    group("Guards against an API that makes no progress", stops.filter((r) => r.guard), reveal));
}

function requests(job: JobExplanation): HTMLElement {
  const request = (name: string, r: { method: string; url: string } | undefined): Node | null =>
    r ? h("div", { class: "rule" }, h("span", { class: "dim" }, name), h("code", null, `${r.method} ${r.url}`), h("span")) : null;
  return h("div", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, "Requests and items")), h("div", { class: "rules" },
    request("First request", job.firstRequest), request("Second request", job.secondRequest),
    h("div", { class: "rule" }, h("span", { class: "dim" }, "Items"), h("span", null, job.items.where), h("span")),
    h("div", { class: "rule" }, h("span", { class: "dim" }, "Bounds"), h("span", null, job.bounds.says), h("span"))));
}

function group(title: string, rules: Rule[], reveal: Reveal, tone = ""): HTMLElement | null {
  if (rules.length === 0) return null;
  return h("div", { class: `card ${tone}` }, h("div", { class: "cardHead" }, h("h3", null, title)), h("div", { class: "rules" }, rules.map((rule) => ruleOf(rule, reveal))));
}

function ruleOf(rule: Rule, reveal: Reveal): HTMLElement {
  return h("div", { class: "rule" }, h("span", { class: "id" }, rule.id),
    h("span", null, h("code", null, rule.source), rule.says && rule.says.length > 12 ? h("span", { class: "says" }, sentence(rule.says)) : null, rule.never ? h("span", { class: "says" }, `Never: ${rule.never}.`) : null),
    place(rule.origin, reveal));
}

function place(origin: Origin, reveal: Reveal): HTMLElement {
  const at = origin.at;
  if (!at) return h("span", { class: "place" }, origin.by);
  return h("span", { class: "place" }, h("button", { class: "link", type: "button", onclick: () => reveal(at.line, at.column) }, `${origin.by === "config" ? "line" : origin.by + ", line"} ${at.line}`));
}
