// Words for a first visitor: the way of the packets, and each discipline by what it does.

import type { About } from "./protocol.ts";
import { capacity } from "./rates.ts";

/** Bits of the largest usual packet on the line. */
const PACKET = 1514 * 8;

/** Base round-trip time in seconds. */
function roundTrip(about: About): number {
  return Math.min(...about.flows.map((flow) => flow.rtt)) / 1e9;
}

/** True for a network within one building, where no modem is. */
function isLocal(about: About): boolean {
  return roundTrip(about) < 0.001;
}

/** What has the compared disciplines. */
function device(about: About): string {
  if (isLocal(about)) return "switch";
  const names = about.places.map(({ name }) => name);
  if (names.includes("WiFi")) return "access point";
  return names.some((name) => name !== null) ? "router" : "modem";
}

/** The stations that packets pass on their way to the servers: `home`, `modem`, `Internet`. */
export function wayOf(about: About): string[] {
  const [from, to] = isLocal(about) ? ["server", "other servers"] : ["home", "Internet"];
  const places = [...about.order].reverse().map((place) => about.places[place]?.name ?? device(about));
  return [from, ...places, to];
}

/** What each discipline has, for somebody who knows none. */
const HAS: [RegExp, string][] = [
  [/^(tbf|htb|cake)$/, "a shaper"],
  [/^(fq_codel|fq_pie|fq_cobalt)$/, "a short queue per flow"],
  [/^(sfq|drr|fq|qfq)$/, "a queue per flow"],
  [/^(codel|cobalt|pie|red|ared|blue|choke|gred|avq|rem)$/, "a queue that is kept short"],
  [/^(dualpi2|docsis)$/, "a second queue for low-latency traffic"],
];

/** Plain words for the discipline of a column: `a modem with a large buffer`. Null if there are none. */
export function plainName(about: About, index: number): string | null {
  const column = about.columns[index];
  if (column === undefined || column.label !== column.line) return null;
  const [down, up] = column.kinds;
  if (down !== up) return null;
  const has = /^[pb]fifo/.test(up) ? buffer(about, column.line) : HAS.find(([kinds]) => kinds.test(up))?.[1];
  if (has === undefined) return null;
  const word = device(about);
  return `${/^[aeiou]/.test(word) ? "an" : "a"} ${word} with ${has}`;
}

/** A buffer is large if packets can wait in it for twice the round-trip time. */
function buffer(about: About, line: string): string {
  const [, limit, unit] = /\blimit\s+(\d+)([kmg]?b)?/i.exec(line) ?? [];
  const bytes = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }[(unit ?? "b").toLowerCase()] ?? 1;
  const bits = line.startsWith("bfifo") ? Number(limit ?? 1e6) * bytes * 8 : Number(limit ?? 1000) * PACKET;
  const seconds = bits / (Math.min(capacity(about, "up"), capacity(about, "down")) * 1e6);
  return seconds > 2 * roundTrip(about) ? "a large buffer" : "a small buffer";
}

/** A text at the beginning of a sentence. */
export function capital(text: string): string {
  return /^(an?|the) /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
