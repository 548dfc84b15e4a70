/** The JSON of the workbench, as package workbench documents it. */

export interface Position { line: number; character: number }
export interface Range { start: Position; end: Position }
export interface Edit { range: Range; newText: string }
export interface Fix { title: string; edits: Edit[] }
export interface Diagnostic { range: Range; severity: "error" | "warning"; message: string; hint?: string; path?: string; fix?: Fix }

export interface Verdict { rule: string; met: boolean; because?: string; missing?: string[]; notes?: string[] }
export interface Finding { id: string; weight: "evidence" | "hint"; message: string; because?: string; partition?: string }
export interface Fault { class?: string; message: string; hint?: string }
export interface Sent { method: string; url: string; body?: unknown }
export type Outcome = "complete" | "limited" | "suspect" | "partial" | "guarded" | "failed" | "unfinished" | "";

export interface Page {
  number: number;
  job: string;
  page: number;
  partition?: Record<string, unknown>;
  request: Sent;
  status: number;
  count: number;
  written?: number;
  verdicts: Verdict[] | null;
  decision: "continue" | "stop";
  stoppedBy: string[] | null;
  outcome?: Outcome;
  dropped?: boolean;
  skipped?: boolean;
  attempts?: number;
  ms: number;
  findings?: Finding[];
  reason?: string;
  error?: Fault;
  why: string;
  items: unknown[];
}

export interface JobResult {
  job: string;
  outcome: Outcome;
  reason: string;
  stoppedBy?: string[];
  message: string;
  pages: number;
  items: number;
  filtered?: number;
  findings?: Finding[];
  error?: Fault;
  partitions?: object; // set for a job with variables
}

export interface Played { requests: string[]; unplayed?: string[]; missing?: string }

export interface Run { pages: Page[]; jobs: JobResult[]; error?: string; hint?: string; more?: boolean; played?: Played; model?: string[] }

export interface Header { name: string; value: string }
export interface ReadHeader { name: string; value?: string; absent?: boolean; readBy: string[] }
export interface Span { start: number; end: number; path: string; readBy: string[]; items?: boolean }
export interface ReadPath { path: string; type: string; count: number; of: number; sample?: string; items?: boolean; readBy?: string[]; absent?: boolean }
export interface Response {
  method: string; url: string; requestHeaders: Header[]; requestBody?: string;
  status: number; headers: Header[]; read: ReadHeader[]; body: string; bytes: number; clipped: boolean; spans: Span[]; paths: ReadPath[]; error?: string;
}

export interface Completion { label: string; kind: string; detail?: string; doc?: string; edit: Edit }
export interface Hover { text: string; range: Range }

export interface Origin { by: string; path?: string; at?: { line: number; column: number } }
export interface Rule {
  id: string; source: string; says?: string; origin: Origin; outcome?: string; guard?: boolean; never?: string; value?: string; first?: boolean; status?: number; drop?: boolean;
}
export interface JobExplanation {
  job: string; method?: string; scroller?: string; summary: string;
  firstRequest: Sent; secondRequest?: Sent;
  items: { path?: string; where: string; origin: Origin };
  state?: Rule[]; nextRequest?: Rule[]; stops?: Rule[]; noNextRequest?: Rule; onError?: Rule[]; computed?: Rule[]; shape?: Rule[]; keep?: Rule[]; audit?: Rule[];
  bounds: { says: string };
}
export interface Explained { current: boolean; text: string; data: { jobs: JobExplanation[] } }

export interface Change { path: string[]; value: unknown; append?: boolean; remove?: boolean }
export interface StressRow {
  behaviour: string; group?: string; says: string; requests: number; served: number; obtained: number; missing: number; duplicated: number;
  outcome: string; reason?: string; exit: number; findings?: string[]; verdict: "SILENT" | "endless" | "reported" | "complete"; why: string;
  fix?: { says: string; changes?: Change[]; improves?: string[]; costs?: string[] };
}
export interface StressReport { jobs: { job: string; model?: string[]; unknown?: string; rows: StressRow[] | null; leftOut?: { behaviour: string; why: string }[] }[] }

export interface TestResult {
  name: string; job: string; place?: string; ok: boolean; differences?: { of?: string; want?: string; got?: string; message?: string }[];
  because?: string[]; requests: string[] | null; exit: number;
}
export interface TestReport {
  tests: TestResult[] | null;
  coverage: { job: string; tests: number; rules: { rule: string; source: string; condition: boolean; guard?: boolean; evaluated: number; met: number; gap?: string }[] | null }[] | null;
}

/** The JSON of the studio's own calls. */

/** A page of a run as the line of pages shows it. */
export type Cell = Omit<Page, "items" | "verdicts" | "why"> & { met?: Verdict[] };
export interface RunView extends Omit<Run, "pages"> { id: string; pages: Cell[] }
export interface PageDetail { page: Page; response: Response | null; guards: string[] }
export interface RecordingInfo { id: string; name: string; exchanges: number; truncated?: boolean; saved?: boolean }
export interface Opened {
  name: string;
  text: string;
  file?: string; // path to which the configuration is saved
  recording?: RecordingInfo;
  case?: string; // built-in case whose API answers
  notice?: string; // such as why the recording beside the file cannot be read
  live: boolean; // whether a run can ask the API
  playground: boolean;
  version: string;
}
export interface ItemsView { count: number; columns: string[]; rows: string[][]; paths: ReadPath[]; clipped: boolean }
export interface CaseInfo { name: string; title: string }
