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

/** The parts of the verified answer that the page needs beside its text. */
export interface Advice {
  rate_bps: [number, number];
  rtt_s: number;
  buffer_bytes: [number, number];
  shaped_bps: [number, number];
}

/** The verified answer, and its text as HTML. */
export interface Answered {
  advice: Advice;
  html: string;
}

export type FromAdviser =
  | { type: "ready"; links: { name: string; title: string }[] }
  | { type: "first"; first: First }
  | { type: "came"; fraction: number }
  | { type: "done"; answered: Answered }
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

function three(value: number): string {
  return value.toFixed(value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2);
}
