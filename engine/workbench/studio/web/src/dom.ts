/** Builds elements. Texts become text nodes, never HTML. */

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

/** h returns an element with properties, attributes, listeners (onclick) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "class") element.className = String(value);
    else if (name === "vars") for (const [key, v] of Object.entries(value as Record<string, string>)) element.style.setProperty(key, v);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** append adds children to an element. */
export function append(to: Node, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    to.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** fill replaces the children of an element. */
export function fill(element: Element, ...children: (Child | Child[])[]): void {
  const next = document.createDocumentFragment();
  append(next, children);
  element.replaceChildren(next);
}

/** byID returns an element of index.html. */
export function byID<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element ${id}`);
  return element as T;
}

const svgNamespace = "http://www.w3.org/2000/svg";

/** icon returns a drawing of 16 by 16 with one path. It is decoration, which a screen reader skips. */
export function icon(path: string, className = "icon"): SVGElement {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const drawing = document.createElementNS(svgNamespace, "path");
  drawing.setAttribute("d", path);
  svg.appendChild(drawing);
  return svg;
}

/** counted writes a number with its noun: 1 page, 2 pages. */
export function counted(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** grouped writes a number with separators of thousands. */
export function grouped(n: number): string {
  return n.toLocaleString("en-US");
}

/** debounced returns a function that calls f once nobody has called it for a while. */
export function debounced(f: () => void, milliseconds: number): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(f, milliseconds);
  };
}
