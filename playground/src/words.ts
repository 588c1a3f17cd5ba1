// The sentence that tells what happens.

import { capital, plainName } from "./plain.ts";
import type { About } from "./protocol.ts";
import { UP, type QueueId, type Reading, type Track } from "./track.ts";

/** Shows nanoseconds as milliseconds. */
export function ms(nanos: number): string {
  const value = nanos / 1e6;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** Shows a span of time: `2 s`, `50 ms`. */
export function span(nanos: number): string {
  return nanos >= 1e9 ? `${Math.round(nanos / 1e8) / 10} s` : nanos >= 1e6 ? `${Math.round(nanos / 1e5) / 10} ms` : `${Math.round(nanos / 100) / 10} µs`;
}

/** Base round-trip time of the pings in nanoseconds; Infinity if there are none. */
export function idle(about: About): number {
  return Math.min(...about.flows.filter((flow) => flow.kind === "ping").map((flow) => flow.rtt));
}

/** How a ping feels beside that of the idle line. Short lines have shorter limits. */
export function grade(time: number, base: number): "good" | "fair" | "bad" {
  const waited = time - base;
  return waited < Math.min(30e6, 3 * base) ? "good" : waited < Math.min(150e6, 10 * base) ? "fair" : "bad";
}

/** What a ping meets in a column at `now`. */
export interface Seen {
  label: string;
  time: number;
  /** Flows whose packets are in the queue at which pings wait longer, and that side. */
  flows: number;
  side: "up" | "down";
  /** Name of the place of that queue; null for that of the compared disciplines. */
  place: string | null;
  /** True if pings hardly wait in the queues of the picture. */
  isElsewhere: boolean;
}

/** `ping` is the reading that the column shows in large, so that both have one value. */
export function seenIn(about: About, track: Track, label: string, ping: Reading | null, now: number): Seen | null {
  if (ping === null) return null;
  const { queue, longest } = waits(track, now);
  return {
    label, time: ping.time, flows: track.flowsIn(queue, now), side: queue % 2 === UP ? "up" : "down",
    place: about.places[queue >> 1]?.name ?? null, isElsewhere: longest < ping.time / 10,
  };
}

/** The queue in which the last answered ping and those behind it wait longest, and how long. */
function waits(track: Track, now: number): { queue: QueueId; longest: number } {
  let [queue, longest]: [QueueId, number] = [UP, 0];
  const since = track.answersUntil(now).at(-1)?.sentAt ?? 0;
  for (const packet of track.recent.ping) {
    if (packet.flow !== track.probe || packet.arrived > now || packet.arrived < since) continue;
    const spent = Math.min(packet.left, now) - packet.arrived;
    if (spent > longest) [queue, longest] = [packet.queue, spent];
  }
  return { queue, longest };
}

/**
 * The name of a column in a sentence: plain words with its discipline. A discipline that is long, or that another column
 * has too, is named by its place.
 */
export function nameOf(about: About, index: number): string {
  const label = about.columns[index]?.label ?? "";
  const isOnly = about.columns.filter((column) => column.label === label).length === 1;
  const place = `the ${["first", "second", "third"][index] ?? `${index + 1}th`} queue`;
  const short = isOnly && label.length <= 32 ? label : place;
  const plain = plainName(about, index);
  return plain === null ? short : `${plain} (${short})`;
}

/** Shown before the first ping. */
export const BEGINNING = "The transfers begin. Watch the yellow diamond: it is a ping.";
/** Shown beside an error: nothing of an earlier run is left. */
export const REFUSED = "Nothing runs: the page cannot show these settings. The message below tells what is allowed.";

/** Returns the sentence for all columns. */
export function sentence(about: About, columns: (Seen | null)[]): string {
  const base = idle(about);
  if (!Number.isFinite(base)) return "No ping measures this scenario. Add one to see how long packets wait.";
  const seen = columns.filter((column): column is Seen => column !== null);
  const [first] = seen;
  if (first === undefined) return BEGINNING;
  const worst = seen.reduce((a, b) => (b.time > a.time ? b : a), first);
  const best = seen.reduce((a, b) => (b.time < a.time ? b : a), first);
  const waited = worst.time - base;
  if (waited < Math.max(Math.min(10e6, base), base / 4)) {
    return `No queue is long: the ping takes ${ms(worst.time)}, little more than the ${ms(base)} of the idle line.`;
  }
  const why = worst.isElsewhere ? `but not in these queues: it waits ${place(about)}` : `since it waits behind ${behind(worst)}`;
  const start = `In ${worst.label} the ping takes ${ms(worst.time)}, ${why}.`;
  if (best === worst || best.time > 0.6 * worst.time) {
    return seen.length < 2 ? `${start} The idle line needs ${ms(base)}.` : `${start} The other ${seen.length === 2 ? "queue does" : "queues do"} not do much better.`;
  }
  return `${start} ${capital(best.label)} lets it pass: ${ms(best.time)}.`;
}

/** Where packets can wait that the picture does not show. */
function place(about: About): string {
  const hops = (about.scenario["hops"] as { name: string }[] | undefined) ?? [];
  return hops.length > 0 ? `at another hop (${hops.map((hop) => hop.name).join(", ")})` : "in the sender or the device";
}

function behind({ flows, side, place }: Seen): string {
  const word = side === "up" ? "upload" : "download";
  const where = place === null ? "" : place === "WiFi" ? " on the WiFi" : ` in the ${place}`;
  if (flows === 0) return `the queued packets${where}`;
  return `${flows === 1 ? `the ${word}` : `${flows} ${word}s`}${where}`;
}
