/** The tab Items: a table of the items, and their shape. */
import { counted, fill, grouped, h } from "./dom.ts";
import type { ItemsView, RunView } from "./types.ts";

export interface ItemsModel {
  run: RunView;
  job: string;
  view: ItemsView;
  choose(job: string): void;
}

export function render(to: HTMLElement, model: ItemsModel): void {
  const { view, run } = model;
  const jobs = run.jobs.map((j) => j.job);
  const head = h("div", { class: "row between" }, h("h2", null, counted(view.count, "item")),
    jobs.length > 1 ? h("label", { class: "row" }, h("span", { class: "dim" }, "Job"), select(jobs, model)) : null);
  if (view.rows.length === 0) {
    fill(to, h("div", { class: "column" }, head, h("div", { class: "state" }, h("h2", null, "No items"), h("p", null, "The pages of this job have no items, or the filter leaves all of them out. Pages shows where the items are looked for."))));
    return;
  }
  const types = new Map(view.paths.map((p) => [p.path, p]));
  const typeOf = (column: string): string => types.get(/^[A-Za-z_]\w*$/.test(column) ? `items[*].${column}` : `items[*][${JSON.stringify(column)}]`)?.type ?? "";
  const table = h("table", { class: "items" }, h("thead", null, h("tr", null, h("th", { class: "no", scope: "col" }, h("span", { class: "hidden" }, "Number")), view.columns.map((c) => h("th", { scope: "col" }, c || "value", h("span", { class: "type" }, typeOf(c)))))),
    h("tbody", null, view.rows.map((row, i) => h("tr", null, h("td", { class: "no" }, i + 1), row.map((cell) => h("td", { title: cell.length > 40 ? cell : null }, cell))))));
  fill(to, h("div", { class: "column" }, head, h("section", { class: "card", "aria-label": "Items" }, h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of items" }, table),
    view.clipped ? h("p", { class: "cardBody dim" }, `The first ${grouped(view.rows.length)} items.`) : null),
    h("section", { class: "card" }, h("div", { class: "cardHead" }, h("h3", null, "Shape")), h("div", { class: "scroll" }, h("table", null,
      h("thead", null, h("tr", null, ["Path", "Type", "Present", "Sample"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, view.paths.filter((p) => !p.absent && p.path !== "items").map((p) => h("tr", null, h("td", null, h("code", null, p.path.replace(/^items\[\*\]\.?/, "") || "item")), h("td", null, p.type), h("td", { class: "dim" }, p.count === p.of ? "always" : `${grouped(p.count)} of ${grouped(p.of)}`), h("td", null, h("code", null, p.sample ?? ""))))))))));
}

function select(jobs: string[], model: ItemsModel): HTMLElement {
  const element = h("select", { class: "field small" }, jobs.map((job) => h("option", { value: job, selected: job === model.job }, job)));
  element.addEventListener("change", () => model.choose(element.value));
  return element;
}
