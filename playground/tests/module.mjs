// The WebAssembly module and the command, beside each other.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import * as wasm from "../pkg/goodqueue_wasm.js";

wasm.initSync({ module: readFileSync(new URL("../pkg/goodqueue_wasm_bg.wasm", import.meta.url)) });

export { wasm };

const beside = ["release", "debug"].map((profile) => new URL(`../../target/${profile}/goodqueue`, import.meta.url).pathname);
const COMMAND = process.env.GOODQUEUE ?? beside.find((path) => existsSync(path));

/** Returns the JSON of `goodqueue compare` for a request, or its message if it refuses. */
export async function native(request) {
  if (COMMAND === undefined) throw new Error("the goodqueue command is not built: run `make build`, or set GOODQUEUE");
  const words = ["compare", ...(request.builtin ? [request.builtin] : [])];
  for (const key of ["rate", "up", "rtt", "flows", "time", "seed"]) {
    if (request[key] !== undefined) words.push(`--${key}`, request[key]);
  }
  for (const line of request.qdiscs ?? []) words.push("--qdisc", line);
  for (const setting of request.set ?? []) words.push("--set", setting);
  try {
    const { stdout } = await promisify(execFile)(COMMAND, [...words, "--quiet", "--json", "-"], { maxBuffer: 1 << 30 });
    return { json: stdout };
  } catch (error) {
    if (error.code !== 2 && error.code !== 1) throw error;
    return { message: error.stderr.replace(/^error: /, "").trimEnd() };
  }
}

/** Returns the same of the module. */
export function inPage(request) {
  try {
    return { json: wasm.simulate(JSON.stringify(request)) };
  } catch (error) {
    return { message: error.message.trimEnd() };
  }
}

/** Returns the JSON of `goodqueue advise` for a question. */
export async function advisedByCommand(asked) {
  if (COMMAND === undefined) throw new Error("the goodqueue command is not built: run `make build`, or set GOODQUEUE");
  const words = ["advise", asked.rates, "--link", asked.link, "--seeds", String(asked.seeds), "--quiet", "--json", "-"];
  if (asked.ping !== undefined) words.push("--ping", asked.ping);
  const { stdout } = await promisify(execFile)(COMMAND, words, { maxBuffer: 1 << 30 });
  return stdout;
}
