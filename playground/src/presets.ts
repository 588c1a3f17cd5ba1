// Lines to start from.

import { LEO, LTE } from "./lines.ts";
import { FIRST, type Settings } from "./settings.ts";

export interface Preset {
  name: string;
  about: string;
  settings: Partial<Settings>;
  /** Speed at which packets can be seen. */
  speed: string;
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
    name: "LTE, about 12/4 Mbit/s",
    about: "The rate moves at random, as that of a phone on the move (the model of Sprout, 2013). The buffer holds a second of uploads.",
    settings: {
      down: LTE.down, up: LTE.up, rtt: LTE.rtt, downloads: 1, uploads: 1, time: "12s",
      qdiscs: [`pfifo limit ${LTE.buffer}`, "fq_codel"],
    },
    speed: "0.5",
  },
  {
    name: "Like Starlink, about 100/12 Mbit/s",
    about: "Every 15 seconds another satellite, and another rate: half to one and a half of the mean. The buffer holds 200 ms of uploads.",
    settings: {
      down: LEO.down, up: LEO.up, rtt: LEO.rtt, downloads: 2, uploads: 1, time: "60s",
      qdiscs: [`pfifo limit ${LEO.buffer}`, "fq_codel"],
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
