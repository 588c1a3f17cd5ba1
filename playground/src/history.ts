// What charts need of a column: one value per step of time.

import type { FlowInfo, PlaceInfo } from "./protocol.ts";
import type { Track } from "./track.ts";

/** A curve: time in seconds and value. */
export type Points = [number, number | null][];

export interface Curve {
  name: string;
  points: Points;
  /** Index of the flow, or -1 for a curve of the whole column. */
  flow: number;
}

/** A chart, with its curves for one column. */
export interface ChartInfo {
  title: string;
  unit: string;
  curves(track: Track, now: number, names: string[], flows: FlowInfo[], queues: string[]): Curve[];
}

/** The names of the queues, by their numbers: `down`, `up`, `modem down`, `modem up`. */
export function queueNames(places: PlaceInfo[]): string[] {
  return places.flatMap(({ name }) => ["down", "up"].map((side) => (name === null ? side : `${name} ${side}`)));
}

export const CHARTS: ChartInfo[] = [
  {
    title: "Ping", unit: "ms",
    curves: (track, now, names, flows) => flows.flatMap((flow, at) => flow.kind !== "ping" ? [] : [{
      name: names[at] ?? "ping", flow: -1,
      points: track.answersUntil(now, at).map((answer): [number, number] => [answer.sentAt / 1e9, answer.time / 1e6]),
    }]),
  },
  {
    title: "Longest sojourn time", unit: "ms",
    curves: (track, now, _names, _flows, queues) => queues.map((name, queue) => ({
      name, flow: -1,
      points: track.bins(now).map((bin): [number, number] => [bin.at / 1e9, (bin.sojourn[queue] ?? 0) / 1e6]),
    })),
  },
  {
    title: "Backlog", unit: "packets",
    curves: (track, now, _names, _flows, queues) => queues.map((name, queue) => ({
      name, flow: -1, points: track.bins(now).map((bin): [number, number] => [bin.at / 1e9, bin.backlog[queue] ?? 0]),
    })),
  },
  {
    title: "Congestion window", unit: "kB",
    curves: (track, now, names) => names.flatMap((name, flow) => {
      const points = track.samplesUntil(now).map((sample): [number, number] => [sample.at / 1e9, (sample.flows[flow]?.cwnd ?? -1) / 1e3]);
      return points.some(([, value]) => value >= 0) ? [{ name, flow, points }] : [];
    }),
  },
  {
    title: "Goodput", unit: "Mbit/s",
    curves: (track, now, names, flows) => names.flatMap((name, flow) =>
      flows[flow]?.kind === "ping" ? [] : [{
        name, flow, points: track.samplesUntil(now).map((sample): [number, number] => [sample.at / 1e9, track.goodput(flow, sample.at)]),
      }]),
  },
];
