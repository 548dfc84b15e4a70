/** What surrounds the panes: dialogs, messages, the theme, the divider, files that are dropped. */
import { append, byID, fill, h, icon } from "./dom.ts";

let hiding = 0;

/** toast shows a short message, which goes away. */
export function toast(text: string): void {
  const box = byID("toast");
  box.textContent = text;
  box.classList.add("on");
  clearTimeout(hiding);
  hiding = window.setTimeout(() => box.classList.remove("on"), 2500 + 40 * text.length);
}

const themes = { auto: ["Theme of the system", "M8 2.5a5.5 5.5 0 100 11zM8 2.5a5.5 5.5 0 010 11"], light: ["Light theme", "M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6M8 1.2v1.4M8 13.4v1.4M1.2 8h1.4M13.4 8h1.4M3.2 3.2l1 1M11.8 11.8l1 1M3.2 12.8l1-1M11.8 4.2l1-1"], dark: ["Dark theme", "M13 9.5A5.5 5.5 0 116.5 3 4.5 4.5 0 0013 9.5z"] } as const;
type Theme = keyof typeof themes;

/** themeSwitch returns a button that goes from the theme of the system to the light and the dark one. */
export function themeSwitch(): HTMLElement {
  const kept = localStorage.getItem("stopwhen-theme");
  let theme: Theme = kept === "light" || kept === "dark" ? kept : "auto";
  const button = h("button", { class: "button quiet square", type: "button", id: "theme" });
  const apply = (): void => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("stopwhen-theme", theme);
    button.title = themes[theme][0];
    button.setAttribute("aria-label", themes[theme][0]);
    fill(button, icon(themes[theme][1]));
  };
  button.addEventListener("click", () => {
    theme = theme === "auto" ? "light" : theme === "light" ? "dark" : "auto";
    apply();
  });
  apply();
  return button;
}

/** divider lets the pointer and the arrows change the width of the editor. */
export function divider(element: HTMLElement): void {
  const set = (percent: number): void => {
    const value = Math.min(Math.max(percent, 25), 70);
    document.documentElement.style.setProperty("--left", `${value}%`);
    element.setAttribute("aria-valuenow", String(Math.round(value)));
  };
  element.addEventListener("pointerdown", (e) => {
    element.setPointerCapture(e.pointerId);
    e.preventDefault();
  });
  element.addEventListener("pointermove", (e) => {
    if (element.hasPointerCapture(e.pointerId)) set((100 * e.clientX) / window.innerWidth);
  });
  element.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[e.key];
    if (by === undefined) return;
    e.preventDefault();
    set(Number(element.getAttribute("aria-valuenow")) + by);
  });
}

/** confirm asks, and returns the index of the answer, or -1. */
export async function confirm(title: string, text: string, answers: string[]): Promise<number> {
  const dialog = h("dialog", { "aria-labelledby": "dialogTitle" });
  const close = (value: number) => () => dialog.close(String(value));
  append(dialog, [h("h2", { id: "dialogTitle" }, title), h("p", null, text),
    h("div", { class: "row" }, h("button", { class: "button", type: "button", onclick: close(-1) }, "Cancel"), answers.map((a, i) => h("button", { class: i === 0 ? "button primary" : "button", type: "button", onclick: close(i) }, a)))]);
  return Number((await shown(dialog)) || -1);
}

interface Choice { value: string; title: string; text: string }

/** choose lets the user search and pick, and returns the value, or "". */
export async function choose(title: string, text: string, all: Choice[]): Promise<string> {
  const dialog = h("dialog", { "aria-labelledby": "dialogTitle" });
  const list = h("div", { class: "choices", id: "choices" });
  const field = h("input", { class: "field", type: "search", placeholder: `Search ${all.length} names and descriptions`, "aria-label": "Search", "aria-controls": "choices", autofocus: true });
  const most = 200;
  const search = (): void => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((c) => words.every((w) => `${c.title} ${c.text}`.toLowerCase().includes(w)));
    fill(list, found.slice(0, most).map((c) => h("button", { class: "choice", type: "button", onclick: () => dialog.close(c.value) }, h("b", null, c.title), h("span", null, c.text))),
      found.length === 0 ? h("p", { class: "choice" }, "Nothing is found.") : null);
    list.scrollTop = 0;
  };
  field.addEventListener("input", search);
  dialog.addEventListener("keydown", (e) => {
    const choices = [...list.querySelectorAll<HTMLElement>("button")];
    const at = choices.findIndex((c) => c === document.activeElement);
    if (e.key === "Enter" && e.target === field) choices[0]?.click();
    else if (e.key === "ArrowDown") choices[Math.min(at + 1, choices.length - 1)]?.focus();
    else if (e.key === "ArrowUp") (choices[at - 1] ?? field).focus();
    else return;
    e.preventDefault();
  });
  append(dialog, [h("h2", { id: "dialogTitle" }, title), h("p", null, text), field, list]);
  search();
  return shown(dialog);
}

/** shown shows a dialog until it is closed, and returns its value. Escape gives "". */
function shown(dialog: HTMLDialogElement): Promise<string> {
  document.body.append(dialog);
  dialog.addEventListener("click", (e) => {
    if (e.target === dialog) dialog.close();
  });
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    dialog.showModal();
  });
}

/** dropZone opens a file that is dropped onto the page. */
export function dropZone(open: (file: File) => void): void {
  const sign = h("div", { class: "drop", "aria-hidden": "true" }, "Drop a recording (HAR) or a configuration");
  let depth = 0;
  const hasFile = (e: DragEvent): boolean => !!e.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (e) => hasFile(e) && depth++ === 0 && document.body.append(sign));
  addEventListener("dragleave", (e) => hasFile(e) && --depth <= 0 && ((depth = 0), sign.remove()));
  addEventListener("dragover", (e) => hasFile(e) && e.preventDefault());
  addEventListener("drop", (e) => {
    if (!hasFile(e)) return;
    e.preventDefault();
    depth = 0;
    sign.remove();
    const file = e.dataTransfer?.files[0];
    if (file) open(file);
  });
}
