/** The editor: CodeMirror with what the workbench knows. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, nextDiagnostic, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, tooltips } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Completion, Diagnostic, Edit, Hover, Position, Range } from "./types.ts";
import { h } from "./dom.ts";

/** What the editor asks for. */
export interface Knowledge {
  changed(): void;
  save(): void;
  run(): void;
  complete(position: Position): Promise<Completion[]>;
  hover(position: Position): Promise<Hover | null>;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--dim)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "transparent", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--accent)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none", paddingLeft: "4px" },
  ".cm-activeLine": { backgroundColor: "var(--line-active)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-foldGutter .cm-gutterElement": { color: "var(--faint)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection) !important" },
  ".cm-selectionMatch": { backgroundColor: "var(--wash-strong)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--wash-strong)", outline: "1px solid var(--line-strong)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "8px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete": { overflow: "visible" }, // the documentation is beside the list
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { borderRadius: "7px", fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionInfo": { padding: "8px 12px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.5", maxWidth: "360px", whiteSpace: "pre-wrap" },
  ".cm-tooltip-hover": { maxWidth: "min(460px, 90vw)" },
  ".known": { padding: "8px 12px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.5", maxHeight: "300px", overflow: "auto" },
  ".cm-completionInfo .known": { padding: "0" },
  ".known p": { margin: "0 0 6px", whiteSpace: "pre-wrap" },
  ".known p:last-child": { margin: "0" },
  ".known code, .known pre": { fontFamily: "var(--mono)", fontSize: "12px" },
  ".known pre": { margin: "0 0 6px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic": { padding: "6px 12px", fontFamily: "var(--sans)", fontSize: "13px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)", borderRadius: "6px", padding: "2px 8px", marginLeft: "8px", border: "none", font: "inherit", cursor: "pointer" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
  ".cm-lint-marker": { width: "8px", height: "8px", borderRadius: "50%", content: "normal !important", display: "inline-block" },
  ".cm-lint-marker-error": { backgroundColor: "var(--bad)" },
  ".cm-lint-marker-warning": { backgroundColor: "var(--warn)" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-panels": { backgroundColor: "var(--wash)", color: "var(--ink)" },
  ".cm-panels.cm-panels-bottom, .cm-panels.cm-panels-top": { borderColor: "var(--line)" },
  ".cm-textfield": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "6px" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "6px" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)" },
});

export class Editor {
  readonly view: EditorView;
  private readonly language = new Compartment();
  private readonly writable = new Compartment();

  /** The editor lives in a shadow root, where its style sheets are objects: the policy of the page allows no style elements. */
  constructor(host: HTMLElement, private readonly knowledge: Knowledge) {
    const root = host.attachShadow({ mode: "open" });
    const shell = new CSSStyleSheet();
    shell.replaceSync(":host { display: block; } .shell { height: 100%; }");
    root.adoptedStyleSheets.push(shell);
    const parent = h("div", { class: "shell" });
    root.append(parent);
    this.view = new EditorView({ root, parent, state: this.stateOf("", "config.json") });
  }

  private stateOf(text: string, name: string): EditorState {
    const { knowledge } = this;
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), foldGutter(), drawSelection(), history(), indentOnInput(), bracketMatching(),
        closeBrackets(), search({ top: true }), highlightSelectionMatches(), lintGutter(), syntaxHighlighting(colours), look, indentUnit.of("  "),
        tooltips({ position: "fixed" }), EditorView.lineWrapping,
        this.language.of(/\.ya?ml$/.test(name) ? yaml() : json()), this.writable.of([]),
        EditorView.contentAttributes.of({ "aria-label": "Text of the configuration", autocapitalize: "off", autocorrect: "off" }),
        autocompletion({ override: [(context) => this.complete(context)], icons: false }),
        hoverTooltip(async (view, at) => {
          const known = await knowledge.hover(position(view.state.doc, at));
          if (!known) return null;
          const range = offsets(view.state.doc, known.range);
          return { pos: range.from, end: range.to, create: () => ({ dom: prose(known.text) }) };
        }, { hoverTime: 250 }),
        keymap.of([
          { key: "Mod-s", run: () => (knowledge.save(), true) },
          { key: "Mod-Enter", run: () => (knowledge.run(), true) },
          { key: "F8", run: nextDiagnostic },
          ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap,
          // Tab leaves the editor unless a line is selected, so that nobody who uses a keyboard is caught in it.
          { key: "Tab", run: (view) => !view.state.selection.main.empty && (indentWithTab.run?.(view) ?? false), shift: indentWithTab.shift! },
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) knowledge.changed();
        }),
      ],
    });
  }

  private async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const word = context.matchBefore(/[\w.$-]+/);
    if (!word && !context.explicit && !/["'{:.,([ ]$/.test(context.state.doc.lineAt(context.pos).text.slice(0, context.pos - context.state.doc.lineAt(context.pos).from))) return null;
    const found = await this.knowledge.complete(position(context.state.doc, context.pos));
    if (context.aborted || found.length === 0) return null;
    const doc = context.state.doc;
    const only = found.length === 1 ? found[0]!.edit : null;
    if (only && doc.sliceString(offset(doc, only.range.start), context.pos) === only.newText) return null; // it is written already
    const starts = found.map((c) => offset(doc, c.edit.range.start));
    const from = Math.min(...starts);
    return {
      from,
      validFor: /^[\w-]*$/,
      options: found.map((c, i) => ({
        label: c.label,
        ...(c.detail ? { detail: c.detail } : {}),
        ...(c.doc ? { info: () => prose(c.doc!) } : {}),
        boost: -i / 1000,
        apply: (view, _completion, begin, end) => {
          const start = begin + (starts[i]! - from);
          const stop = Math.max(end, end + offset(doc, c.edit.range.end) - context.pos);
          const text = c.edit.newText;
          const caret = text.indexOf("$0");
          view.dispatch({ changes: { from: start, to: stop, insert: text.replace("$0", "") }, selection: { anchor: start + (caret < 0 ? text.length : caret) } });
          if (text.endsWith(": ")) startCompletion(view); // a key wants its value
        },
      })),
    };
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** open shows another text. Its history begins anew. */
  open(text: string, name: string): void {
    this.view.setState(this.stateOf(text, name));
  }

  /** replace replaces the text as an edit, which can be undone. */
  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** mark shows what is wrong. */
  mark(found: Diagnostic[]): void {
    const doc = this.view.state.doc;
    const marks: Mark[] = found.map((d) => ({
      ...offsets(doc, d.range),
      severity: d.severity,
      message: d.hint ? `${d.message}\n${d.hint}` : d.message,
      actions: d.fix ? [{ name: d.fix.title, apply: () => this.apply(d.fix!.edits) }] : [],
    }));
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  apply(edits: Edit[]): void {
    const doc = this.view.state.doc;
    this.view.dispatch({ changes: edits.map((e) => ({ ...offsets(doc, e.range), insert: e.newText })) });
    this.view.focus();
  }

  /** reveal puts the caret at a position. */
  reveal(at: Position): void {
    const anchor = offset(this.view.state.doc, at);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }

  suggest(): void {
    startCompletion(this.view);
  }
}

function position(doc: Text, at: number): Position {
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}

function offset(doc: Text, at: Position): number {
  if (at.line >= doc.lines) return doc.length;
  const line = doc.line(Math.max(at.line, 0) + 1);
  return Math.min(line.from + at.character, line.to);
}

function offsets(doc: Text, range: Range): { from: number; to: number } {
  const from = offset(doc, range.start);
  return { from, to: Math.max(offset(doc, range.end), from) };
}

/** prose shows the little Markdown that hovers have: paragraphs, code, and blocks of code. */
export function prose(text: string): HTMLElement {
  const root = h("div", { class: "known" });
  for (const block of text.split(/\n{2,}|(?=^```)|(?<=^```)\n/m)) {
    const code = /^```\w*\n?([^]*?)\n?(```)?$/.exec(block);
    if (code) {
      if (code[1]) root.append(h("pre", null, code[1]));
      continue;
    }
    if (!block.trim()) continue;
    const paragraph = h("p");
    block.split(/(`[^`]+`|\*\*[^*]+\*\*)/).forEach((part) => {
      if (part.startsWith("`")) paragraph.append(h("code", null, part.slice(1, -1)));
      else if (part.startsWith("**")) paragraph.append(h("strong", null, part.slice(2, -2)));
      else paragraph.append(part);
    });
    root.append(paragraph);
  }
  return root;
}
