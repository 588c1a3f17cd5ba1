// The goodput that the page shows beside what the line can carry.

import assert from "node:assert/strict";
import test from "node:test";
import type { About } from "../src/protocol.ts";
import { FIRST, request, type Settings } from "../src/settings.ts";
import { Track } from "../src/track.ts";

interface Show {
  about(): string;
  advance(to: number): void;
  now(): number;
  packets(column: number): Float64Array;
  answers(column: number): Float64Array;
  flows(column: number): Float64Array;
  free(): void;
}
const { wasm } = (await import(new URL("../tests/module.mjs", import.meta.url).href)) as {
  wasm: { Show: new (request: string) => Show };
};

/** Largest goodput of all uploads together that the page would show in this time, in Mbit/s. */
function highest(settings: Settings, seconds: number): number {
  const show = new wasm.Show(JSON.stringify(request(settings)));
  const about = JSON.parse(show.about()) as About;
  const tracks = about.columns.map(() => new Track(about));
  let most = 0;
  // Steps of the screen at real time, and now and then of a slow machine.
  for (let to = 50e6; to <= seconds * 1e9; to += to % 1000e6 === 0 ? 450e6 : 50e6) {
    show.advance(to);
    tracks.forEach((track, column) => {
      track.take({ packets: show.packets(column), answers: show.answers(column), flows: show.flows(column) }, show.now());
      track.forget(to, 0);
      const sum = about.flows.reduce((all, flow, at) => all + (flow.kind === "ping" ? 0 : track.goodput(at, to)), 0);
      most = Math.max(most, sum);
    });
  }
  show.free();
  return most;
}

const LINES = [["1mbit", 1, 100], ["1mbit", 2, 100], ["300kbit", 4, 50], ["10mbit", 2, 500]] as const;

for (const [up, count, limit, transport] of LINES.flatMap((line) => [[...line, "TCP"], [...line, "QUIC"]] as const)) {
  test(`no goodput exceeds a line of ${up} with ${count} uploads over ${transport}, also after losses`, () => {
    const uploads = transport === "TCP" ? { uploads: count } : { uploads: 0, quicUploads: count };
    const settings = { ...FIRST, up, ...uploads, downloads: 0, time: "60s", qdiscs: [`pfifo limit ${limit}`, "codel"] };
    const line = up.endsWith("kbit") ? parseFloat(up) / 1000 : parseFloat(up);
    const most = highest(settings, 40);
    // A packet of 1448 bytes may begin before the two seconds.
    assert.ok(most <= line + (1448 * 8) / 2e6, `${most} Mbit/s on a line of ${line}`);
    assert.ok(most > 0.8 * line, `${most} Mbit/s on a line of ${line}`);
  });
}
