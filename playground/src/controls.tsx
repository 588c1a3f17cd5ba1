// The controls of the line and of its traffic.

import { useEffect, useState } from "preact/hooks";
import type { Catalogue } from "./protocol.ts";
import { MOST_FLOWS, rateSteps, type Settings } from "./settings.ts";
import { megabits } from "./rates.ts";

interface Props {
  settings: Settings;
  catalogue: Catalogue | null;
  onChange(changed: Partial<Settings>): void;
  /** A rate changes while the run goes on. */
  onRate(direction: "down" | "up", rate: string): void;
}

/** Rate indexes of 802.11n, from near to far. */
const WIFI: [string, string][] = [
  ["", "no WiFi"], ["15", "near: MCS 15"], ["4", "in the next room: MCS 4"], ["0", "far away: MCS 0"],
];

export function Controls({ settings, catalogue, onChange, onRate }: Props) {
  const last = (text: string) => rateSteps(text).at(-1)?.rate ?? text;
  const varies = (text: string) => (rateSteps(text).length > 1 ? ", which varies; at last" : "");
  const buffer = /^(pfifo|bfifo|pfifo_fast)\b.*\blimit\s+(\d+)/.exec(settings.qdiscs[0] ?? "");
  const hasQuic = settings.quicUploads + settings.quicDownloads > 0;
  return (
    <form class="controls" aria-label="The line and its traffic" onSubmit={(event) => event.preventDefault()}>
      <Rate label={`Rate to the client${varies(settings.down)}`} value={last(settings.down)} onRate={(rate) => onRate("down", rate)} />
      <Rate label={`Rate to the Internet${varies(settings.up)}`} value={last(settings.up)} onRate={(rate) => onRate("up", rate)} />
      <Text label="RTT of the idle line" value={settings.rtt} onChange={(rtt) => onChange({ rtt })} />
      {buffer !== null && (
        <Slider
          label="Buffer of the first queue" unit="packets" value={Number(buffer[2])} least={4} most={2000}
          onChange={(limit) =>
            onChange({ qdiscs: settings.qdiscs.map((line, at) => (at === 0 ? line.replace(/limit\s+\d+/, `limit ${limit}`) : line)) })
          }
        />
      )}
      <Count label="Uploads" value={settings.uploads} onChange={(uploads) => onChange({ uploads })} />
      <Count label="Downloads" value={settings.downloads} onChange={(downloads) => onChange({ downloads })} />
      <Count label="QUIC uploads" value={settings.quicUploads} onChange={(quicUploads) => onChange({ quicUploads })} />
      <Count label="QUIC downloads" value={settings.quicDownloads} onChange={(quicDownloads) => onChange({ quicDownloads })} />
      <label>
        Congestion control{hasQuic && " of TCP"}
        <select value={settings.cc} onChange={(event) => onChange({ cc: event.currentTarget.value })}>
          {(catalogue?.tcps ?? [{ name: settings.cc, summary: "" }]).map((tcp) => (
            <option value={tcp.name} title={tcp.summary}>{tcp.name}</option>
          ))}
        </select>
      </label>
      {hasQuic && (
        <label>
          Congestion control of QUIC
          <select value={settings.quicCc} onChange={(event) => onChange({ quicCc: event.currentTarget.value })}>
            {(catalogue?.quics ?? [settings.quicCc]).map((name) => <option value={name}>{name}</option>)}
          </select>
        </label>
      )}
      <Text label="Random loss in %" value={settings.loss} onChange={(loss) => onChange({ loss })} />
      <label>
        WiFi between line and client
        <select value={settings.wifi} onChange={(event) => onChange({ wifi: event.currentTarget.value })}>
          {WIFI.map(([mcs, text]) => <option value={mcs}>{text}</option>)}
          {!WIFI.some(([mcs]) => mcs === settings.wifi) && <option value={settings.wifi}>MCS {settings.wifi}</option>}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={settings.ecn} onChange={(event) => onChange({ ecn: event.currentTarget.checked })} />
        ECN: mark instead of drop
      </label>
      <Text label="Time between pings" value={settings.ping} onChange={(ping) => onChange({ ping })} />
      <Text label="Simulated time" value={settings.time} onChange={(time) => onChange({ time })} />
      <Text label="Seed" value={settings.seed} onChange={(seed) => onChange({ seed })} />
    </form>
  );
}

/** What can be changed of a scenario. An empty field is the scenario's own value. */
export function ScenarioControls({ settings, onChange }: Pick<Props, "settings" | "onChange">) {
  const own = "as in the scenario";
  return (
    <form class="controls" aria-label="Changes to the scenario" onSubmit={(event) => event.preventDefault()}>
      <Text label="Rate to the client" hint={own} value={settings.down} onChange={(down) => onChange({ down })} />
      <Text label="Rate to the Internet" hint={own} value={settings.up} onChange={(up) => onChange({ up })} />
      <Text label="RTT of the idle line" hint={own} value={settings.rtt} onChange={(rtt) => onChange({ rtt })} />
      <Text label="Simulated time" hint={own} value={settings.time} onChange={(time) => onChange({ time })} />
      <Text label="Seed" hint={own} value={settings.seed} onChange={(seed) => onChange({ seed })} />
    </form>
  );
}

function Text({ label, hint = "", value, onChange }: { label: string; hint?: string; value: string; onChange(value: string): void }) {
  return (
    <label>
      {label}
      <input value={value} placeholder={hint} spellcheck={false} onChange={(event) => onChange(event.currentTarget.value.trim())} />
    </label>
  );
}

function Count({ label, value, onChange }: { label: string; value: number; onChange(value: number): void }) {
  return (
    <label>
      {label}
      <input
        type="number" min={0} max={MOST_FLOWS} value={value}
        onChange={(event) => onChange(Math.max(0, Math.min(MOST_FLOWS, Math.round(Number(event.currentTarget.value) || 0))))}
      />
    </label>
  );
}

/** A slider on a logarithmic scale. */
function Slider({ label, unit, value, least, most, onChange }: {
  label: string; unit: string; value: number; least: number; most: number; onChange(value: number): void;
}) {
  const [shown, show] = useState(value);
  useEffect(() => show(value), [value]);
  const steps = 200;
  const position = Math.round((steps * Math.log(shown / least)) / Math.log(most / least));
  const at = (place: number) => round(least * (most / least) ** (place / steps));
  return (
    <label>
      <span>{label}: <b>{shown} {unit}</b></span>
      <input
        type="range" min={0} max={steps} value={position} aria-valuetext={`${shown} ${unit}`}
        onInput={(event) => show(at(Number(event.currentTarget.value)))}
        onChange={(event) => onChange(at(Number(event.currentTarget.value)))}
      />
    </label>
  );
}

function Rate({ label, value, onRate }: { label: string; value: string; onRate(rate: string): void }) {
  const mbit = megabits(value);
  const [shown, show] = useState(value);
  useEffect(() => show(value), [value]);
  const [least, most, steps] = [0.1, 1000, 200];
  const position = Math.round((steps * Math.log(Math.max(least, megabits(shown) || mbit) / least)) / Math.log(most / least));
  const at = (place: number) => rate(least * (most / least) ** (place / steps));
  return (
    <label>
      <span>{label}</span>
      <span class="pair">
        <input
          type="range" min={0} max={steps} value={position} aria-valuetext={shown}
          onInput={(event) => show(at(Number(event.currentTarget.value)))}
          onChange={(event) => onRate(at(Number(event.currentTarget.value)))}
        />
        <input value={shown} size={8} spellcheck={false} aria-label={`${label}, as in 10mbit`}
          onChange={(event) => onRate(event.currentTarget.value.trim())} />
      </span>
    </label>
  );
}

/** Rounds to two digits. */
function round(value: number): number {
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.round(value / digits) * digits;
}

function rate(mbit: number): string {
  return mbit < 1 ? `${round(mbit * 1000)}kbit` : `${Math.round(mbit * 10) / 10 >= 10 ? round(mbit) : Math.round(mbit * 10) / 10}mbit`;
}
