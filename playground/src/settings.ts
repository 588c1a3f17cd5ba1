// What the page shows: the arguments of one `goodqueue compare`.

/** The settings of a show. Text is as the command reads it. */
export interface Settings {
  /** Name of a built-in scenario; null for the line and the traffic below. */
  builtin: string | null;
  /** Rate towards the client; later rates follow as in `10mbit,2mbit@3.5s`. */
  down: string;
  /** Rate from the client, likewise. */
  up: string;
  rtt: string;
  downloads: number;
  uploads: number;
  cc: string;
  ecn: boolean;
  /** Random loss on the path in percent. */
  loss: string;
  /** Time between two pings. */
  ping: string;
  time: string;
  seed: string;
  qdiscs: string[];
}

/** The request that the WebAssembly module reads. */
export interface Request {
  builtin?: string;
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
  down: "10mbit",
  up: "1mbit",
  rtt: "50ms",
  downloads: 1,
  uploads: 2,
  cc: "cubic",
  ecn: false,
  loss: "0",
  ping: "200ms",
  time: "60s",
  seed: "1",
  qdiscs: ["pfifo limit 100", "fq_codel"],
};

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

function schedule(text: string): string {
  return `{schedule=[${rateSteps(text).map((step) => `["${step.at}","${step.rate}"]`).join(",")}]}`;
}

/** The flows in the grammar of `--set flows=...`. */
function flows(settings: Settings): string {
  const groups: string[] = [];
  const jitter = 'start_jitter="100ms"';
  if (settings.uploads > 0) groups.push(`{kind="tcp",direction="up",count=${settings.uploads},${jitter}}`);
  if (settings.downloads > 0)
    groups.push(`{kind="tcp",direction="down",count=${settings.downloads},${jitter}}`);
  groups.push(settings.ping === FIRST.ping ? '{kind="ping"}' : `{kind="ping",interval="${settings.ping}"}`);
  return `flows=[${groups.join(",")}]`;
}

/** Returns the request for these settings. */
export function request(settings: Settings): Request {
  const { builtin, qdiscs, seed } = settings;
  if (builtin !== null) {
    // A built-in scenario keeps everything that the user does not set.
    return { builtin, qdiscs, set: [], ...(seed === "1" ? {} : { seed }) };
  }
  const set: string[] = [];
  const result: Request = { rtt: settings.rtt, time: settings.time, seed, qdiscs, set };
  const hasSteps = (text: string) => text.includes(",");
  if (hasSteps(settings.down)) set.push(`link.down=${schedule(settings.down)}`);
  else result.rate = settings.down;
  if (hasSteps(settings.up)) set.push(`link.up=${schedule(settings.up)}`);
  else result.up = settings.up;
  set.push(flows(settings), `tcp.cc="${settings.cc}"`);
  if (settings.ecn) set.push("tcp.ecn=true");
  if (parseFloat(settings.loss) > 0) set.push(`hops=[{name="path",side="server",qdisc="netem loss ${settings.loss}%"}]`);
  return result;
}

/** Returns the command that makes the same runs. */
export function command(settings: Settings): string {
  const asked = request(settings);
  const words = ["goodqueue", "compare"];
  if (asked.builtin) words.push(asked.builtin);
  const options: [string, string | undefined][] = [
    ["--rate", asked.rate],
    ["--up", asked.up],
    ["--rtt", asked.rtt],
    ["--time", asked.time],
    ["--seed", asked.seed],
  ];
  for (const [option, value] of options) if (value !== undefined) words.push(option, quoted(value));
  for (const line of asked.qdiscs) words.push("--qdisc", quoted(line));
  for (const setting of asked.set) words.push("--set", quoted(setting));
  return words.join(" ");
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns the part of the address behind `#` that holds these settings. Defaults are left out. */
export function toHash(settings: Settings, version: string): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(settings) as [keyof Settings, Settings[keyof Settings]][]) {
    if (key === "qdiscs") {
      if (String(value) !== String(FIRST.qdiscs)) for (const line of settings.qdiscs) query.append("q", line);
    } else if (value !== FIRST[key] && value !== null) {
      query.set(key, String(value));
    }
  }
  const text = query.toString();
  if (text === "") return "";
  query.set("v", version);
  return `#${query.toString()}`;
}

/** Reads settings from the part of the address behind `#`. Unknown and impossible values are ignored. */
export function fromHash(hash: string): Settings {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (key: keyof Settings & string, fallback: string) => query.get(key) ?? fallback;
  const count = (key: "uploads" | "downloads") => {
    const given = Number(query.get(key) ?? NaN);
    return Number.isInteger(given) && given >= 0 && given <= MOST_FLOWS ? given : FIRST[key];
  };
  const lines = query.getAll("q");
  return {
    builtin: query.get("builtin"),
    down: text("down", FIRST.down),
    up: text("up", FIRST.up),
    rtt: text("rtt", FIRST.rtt),
    downloads: count("downloads"),
    uploads: count("uploads"),
    cc: text("cc", FIRST.cc),
    ecn: query.get("ecn") === "true",
    loss: text("loss", FIRST.loss),
    ping: text("ping", FIRST.ping),
    time: text("time", FIRST.time),
    seed: text("seed", FIRST.seed),
    qdiscs: lines.length > 0 ? lines : query.get("builtin") !== null ? [] : [...FIRST.qdiscs],
  };
}

/** Most flows in each direction: each has a colour and a line in the list. */
export const MOST_FLOWS = 8;
