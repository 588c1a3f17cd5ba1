// What the page shows: the arguments of one `goodqueue compare`.

import { tomlOfJson } from "./toml.ts";

/** The settings of a show. Text is as the command reads it. */
export interface Settings {
  /** Name of a built-in scenario; null for a scenario file, or for the line and the traffic below. */
  builtin: string | null;
  /** Text of a scenario file, if no built-in scenario is named. */
  toml: string | null;
  /** Rate towards the client; later rates follow as in `10mbit,2mbit@3.5s`. */
  down: string;
  /** Rate from the client, likewise. */
  up: string;
  rtt: string;
  downloads: number;
  uploads: number;
  /** Transfers over QUIC, beside those over TCP. */
  quicDownloads: number;
  quicUploads: number;
  /** Congestion control of the transfers over TCP. */
  cc: string;
  quicCc: string;
  ecn: boolean;
  /** Random loss on the path in percent. */
  loss: string;
  /** Rate index (MCS) of a WiFi channel between the line and the client; empty: no WiFi. */
  wifi: string;
  /** Time between two pings. */
  ping: string;
  time: string;
  seed: string;
  qdiscs: string[];
}

/** The request that the WebAssembly module reads. */
export interface Request {
  builtin?: string;
  toml?: string;
  rate?: string;
  up?: string;
  rtt?: string;
  time?: string;
  seed?: string;
  qdiscs: string[];
  set: string[];
}

export const FIRST: Settings = {
  builtin: null,
  toml: null,
  down: "10mbit",
  up: "1mbit",
  rtt: "50ms",
  downloads: 1,
  uploads: 2,
  quicDownloads: 0,
  quicUploads: 0,
  cc: "cubic",
  quicCc: "cubic",
  ecn: false,
  loss: "0",
  wifi: "",
  ping: "200ms",
  time: "60s",
  seed: "1",
  qdiscs: ["pfifo limit 100", "fq_codel"],
};

/** The settings of a scenario that keeps everything: an empty text, or no line, is the scenario's own. */
const KEPT: Settings = { ...FIRST, down: "", up: "", rtt: "", time: "", seed: "", qdiscs: [] };

/** True for a built-in scenario and for a scenario file. */
export function isScenario(settings: Settings): boolean {
  return settings.builtin !== null || settings.toml !== null;
}

/** The settings of a scenario, with these changes. */
export function ofScenario(changed: Partial<Settings>): Settings {
  return { ...KEPT, ...changed };
}

/** One step of a rate: from this time on. */
export interface RateStep {
  at: string;
  rate: string;
}

export function rateSteps(text: string): RateStep[] {
  return text.split(",").map((part) => {
    const [rate = "", at = "0s"] = part.trim().split("@");
    return { at, rate };
  });
}

/** Returns `text` with another rate from this second on. Later steps are dropped. */
export function withRateFrom(text: string, second: number, rate: string): string {
  if (second <= 0) return rate;
  const at = Math.round(second * 1000) / 1000;
  const kept = rateSteps(text).filter((step) => step.at === "0s" || parseFloat(step.at) < at);
  return [...kept.map(written), written({ at: `${at}s`, rate })].join(",");
}

function written(step: RateStep): string {
  return step.at === "0s" ? step.rate : `${step.rate}@${step.at}`;
}

type Json = string | number | boolean | Json[] | { [key: string]: Json };

function schedule(text: string): Json {
  return { schedule: rateSteps(text).map((step) => [step.at, step.rate]) };
}

function flows(settings: Settings): Json {
  const groups: Json[] = [];
  for (const [direction, count] of [["up", settings.uploads], ["down", settings.downloads]] as const) {
    // Slow starts that begin at one instant would run in step.
    if (count > 0) groups.push({ kind: "tcp", direction, count, start_jitter: "100ms" });
  }
  for (const [direction, count] of [["up", settings.quicUploads], ["down", settings.quicDownloads]] as const) {
    const ecn: { ecn?: boolean } = settings.ecn ? { ecn: true } : {};
    if (count > 0) groups.push({ kind: "quic", direction, count, start_jitter: "100ms", cc: settings.quicCc, ...ecn });
  }
  groups.push(settings.ping === FIRST.ping ? { kind: "ping" } : { kind: "ping", interval: settings.ping });
  return groups;
}

/** The keys of the scenario that have no option of their own. */
function keys(settings: Settings): [string, Json][] {
  const keys: [string, Json][] = [];
  for (const side of ["down", "up"] as const) {
    if (settings[side].includes(",")) keys.push([`link.${side}`, schedule(settings[side])]);
  }
  keys.push(["flows", flows(settings)], ["tcp.cc", settings.cc]);
  if (settings.ecn) keys.push(["tcp.ecn", true]);
  if (parseFloat(settings.loss) > 0) keys.push(["hops", [{ name: "path", side: "server", qdisc: `netem loss ${settings.loss}%` }]]);
  if (/^\d+$/.test(settings.wifi)) keys.push(["wifi.mcs", Number(settings.wifi)]);
  return keys;
}

/** Writes a value as TOML on one line. */
function toml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(",")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, inner]) => `${key}=${toml(inner)}`).join(",")}}`;
  return JSON.stringify(value);
}

/** Returns the request for these settings. */
export function request(settings: Settings): Request {
  const { builtin, toml: text, qdiscs, seed } = settings;
  if (isScenario(settings)) {
    // A scenario keeps everything that the user does not set.
    const result: Request = { ...(builtin !== null ? { builtin } : { toml: text ?? "" }), qdiscs, set: [] };
    if (settings.down !== "") result.rate = settings.down;
    for (const key of ["up", "rtt", "time", "seed"] as const) if (settings[key] !== "") result[key] = settings[key];
    return result;
  }
  const result: Request = { rtt: settings.rtt, time: settings.time, seed, qdiscs, set: [] };
  if (!settings.down.includes(",")) result.rate = settings.down;
  if (!settings.up.includes(",")) result.up = settings.up;
  result.set = keys(settings).map(([key, value]) => `${key}=${toml(value)}`);
  return result;
}

/** Options of the command, and arguments of `compare` in Python. */
function options(asked: Request): [string, string][] {
  const all: [string, string | undefined][] = [
    ["rate", asked.rate], ["up", asked.up], ["rtt", asked.rtt], ["time", asked.time], ["seed", asked.seed],
  ];
  return all.filter((option): option is [string, string] => option[1] !== undefined);
}

/** Returns the command that makes the same runs. */
export function command(settings: Settings): string {
  const asked = request(settings);
  const words = ["goodqueue", "compare"];
  if (asked.builtin) words.push(asked.builtin);
  if (asked.toml !== undefined) words.push(FILE);
  for (const [option, value] of options(asked)) words.push(`--${option}`, quoted(value));
  for (const line of asked.qdiscs) words.push("--qdisc", quoted(line));
  for (const setting of asked.set) words.push("--set", quoted(setting));
  const line = words.join(" ");
  return asked.toml === undefined ? line : `cat > ${FILE} <<'END'\n${asked.toml.trimEnd()}\nEND\n${line}`;
}

/** Name of the file with the text of a scenario, in commands. */
const FILE = "scenario.toml";

/** Returns Python that makes the same runs. */
export function python(settings: Settings): string {
  const asked = request(settings);
  const lines = options(asked).map(([name, value]) => `${name}=${name === "seed" ? value : JSON.stringify(value)}`);
  if (asked.qdiscs.length > 0) lines.push(`qdiscs=${JSON.stringify(asked.qdiscs)}`);
  if (asked.builtin) lines.unshift(JSON.stringify(asked.builtin));
  else if (asked.toml !== undefined) lines.unshift(`gq.Scenario.parse(${JSON.stringify(asked.toml)})`);
  else lines.push(`set={${keys(settings).map(([key, value]) => `${JSON.stringify(key)}: ${literal(value)}`).join(", ")}}`);
  return `import goodqueue as gq\n\nresults = gq.compare(\n${lines.map((line) => `    ${line},\n`).join("")})\nprint(results)\n`;
}

/** Writes a value as Python does. */
function literal(value: Json): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, inner]) => `"${key}": ${literal(inner)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** Returns a scenario file with the same runs; null for a built-in scenario, which is one. */
export function file(settings: Settings): string | null {
  if (settings.builtin !== null) return null;
  if (settings.toml !== null) return settings.toml;
  const asked = request(settings);
  const lines: [string, Json][] = [["duration", settings.time], ["seed", Number(settings.seed)], ["qdiscs", asked.qdiscs]];
  if (asked.rate !== undefined) lines.push(["link.down", asked.rate]);
  if (asked.up !== undefined) lines.push(["link.up", asked.up]);
  lines.push(["link.rtt", settings.rtt], ...keys(settings));
  return `# goodqueue compare FILE.toml\n${lines.map(([key, value]) => `${key} = ${toml(value)}\n`).join("")}`;
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns the part of the address behind `#` that holds these settings. Defaults, and an empty version, are left out. */
export function toHash(settings: Settings, version: string): string {
  const query = new URLSearchParams();
  const base = isScenario(settings) ? KEPT : FIRST;
  for (const [key, value] of Object.entries(settings) as [keyof Settings, Settings[keyof Settings]][]) {
    if (key === "qdiscs") {
      if (String(value) !== String(base.qdiscs)) for (const line of settings.qdiscs) query.append("q", line);
    } else if (value !== base[key] && value !== null) {
      query.set(key, String(value));
    }
  }
  const text = query.toString();
  if (text === "") return "";
  if (version !== "") query.set("v", version);
  return `#${query.toString()}`;
}

/**
 * Reads settings from the part of the address behind `#`. Unknown and impossible values are ignored.
 *
 * A scenario comes as `builtin=NAME`, as `toml=TEXT` of a scenario file, or as `json=TEXT`: the object
 * `scenario` of the command's results.
 */
export function fromHash(hash: string): Settings {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const json = query.get("json");
  const toml = query.get("toml") ?? (json === null ? null : tomlOfJson(json));
  const builtin = toml === null ? query.get("builtin") : null;
  const base = builtin === null && toml === null ? FIRST : KEPT;
  const text = (key: keyof Settings & string, fallback: string) => query.get(key) ?? fallback;
  const count = (key: Counted) => {
    const given = Number(query.get(key) ?? NaN);
    return Number.isInteger(given) && given >= 0 && given <= MOST_FLOWS ? given : base[key];
  };
  const lines = query.getAll("q");
  return {
    builtin,
    toml,
    down: text("down", base.down),
    up: text("up", base.up),
    rtt: text("rtt", base.rtt),
    downloads: count("downloads"),
    uploads: count("uploads"),
    quicDownloads: count("quicDownloads"),
    quicUploads: count("quicUploads"),
    cc: text("cc", base.cc),
    quicCc: text("quicCc", base.quicCc),
    ecn: query.get("ecn") === "true",
    loss: text("loss", base.loss),
    wifi: text("wifi", base.wifi),
    ping: text("ping", base.ping),
    time: text("time", base.time),
    seed: text("seed", base.seed),
    qdiscs: lines.length > 0 ? lines : [...base.qdiscs],
  };
}

/** Returns a sentence for each number of flows in an address that is not possible, and that `fromHash` ignores. */
export function ignoredIn(hash: string): string[] {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const read = fromHash(hash);
  return COUNTED.flatMap(([key, name]) => {
    const given = query.get(key);
    if (given === null || isScenario(read) || (given !== "" && Number(given) === read[key])) return [];
    return [`The link asks for ${given.slice(0, 20)} ${name}. Allowed are 0 to ${MOST_FLOWS}: the page shows ${read[key]}.`];
  });
}

/** The numbers of transfers, with their names in a sentence. */
const COUNTED = [
  ["uploads", "uploads"], ["downloads", "downloads"], ["quicUploads", "QUIC uploads"], ["quicDownloads", "QUIC downloads"],
] as const;
type Counted = (typeof COUNTED)[number][0];

/** Most flows in each direction over TCP, and over QUIC: each has a colour and a line in the list. */
export const MOST_FLOWS = 8;

/** Largest seed of the page. JavaScript rounds larger numbers, so the scenario as text would have another seed. */
export const LARGEST_SEED = Number.MAX_SAFE_INTEGER;

/** Returns why a seed is refused before anything runs; null if it is not. The simulator judges what is no number. */
export function refusedSeed(seed: string): string | null {
  const given = seed.trim();
  if (!/^\+?\d+$/.test(given) || BigInt(given) <= BigInt(LARGEST_SEED)) return null;
  return `\`seed\`: ${given.slice(0, 40)} is too large for this page\n  allowed: 0 to ${LARGEST_SEED}\n`
    + "  help: the command `goodqueue compare` takes larger seeds";
}
