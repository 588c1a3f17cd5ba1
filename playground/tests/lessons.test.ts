// What a lesson lets its reader observe does happen.

import assert from "node:assert/strict";
import test from "node:test";
import { LESSONS } from "../src/lessons.ts";
import type { About } from "../src/protocol.ts";
import { fromHash, request, toHash, type Settings } from "../src/settings.ts";
import { Track } from "../src/track.ts";

interface Show {
  about(): string;
  advance(to: number): void;
  now(): number;
  is_over(): boolean;
  packets(column: number): Float64Array;
  answers(column: number): Float64Array;
  flows(column: number): Float64Array;
  free(): void;
}
const { wasm } = (await import(new URL("../tests/module.mjs", import.meta.url).href)) as {
  wasm: { Show: new (request: string) => Show };
};

/** Plays a show in frames, until everything has been seen or the run is over. */
function play(settings: Settings, seen: ((tracks: Track[], now: number) => boolean)[]): boolean[] {
  const show = new wasm.Show(JSON.stringify(request(settings)));
  const about = JSON.parse(show.about()) as About;
  const tracks = about.columns.map(() => new Track(about));
  const found = seen.map(() => false);
  for (let to = 20e6; !show.is_over() && found.includes(false); to += 20e6) {
    show.advance(to);
    tracks.forEach((track, column) =>
      track.take({ packets: show.packets(column), answers: show.answers(column), flows: show.flows(column) }, show.now()));
    for (const track of tracks) track.forget(to, 0);
    if (to % 200e6 === 0) seen.forEach((see, at) => { found[at] ||= see(tracks, to); });
  }
  show.free();
  return found;
}

for (const lesson of LESSONS) {
  test(`${lesson.title}: everything that it promises can be observed`, () => {
    let settings = lesson.settings;
    assert.deepEqual(fromHash(toHash(settings, "0")), settings, "its address holds its settings");
    const parts: { settings: Settings; steps: typeof lesson.steps }[] = [{ settings, steps: [] }];
    for (const step of lesson.steps) {
      if (step.change !== undefined) {
        settings = { ...settings, ...step.change };
        parts.push({ settings, steps: [] });
      }
      parts.at(-1)?.steps.push(step);
    }
    for (const part of parts) {
      const found = play(part.settings, part.steps.map((step) => step.seen));
      found.forEach((isSeen, at) => assert.ok(isSeen, part.steps[at]?.say));
    }
  });
}
