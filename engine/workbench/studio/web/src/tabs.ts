/** Tabs: arrows move between them, and the panel shows the selected one. */
import { fill, h } from "./dom.ts";

export interface Tab { id: string; title: string; render(to: HTMLElement): void }

export class Tabs {
  current: string;
  private readonly buttons = new Map<string, HTMLButtonElement>();

  constructor(bar: HTMLElement, private readonly panel: HTMLElement, private readonly all: Tab[]) {
    this.current = all[0]!.id;
    for (const tab of all) {
      const button = h("button", { class: "tab", type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": "panel", onclick: () => this.open(tab.id) }, tab.title);
      this.buttons.set(tab.id, button);
      bar.append(button);
    }
    bar.addEventListener("keydown", (e) => {
      const at = all.findIndex((t) => t.id === this.current);
      const to = { ArrowRight: (at + 1) % all.length, ArrowLeft: (at + all.length - 1) % all.length, Home: 0, End: all.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      this.open(all[to]!.id);
      this.buttons.get(this.current)!.focus();
    });
    this.mark();
  }

  private mark(): void {
    for (const [id, button] of this.buttons) {
      button.setAttribute("aria-selected", String(id === this.current));
      button.tabIndex = id === this.current ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${this.current}`);
  }

  /** open shows a tab from its top. */
  open(id: string): void {
    if (id !== this.current) {
      this.current = id;
      this.panel.scrollTop = 0;
    }
    this.mark();
    this.refresh();
  }

  /** refresh shows the current tab again, at the place to which it was scrolled. */
  refresh(): void {
    const top = this.panel.scrollTop;
    this.all.find((t) => t.id === this.current)!.render(this.panel);
    this.panel.scrollTop = top;
  }

  badge(id: string, text: string, tone: string): void {
    const tab = this.all.find((t) => t.id === id)!;
    fill(this.buttons.get(id)!, tab.title, text ? h("span", { class: `badge ${tone}` }, text) : null);
  }
}
