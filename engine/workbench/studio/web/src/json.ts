/** Shows a body in JSON as a tree, which keeps the spelling of every value and marks the values that rules read. */
import { h } from "./dom.ts";
import type { Span } from "./types.ts";

type Tree = { start: number; end: number } & (
  | { kind: "object"; members: { name: string; value: Tree }[] }
  | { kind: "list"; elements: Tree[] }
  | { kind: "string" | "number" | "word"; text: string }
);
type Branch = Tree & { kind: "object" | "list" };

const deepest = 200;

/** parse returns the tree of a JSON text, or null if it is not JSON. */
export function parse(text: string): Tree | null {
  const token = /\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:])/y;
  const next = (): string => {
    const found = token.exec(text);
    if (!found) throw new SyntaxError("not JSON");
    return found[1]!;
  };
  const peek = (): string => {
    const at = token.lastIndex;
    const found = next();
    token.lastIndex = at;
    return found;
  };
  const value = (depth: number): Tree => {
    if (depth > deepest) throw new SyntaxError("too deep");
    const first = next();
    const start = token.lastIndex - first.length;
    if (first === "{") {
      const members: { name: string; value: Tree }[] = [];
      if (peek() === "}") next();
      else
        for (let end = ","; end === ","; end = next()) {
          const name = next();
          next();
          members.push({ name, value: value(depth + 1) });
        }
      return { kind: "object", members, start, end: token.lastIndex };
    }
    if (first === "[") {
      const elements: Tree[] = [];
      if (peek() === "]") next();
      else for (let end = ","; end === ","; end = next()) elements.push(value(depth + 1));
      return { kind: "list", elements, start, end: token.lastIndex };
    }
    const kind = first.startsWith('"') ? "string" : /^[tfn]/.test(first) ? "word" : "number";
    return { kind, text: first, start, end: token.lastIndex };
  };
  try {
    JSON.parse(text);
    return value(0);
  } catch {
    return null;
  }
}

const shownElements = 3;
const longestText = 400;

/** A Drawing shows a tree, with the spans that rules read. */
class Drawing {
  private readonly spans = new Map<number, Span>();

  constructor(private readonly all: Span[]) {
    for (const span of all) this.spans.set(span.start, span);
  }

  /** reads reports whether rules read something within a tree. */
  private reads(tree: Tree): boolean {
    return this.all.some((s) => s.readBy.length > 0 && s.start > tree.start && s.end < tree.end);
  }

  private line(to: Element, depth: number, by: string[], ...content: (Node | string)[]): void {
    const row = h("div", { class: by.length > 0 ? "line read" : "line", vars: { "--depth": String(depth) } }, h("span", { class: "code" }, content));
    if (by.length > 0) row.append(h("span", { class: "by", title: by.join(", ") }, by.join(", ")));
    to.append(row);
  }

  draw(to: Element, tree: Tree, depth: number, name: string, comma: string): void {
    const label = (): (Node | string)[] => (name ? [h("span", { class: "name" }, name), ": "] : []);
    const span = this.spans.get(tree.start);
    const by = span?.readBy ?? [];
    const mark = by.length > 0 ? " marked" : "";
    if (tree.kind !== "object" && tree.kind !== "list") {
      const text = tree.text.length > longestText ? tree.text.slice(0, longestText) + "…" : tree.text;
      this.line(to, depth, by, ...label(), h("span", { class: tree.kind + mark }, text), comma);
      return;
    }
    const [open, close] = tree.kind === "object" ? ["{", "}"] : ["[", "]"];
    const size = tree.kind === "object" ? tree.members.length : tree.elements.length;
    if (size === 0) {
      this.line(to, depth, by, ...label(), h("span", { class: mark }, open + close), comma);
      return;
    }
    const note = tree.kind === "list" ? ` ${size}${span?.items ? (size === 1 ? " item" : " items") : ""}` : "";
    const unfold = (into: Element): void => {
      this.line(into, depth, by, ...label(), h("span", { class: mark }, open), h("span", { class: "count" }, note));
      this.children(into, tree, depth);
      this.line(into, depth, [], close + comma);
    };
    if (depth > 2 && !this.reads(tree)) to.append(this.fold(depth, unfold, ...label(), `${open} … ${close}${comma}`, h("span", { class: "count" }, note)));
    else unfold(to);
  }

  /** fold returns a button that is replaced by what it stands for. */
  private fold(depth: number, unfold: (into: Element) => void, ...content: (Node | string)[]): HTMLElement {
    const button = h("button", { class: "fold", type: "button", "aria-expanded": "false", vars: { "--depth": String(depth) } }, content);
    button.addEventListener("click", () => {
      const part = h("div", { tabindex: "-1" });
      unfold(part);
      button.replaceWith(part);
      part.focus();
    });
    return button;
  }

  private children(to: Element, tree: Branch, depth: number): void {
    if (tree.kind === "object") {
      tree.members.forEach((m, i) => this.draw(to, m.value, depth + 1, m.name, i + 1 < tree.members.length ? "," : ""));
      return;
    }
    const all = tree.elements;
    const draw = (into: Element, from: number, until: number): void => {
      for (let i = from; i < until; i++) this.draw(into, all[i]!, depth + 1, "", i + 1 < all.length ? "," : "");
    };
    const first = all.length <= shownElements + 1 ? all.length : shownElements;
    draw(to, 0, first);
    if (first < all.length) to.append(this.fold(depth + 1, (into) => draw(into, first, all.length), `… ${all.length - first} more`));
  }
}

/** show returns the elements for a body. Long lists are folded, and so is what is deep and no rule reads. */
export function show(body: string, spans: Span[], label: string): HTMLElement {
  const tree = parse(body);
  if (!tree) return h("pre", { class: "raw", tabindex: "0", "aria-label": label }, body);
  const root = h("div", { class: "json", tabindex: "0", role: "group", "aria-label": label });
  new Drawing(spans).draw(root, tree, 0, "", "");
  return root;
}
