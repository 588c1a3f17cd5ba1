// The search for advice, off the page's thread.

import init, { advise, catalogue } from "../pkg/goodqueue_wasm.js";
import type { Advice, First, FromAdviser, ToAdviser } from "./answer.ts";

function post(message: FromAdviser): void {
  (self as unknown as Worker).postMessage(message);
}

self.onmessage = async ({ data }: MessageEvent<ToAdviser>) => {
  await started;
  try {
    let html = "";
    const json = advise(
      data.question, data.name, data.flent,
      (first: string) => post({ type: "first", first: JSON.parse(first) as First }),
      (fraction: number) => post({ type: "came", fraction }),
      (page: string) => { html = page; },
    );
    post({ type: "done", answered: { advice: JSON.parse(json) as Advice, html } });
  } catch (error) {
    post({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};

const started = init({ module_or_path: new URL("goodqueue_wasm_bg.wasm", import.meta.url) }).then(() => {
  post({ type: "ready", links: (JSON.parse(catalogue()) as { links: { name: string; title: string }[] }).links });
});
