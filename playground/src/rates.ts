// Rates of a line, as scenarios write them.

import type { About } from "./protocol.ts";

/** Reads a rate as the command writes it: `10mbit`. */
export function megabits(rate: string): number {
  const [, value = "0", unit = ""] = /^([\d.]+)\s*([kmgt]?)(?:bit)?/i.exec(rate.trim()) ?? [];
  const factor: Record<string, number> = { "": 1e-6, k: 1e-3, m: 1, g: 1e3, t: 1e6 };
  return parseFloat(value) * (factor[unit.toLowerCase()] ?? 1);
}

/** Largest rate of the slowest link in Mbit/s. */
export function capacity(about: About, direction: "down" | "up"): number {
  type Ends = Partial<Record<"down" | "up", unknown>>;
  const links = [about.scenario["link"], about.scenario["line"], ...((about.scenario["hops"] as unknown[] | undefined) ?? [])] as (Ends | undefined)[];
  const rates = links.map((link) => (JSON.stringify(link?.[direction] ?? "").match(/[\d.]+[kmgt]?bit/g) ?? []).map(megabits));
  const highest = Math.min(...rates.filter((all) => all.length > 0).map((all) => Math.max(...all)));
  return Math.max(0.1, Number.isFinite(highest) ? highest : 0.1);
}
