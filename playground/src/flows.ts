// Names of flows, and the rows of the list of flows.

import type { About, FlowInfo } from "./protocol.ts";

/** The flows of one table of the scenario. */
export interface Group {
  flows: number[];
  /** True for transfers that end. */
  isSized: boolean;
  /** True if the list has one row for all of them: short transfers, of which few run at a time, and large numbers. */
  isOneRow: boolean;
}

/** A row of the list of flows. */
export interface FlowRow {
  name: string;
  flows: number[];
}

/** More flows of one table than this share a row. */
const MOST_ROWS = 8;

/** What a first visitor calls the kinds of traffic. */
const WORDS: Record<string, string> = { voip: "call", web: "web page", cbr: "steady stream", quic_transfers: "transfers over QUIC" };

/** Names of the transports of uploads and downloads. TCP, the usual one, is not named. */
const TRANSPORTS: Record<string, string> = { tcp: "", quic: "QUIC " };

/** True for an upload or a download of one flow. */
export function isTransfer(kind: string): boolean {
  return kind in TRANSPORTS;
}

/** The flows by the tables of the scenario, in their order. */
export function groupsOf(about: About): Group[] {
  const tables = (about.scenario["flows"] as { count?: number; size?: unknown }[] | undefined) ?? [];
  const groups: Group[] = [];
  let next = 0;
  const add = (count: number, isSized: boolean) => {
    const flows = Array.from({ length: Math.min(count, about.flows.length - next) }, (_, at) => next + at);
    next += flows.length;
    if (flows.length > 0) groups.push({ flows, isSized, isOneRow: count > MOST_ROWS || (isSized && count > 1) });
  };
  for (const { count, size } of tables) add(count ?? 1, size !== undefined);
  while (next < about.flows.length) add(1, false);
  return groups;
}

function word(flow: FlowInfo | undefined, isSized: boolean): string {
  if (flow === undefined) return "flow";
  const transfer = `${TRANSPORTS[flow.kind] ?? ""}${flow.direction === "up" ? "upload" : "download"}`;
  return flow.label ?? (isTransfer(flow.kind) ? `${isSized ? "short " : ""}${transfer}` : (WORDS[flow.kind] ?? flow.kind));
}

/** Returns the name of each flow: `upload 2`, `ping`. */
export function namesOf(about: About): string[] {
  const words: string[] = [];
  for (const { flows, isSized } of groupsOf(about)) for (const flow of flows) words[flow] = word(about.flows[flow], isSized);
  const seen = new Map<string, number>();
  return words.map((name) => {
    if (words.filter((other) => other === name).length === 1) return name;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return `${name} ${seen.get(name)}`;
  });
}

/** Returns the rows of the list, without the flow whose pings are shown in large. */
export function flowRows(about: About): FlowRow[] {
  const names = namesOf(about);
  const probe = about.flows.findIndex((flow) => flow.kind === "ping");
  return groupsOf(about).flatMap(({ flows, isSized, isOneRow }) => {
    const rest = flows.filter((flow) => flow !== probe);
    if (isOneRow && rest.length > 1) return [{ name: `${rest.length} ${plural(word(about.flows[rest[0] ?? 0], isSized))}`, flows: rest }];
    return rest.map((flow) => ({ name: names[flow] ?? "flow", flows: [flow] }));
  });
}

function plural(name: string): string {
  return name.endsWith("s") ? name : `${name}s`;
}
