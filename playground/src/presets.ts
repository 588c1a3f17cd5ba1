// Lines to start from.

import { FIRST, type Settings } from "./settings.ts";

export interface Preset {
  name: string;
  about: string;
  settings: Partial<Settings>;
  /** Speed at which packets can be seen. */
  speed: string;
}

/** A rate that changes in steps: `rates` in Mbit/s, one every `every` seconds. */
function steps(every: number, rates: number[]): string {
  return rates.map((rate, at) => (at === 0 ? `${rate}mbit` : `${rate}mbit@${at * every}s`)).join(",");
}

export const PRESETS: Preset[] = [
  { name: "DSL, 10/1 Mbit/s", about: "A modem with a buffer of 100 packets: 1.2 s of upload.", settings: {}, speed: "0.5" },
  {
    name: "Cable, 100/10 Mbit/s",
    about: "A cable modem with a large buffer, and four downloads.",
    settings: { down: "100mbit", up: "10mbit", rtt: "20ms", downloads: 4, uploads: 2, time: "20s", qdiscs: ["pfifo limit 500", "fq_codel"] },
    speed: "0.1",
  },
  {
    name: "Mobile, a rate that varies",
    about: "The rate changes every half second, as that of a phone on the move. The numbers are made up.",
    settings: {
      down: steps(0.5, [20, 12, 6, 3, 2, 5, 9, 14, 22, 30, 26, 17, 8, 4, 3, 2, 4, 7, 12, 18, 24, 28, 20, 11]),
      up: steps(1, [5, 3, 1, 2, 4, 6, 5, 2, 1, 3, 5, 6]),
      rtt: "60ms", downloads: 1, uploads: 1, time: "12s", qdiscs: ["pfifo limit 750", "fq_codel"],
    },
    speed: "0.5",
  },
  {
    name: "Satellite, a new path every 15 s",
    about: "As on low orbits, the line gets another path and another rate every 15 seconds. The numbers are made up.",
    settings: {
      down: steps(15, [100, 60, 150, 80]), up: steps(15, [12, 6, 15, 9]),
      rtt: "40ms", downloads: 2, uploads: 1, time: "60s", qdiscs: ["pfifo limit 1000", "fq_codel"],
    },
    speed: "0.25",
  },
  {
    name: "WiFi, a laptop in the next room",
    about: "The line is fast, and the packets wait for the air: in the disciplines, and in the drivers below them.",
    settings: {
      down: "100mbit", up: "100mbit", rtt: "20ms", downloads: 2, uploads: 2, wifi: "4", time: "30s",
      qdiscs: ["pfifo limit 1000", "fq_codel"],
    },
    speed: "0.25",
  },
  {
    name: "Data centre, 1 Gbit/s",
    about: "A round-trip time of 100 µs. On the right DCTCP's packets are marked from a queue of 65 µs on.",
    settings: {
      down: "1gbit", up: "1gbit", rtt: "100us", downloads: 0, uploads: 4, cc: "dctcp", ecn: true, ping: "1ms", time: "500ms",
      qdiscs: ["pfifo limit 250", "codel ce_threshold 65us"],
    },
    speed: "0.001",
  },
];

/** The settings of a preset. */
export function settingsOf(preset: Preset): Settings {
  return { ...FIRST, ...preset.settings };
}

/** The preset with these settings, if it is one. */
export function presetOf(settings: Settings): Preset | undefined {
  return PRESETS.find((preset) => JSON.stringify(settingsOf(preset)) === JSON.stringify(settings));
}
