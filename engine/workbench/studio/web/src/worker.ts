/** The worker of the playground: it loads the engine, and answers the calls of the page one after the other. */
// @ts-expect-error the script of the Go toolchain has no types; it defines Go
import "./wasm_exec.js";

interface Go { importObject: WebAssembly.Imports; run(instance: WebAssembly.Instance): Promise<void> }
type Global = typeof globalThis & { Go: new () => Go; stopwhenCall(method: string, params: string): Promise<string> };
const scope = globalThis as Global;

/** counted reports how much of a body has arrived. */
function counted(response: Response): ReadableStream<Uint8Array<ArrayBuffer>> {
  const size = Number(response.headers.get("Content-Length") ?? 0);
  let loaded = 0;
  return response.body!.pipeThrough(new TransformStream({
    transform(chunk: Uint8Array<ArrayBuffer>, to) {
      loaded += chunk.byteLength;
      postMessage({ progress: [loaded, size] });
      to.enqueue(chunk);
    },
  }));
}

async function load(): Promise<void> {
  const response = await fetch("stopwhen.wasm.gz");
  if (!response.ok) throw new Error(`stopwhen.wasm.gz: status ${response.status}`);
  let body = counted(response);
  // Some servers declare the compression, and then the browser has undone it.
  if (!response.headers.get("Content-Encoding")) body = body.pipeThrough(new DecompressionStream("gzip"));
  const go = new scope.Go();
  const { instance } = await WebAssembly.instantiateStreaming(new Response(body, { headers: { "Content-Type": "application/wasm" } }), go.importObject);
  void go.run(instance).then(() => {
    throw new Error("the engine has ended");
  });
  postMessage({ ready: true });
}

onmessage = async ({ data }: MessageEvent<{ id: number; method: string; params: string }>) => {
  postMessage({ id: data.id, answer: await scope.stopwhenCall(data.method, data.params) });
};

load().catch((error: unknown) => postMessage({ failed: String(error) }));
