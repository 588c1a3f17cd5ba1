// The answers of the module, as the page reads them: the schema is that of
// `goodqueue schema advise`.

/** The first answer, before anything is verified. */
export interface First {
  discipline: string;
  shaped_bps: [number, number];
  lines: [string, string];
  /** Added latency in seconds: today, and with the setting. */
  latency_s: [number, number];
  goodput_bps: [[number, number], [number, number]];
}

interface Spread {
  mean: number;
  min: number;
  max: number;
  runs: number;
}

interface Measured {
  latency_s: Spread;
  goodput_bps: [number, number];
  grade: string;
  ping_s: number;
  first_s?: number;
  worst_s: number;
}

/** What to set on one kind of router. */
export interface Setting {
  name: string;
  place: string;
  form: "commands" | "file" | "page";
  is_common: boolean;
  before: string[];
  text: string;
  undo: string[];
  remarks: string[];
}

/** The verified answer. */
export interface Advice {
  line: string;
  sources: string;
  rate_bps: [number, number];
  rtt_s: number;
  buffer_bytes: [number, number];
  is_measured: boolean;
  keep: boolean;
  today: Measured;
  advised: Measured;
  discipline: string;
  shaped_bps: [number, number];
  lines: [string, string];
  settings: Setting[];
  reason: string;
  mixes: { name: string; today_s: Spread; advised_s: Spread }[];
}

export type FromAdviser =
  | { type: "ready"; links: { name: string; title: string }[] }
  | { type: "first"; first: First }
  | { type: "came"; fraction: number }
  | { type: "done"; advice: Advice }
  | { type: "failed"; message: string };

export interface ToAdviser {
  question: string;
  /** A file of Flent; empty without one. */
  name: string;
  flent: Uint8Array;
}

/** A time in milliseconds with two or three digits. */
export function ms(seconds: number): string {
  return three(seconds * 1e3);
}

/** A rate in Mbit/s with two or three digits. */
export function mbit(bps: number): string {
  return three(bps / 1e6);
}

function three(value: number): string {
  return value.toFixed(value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2);
}

/** Says how a goodput changes. */
export function change(before: number, after: number): string {
  const percent = (after / before - 1) * 100;
  if (!Number.isFinite(percent) || Math.abs(percent) < 1) return "as today";
  return `${percent > 0 ? "+" : "−"}${Math.abs(percent).toFixed(0)} %`;
}
