/** Calls the workbench: over HTTP in the studio, and in a worker in the playground. */

export class CallError extends Error {
  constructor(message: string, readonly hint = "", readonly kind: "answer" | "lost" = "answer") {
    super(message);
  }
}

export type Call = <T>(method: string, params?: unknown, signal?: AbortSignal) => Promise<T>;

interface Answer { result?: unknown; error?: { message: string; hint?: string } }

function resultOf<T>(answer: Answer): T {
  if (answer.error) throw new CallError(answer.error.message, answer.error.hint);
  return answer.result as T;
}

const stored = "stopwhen-token";

/** studio returns the calls of a studio, or null without its token. It takes the token out of the address bar. */
export async function studio(): Promise<Call | null> {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  let token = given ?? sessionStorage.getItem(stored);
  if (!token) return null;
  const call: Call = async <T>(method: string, params: unknown = {}, signal?: AbortSignal): Promise<T> => {
    let response: Response;
    try {
      response = await fetch(`call/${method}`, {
        method: "POST", headers: { "Content-Type": "application/json", "Stopwhen-Token": token! }, body: JSON.stringify(params), signal: signal ?? null,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new CallError("The studio does not answer. Is stopwhen studio still running?", "Start it again, and open the address that it prints.", "lost");
    }
    if (response.status === 403) throw new CallError("The studio does not accept this page.", "Open the address that stopwhen studio has printed.", "lost");
    if (!response.ok) throw new CallError(await response.text());
    return resultOf<T>((await response.json()) as Answer);
  };
  token = (await call<{ token: string }>("enter")).token;
  sessionStorage.setItem(stored, token);
  return call;
}

interface Policies { createPolicy(name: string, rules: { createScriptURL(text: string): string }): { createScriptURL(text: string): unknown } }

/** trusted returns the address of the worker in the form that the policy of the page demands. */
function trusted(address: string): unknown {
  const policies = (window as unknown as { trustedTypes?: Policies }).trustedTypes;
  return policies ? policies.createPolicy("stopwhen", { createScriptURL: (text) => text }).createScriptURL(address) : address;
}

/** playground returns the calls of a playground. Progress is in bytes. */
export async function playground(progress: (loaded: number, size: number) => void): Promise<Call> {
  const worker = new Worker(trusted("worker.js") as string, { type: "module" });
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: unknown): void }>();
  let last = 0;
  await new Promise<void>((resolve, reject) => {
    worker.onerror = (e) => reject(new CallError("The engine could not be started.", e.message));
    worker.onmessage = ({ data }) => {
      if (data.progress) progress(data.progress[0], data.progress[1]);
      else if (data.failed) reject(new CallError("The engine could not be loaded.", data.failed));
      else if (data.ready) resolve();
      else {
        waiting.get(data.id)?.resolve(JSON.parse(data.answer) as Answer);
        waiting.delete(data.id);
      }
    };
  });
  worker.onerror = (e) => {
    for (const { reject } of waiting.values()) reject(new CallError("The engine has stopped. Reload the page.", e.message, "lost"));
    waiting.clear();
  };
  return async <T>(method: string, params: unknown = {}): Promise<T> => {
    const id = ++last;
    const answer = new Promise<Answer>((resolve, reject) => waiting.set(id, { resolve, reject }));
    worker.postMessage({ id, method, params: JSON.stringify(params) });
    return resultOf<T>(await answer);
  };
}
