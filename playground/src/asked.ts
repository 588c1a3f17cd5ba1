// What a person asks about a line, and the part of the address that holds it.

/** The question, in the words of the command's options. */
export interface Asked {
  /** Rates in Mbit/s as typed. */
  down: string;
  up: string;
  link: string;
  /** Pings in ms as typed; empty if nobody measured. */
  idle: string;
  loaded: string;
}

/** What the module reads. */
export interface Question {
  link: string;
  rates?: string;
  ping?: string;
}

/** Returns the question for the module. With a file of Flent the rates may be left out. */
export function question(asked: Asked): Question {
  const result: Question = { link: asked.link };
  if (asked.down !== "" && asked.up !== "") result.rates = `${asked.down}mbit/${asked.up}mbit`;
  if (asked.idle !== "" && asked.loaded !== "") result.ping = `${asked.idle}ms,${asked.loaded}ms`;
  return result;
}

/** Returns the words of the command that gives the same answer. */
export function command(asked: Asked, flent: string | null): string {
  const { rates, ping, link } = question(asked);
  const words = ["goodqueue", "advise"];
  if (rates !== undefined) words.push(rates);
  words.push("--link", link);
  if (ping !== undefined) words.push("--ping", ping);
  if (flent !== null) words.push("--flent", flent);
  return words.join(" ");
}

/** Returns the part of the address behind `#`. */
export function toHash(asked: Asked): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(asked)) if (value !== "") query.set(key, value);
  const text = query.toString();
  return text === "" ? "" : `#${text}`;
}

/** Reads the part of the address behind `#`. What is no number is left out. */
export function fromHash(hash: string): Asked {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key: string) => {
    const text = query.get(key) ?? "";
    return /^\d{1,6}(\.\d{1,3})?$/.test(text) ? text : "";
  };
  const link = query.get("link") ?? "";
  return {
    down: number("down"),
    up: number("up"),
    link: /^[a-z0-9-]{1,20}$/.test(link) ? link : "",
    idle: number("idle"),
    loaded: number("loaded"),
  };
}

/** Says what is missing before a question can be asked; null if nothing is. */
export function missing(asked: Asked, hasFile: boolean): string | null {
  if (asked.link === "") return "Choose the kind of your line.";
  if (!hasFile && (asked.down === "" || asked.up === "")) return "Type both rates of your line.";
  if ((asked.idle === "") !== (asked.loaded === "")) return "Type both pings, or neither.";
  return null;
}
