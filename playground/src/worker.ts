// The simulator, off the page's thread.

import init, { Show, catalogue } from "../pkg/goodqueue_wasm.js";
import type { About, ColumnFrame, FromWorker, ToWorker } from "./protocol.ts";

let show: Show | null = null;
let number = -1;
let count = 0;
let request = "";

function post(message: FromWorker, transfer: Transferable[] = []): void {
  (self as unknown as Worker).postMessage(message, transfer);
}

function load(message: Extract<ToWorker, { type: "load" }>): void {
  show?.free();
  show = null;
  number = message.show;
  request = JSON.stringify(message.request);
  show = new Show(request);
  const about = JSON.parse(show.about()) as About;
  count = about.columns.length;
  post({ type: "loaded", show: number, about });
}

function advance(running: Show, to: number): void {
  const begun = performance.now();
  running.advance(to);
  const spent = performance.now() - begun;
  const columns: ColumnFrame[] = Array.from({ length: count }, (_, column) => ({
    packets: running.packets(column),
    answers: running.answers(column),
    flows: running.flows(column),
  }));
  const buffers = columns.flatMap((column) => [column.packets.buffer, column.answers.buffer, column.flows.buffer]);
  post(
    { type: "frame", show: number, now: running.now(), isOver: running.is_over(), columns, spent },
    buffers as ArrayBuffer[],
  );
}

function handle(message: ToWorker): void {
  if (message.type === "load") return load(message);
  if (show === null || message.show !== number) return;
  if (message.type === "advance") return advance(show, message.to);
  if (message.type === "story") {
    const { column, packet } = message;
    return post({ type: "story", show: number, column, packet, story: JSON.parse(show.story(column, packet)) });
  }
  if (message.type === "measure") {
    // The show goes on, so another one is measured.
    const other = new Show(request);
    other.advance(message.to);
    return post({ type: "measured", show: number, json: other.finish(), to: message.to });
  }
  const json = show.finish();
  // Stories are still told: they make the run again.
  show = new Show(request);
  post({ type: "results", show: number, json });
}

self.onmessage = async (event: MessageEvent<ToWorker>) => {
  try {
    await ready;
    handle(event.data);
  } catch (error) {
    post({ type: "refused", show: event.data.show, message: error instanceof Error ? error.message : String(error) });
  }
};

const ready = init({ module_or_path: new URL("goodqueue_wasm_bg.wasm", import.meta.url) });
await ready;
post({ type: "ready", catalogue: JSON.parse(catalogue()) });
