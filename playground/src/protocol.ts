// The messages between the page and the worker that simulates.

import type { Request } from "./settings.ts";

export interface FlowInfo {
  kind: string;
  direction: "down" | "up";
  label: string | null;
  cc: string | null;
  /** Round-trip time without queueing, in nanoseconds. */
  rtt: number;
}

/** A place with a queue in each direction. */
export interface PlaceInfo {
  /** Null for the place of the compared disciplines. */
  name: string | null;
  /** True if the delay of the path follows: down, up. */
  before_the_delay: [boolean, boolean];
}

export interface About {
  scenario: Record<string, unknown>;
  /** Simulated time in nanoseconds. */
  duration: number;
  /** `line` is the discipline as `--qdisc` takes it; `label` is its name in results. */
  columns: { label: string; line: string; kinds: [string, string] }[];
  flows: FlowInfo[];
  /** The places at which packets wait, by their numbers in records. The first one has the compared disciplines. */
  places: PlaceInfo[];
  /** Numbers of the places from the servers to the clients. */
  order: number[];
  /** True if the command makes more runs of this scenario than the page shows. */
  is_part: boolean;
}

export interface Catalogue {
  version: string;
  qdiscs: {
    name: string;
    summary: string;
    reference: string;
    parameters: { name: string; default: string; range: string; doc: string }[];
  }[];
  tcps: { name: string; summary: string }[];
  /** Congestion controls of QUIC flows. */
  quics: string[];
  scenarios: { name: string; title: string; question: string; expect: string }[];
  drop_reasons: string[];
}

export interface ColumnFrame {
  /** Records of packets; see `log.rs`. */
  packets: Float64Array;
  /** Flow, time of sending and round-trip time of each answered probe. */
  answers: Float64Array;
  /** State of each flow; see `column.rs`. */
  flows: Float64Array;
}

/** A packet's story in the words of `goodqueue compare --explain`. */
export interface Story {
  sentences: string[];
  /** Name, value before the decision, value after it, meaning. */
  state: [string, string, string, string][];
}

export type ToWorker =
  | { type: "load"; show: number; request: Request }
  | { type: "advance"; show: number; to: number }
  | { type: "story"; show: number; column: number; packet: number }
  | { type: "measure"; show: number; to: number }
  | { type: "finish"; show: number };

export type FromWorker =
  | { type: "ready"; catalogue: Catalogue }
  | { type: "loaded"; show: number; about: About }
  | { type: "frame"; show: number; now: number; isOver: boolean; columns: ColumnFrame[]; spent: number }
  | { type: "story"; show: number; column: number; packet: number; story: Story }
  | { type: "measured"; show: number; json: string; to: number }
  | { type: "results"; show: number; json: string }
  | { type: "refused"; show: number; message: string };
