// The sentence that tells what happens.

import type { About, FlowInfo } from "./protocol.ts";
import { UP, type Track } from "./track.ts";

/** Shows nanoseconds as milliseconds. */
export function ms(nanos: number): string {
  const value = nanos / 1e6;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** How a ping feels beside that of the idle line. Short lines have shorter limits. */
export function grade(time: number, base: number): "good" | "fair" | "bad" {
  const waited = time - base;
  return waited < Math.min(30e6, 3 * base) ? "good" : waited < Math.min(150e6, 10 * base) ? "fair" : "bad";
}

/** The time that pings take in a column at `now`: the larger of the present one and the usual one. */
export interface Seen {
  label: string;
  time: number;
  /** Packets that wait in front of a ping, or would. */
  ahead: number;
  side: "up" | "down";
  drops: number;
}

export function seenIn(track: Track, label: string, now: number): Seen | null {
  const ping = track.ping(now);
  if (ping === null) return null;
  const recent = track.answersUntil(now).slice(-5).map((answer) => answer.time).sort((a, b) => a - b);
  const usual = recent[Math.floor(recent.length / 2)] ?? ping.time;
  const [down, up] = [track.held(0, now), track.held(UP, now)];
  const side = waits(track, now);
  return {
    label, time: ping.isWaiting ? Math.max(usual, ping.time) : usual,
    ahead: (side === "up" ? up : down).packets, side, drops: track.drops[0] + track.drops[1],
  };
}

/** The side at which pings wait longer. */
function waits(track: Track, now: number): "up" | "down" {
  const spent = [0, 0];
  for (const packet of track.packets) {
    if (packet.kind === "ping" && packet.arrived <= now) {
      spent[packet.side] = Math.max(spent[packet.side] ?? 0, Math.min(packet.left, now) - packet.arrived);
    }
  }
  return (spent[UP] ?? 0) >= (spent[0] ?? 0) ? "up" : "down";
}

/** Returns the sentence for all columns. */
export function sentence(about: About, columns: (Seen | null)[]): string {
  const base = Math.min(...about.flows.filter((flow) => flow.kind === "ping").map((flow) => flow.rtt));
  if (!Number.isFinite(base)) return "No ping measures this scenario. Add one to see how long packets wait.";
  const seen = columns.filter((column): column is Seen => column !== null);
  const [first] = seen;
  if (first === undefined) return "The transfers begin. Watch the yellow diamond: it is a ping.";
  const worst = seen.reduce((a, b) => (b.time > a.time ? b : a), first);
  const best = seen.reduce((a, b) => (b.time < a.time ? b : a), first);
  const waited = worst.time - base;
  if (waited < Math.max(Math.min(10e6, base), base / 4)) {
    return `No queue is long: the ping takes ${ms(worst.time)}, little more than the ${ms(base)} of the idle line.`;
  }
  const what = behind(about.flows, worst.side);
  const start = `In ${worst.label} the ping takes ${ms(worst.time)}, since it waits behind ${what}.`;
  if (best === worst || best.time > 0.6 * worst.time) {
    return seen.length < 2 ? `${start} The idle line needs ${ms(base)}.` : `${start} The other ${seen.length === 2 ? "queue does" : "queues do"} not do much better.`;
  }
  return `${start} ${best.label} lets it pass: ${ms(best.time)}.`;
}

function behind(flows: FlowInfo[], side: "up" | "down"): string {
  const data = flows.filter((flow) => flow.kind !== "ping" && flow.direction === side).length;
  const word = side === "up" ? "upload" : "download";
  if (data === 0) return "the queued packets";
  return data === 1 ? `the ${word}` : `the ${data} ${word}s`;
}
