// The page that gives advice: a person types a line and copies what to set.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { change, mbit, ms } from "./answer.ts";
import type { Advice, First, FromAdviser, Setting, ToAdviser } from "./answer.ts";
import { command, fromHash, missing, question, toHash } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { FIRST, toHash as playgroundHash } from "./settings.ts";

/** A measurement that somebody chose. */
interface Chosen {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

interface State {
  first: First | null;
  advice: Advice | null;
  fraction: number;
  error: string | null;
  /** The question that is being answered. */
  asked: Asked | null;
}

const IDLE: State = { first: null, advice: null, fraction: 0, error: null, asked: null };

function Page() {
  const [asked, setAsked] = useState<Asked>(() => fromHash(location.hash));
  const [file, setFile] = useState<Chosen | null>(null);
  const [links, setLinks] = useState<{ name: string; title: string }[]>([]);
  const [state, setState] = useState<State>(IDLE);
  const worker = useRef<Worker | null>(null);

  /** A search cannot be interrupted, so a new question gets a new worker. */
  const start = () => {
    worker.current?.terminate();
    const fresh = new Worker("adviser.js", { type: "module" });
    fresh.onmessage = ({ data }: MessageEvent<FromAdviser>) => {
      if (data.type === "ready") setLinks(data.links);
      if (data.type === "first") setState((old) => ({ ...old, first: data.first }));
      if (data.type === "came") setState((old) => ({ ...old, fraction: data.fraction }));
      if (data.type === "done") setState((old) => ({ ...old, advice: data.advice, fraction: 1 }));
      if (data.type === "failed") setState((old) => ({ ...old, error: data.message }));
    };
    fresh.onerror = () => setState((old) => ({ ...old, error: "The simulator cannot be loaded. Reload the page, or try another browser." }));
    worker.current = fresh;
    return fresh;
  };

  const ask = (what: Asked, flent: Chosen | null) => {
    const lacking = missing(what, flent !== null);
    if (lacking !== null) return setState({ ...IDLE, error: lacking });
    setState({ ...IDLE, asked: what });
    history.replaceState(null, "", `${location.pathname}${toHash(what)}`);
    const message: ToAdviser = {
      question: JSON.stringify(question(what)), name: flent?.name ?? "", flent: flent?.bytes ?? new Uint8Array(),
    };
    start().postMessage(message);
  };

  useEffect(() => {
    const of = fromHash(location.hash);
    if (missing(of, false) === null) ask(of, null);
    else start();
    const changed = () => {
      const next = fromHash(location.hash);
      setAsked(next);
      if (missing(next, false) === null) ask(next, null);
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);

  return (
    <main class="advise">
      <header>
        <h1>goodqueue <small>the setting for your line</small></h1>
        <p>When somebody downloads or uploads, calls stutter and games lag: the modem keeps too many packets waiting. This page
          simulates your line and finds the setting of your router that ends it. Nothing leaves your browser.</p>
      </header>
      <Form asked={asked} file={file} links={links} change={setAsked} choose={setFile} ask={() => ask(asked, file)} />
      {state.error !== null && <p class="error" role="alert">{state.error}</p>}
      <Answer state={state} />
      {state.advice !== null && state.asked !== null && <Details advice={state.advice} asked={state.asked} file={file} />}
    </main>
  );
}

function Form({ asked, file, links, change, choose, ask }: {
  asked: Asked; file: Chosen | null; links: { name: string; title: string }[];
  change: (asked: Asked) => void; choose: (file: Chosen | null) => void; ask: () => void;
}) {
  const field = (key: "down" | "up" | "idle" | "loaded", label: string, unit: string, example: string) => (
    <label>{label}
      <span><input name={key} inputMode="decimal" autocomplete="off" placeholder={example} value={asked[key]}
        onInput={(event) => change({ ...asked, [key]: event.currentTarget.value.trim().replace(",", ".") })} /> {unit}</span>
    </label>
  );
  const read = async (list: FileList | null | undefined) => {
    const chosen = list?.[0];
    choose(chosen === undefined ? null : { name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) });
  };
  return (
    <form class="ask" onSubmit={(event) => { event.preventDefault(); ask(); }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => { event.preventDefault(); void read(event.dataTransfer?.files); }}>
      <div class="fields">
        {field("down", "Download", "Mbit/s", "100")}
        {field("up", "Upload", "Mbit/s", "10")}
        <label>Kind of line
          <select name="link" value={asked.link} onChange={(event) => change({ ...asked, link: event.currentTarget.value })}>
            <option value="">choose …</option>
            {links.map(({ name, title }) => <option value={name}>{title}</option>)}
          </select>
        </label>
      </div>
      <details open={asked.idle !== "" || file !== null}>
        <summary>I have measured my line</summary>
        <p>With your pings the model gets the buffers of your modem. Measure without load, and during a speed test.</p>
        <div class="fields">
          {field("idle", "Ping without load", "ms", "20")}
          {field("loaded", "Ping with load", "ms", "300")}
          <label>Or a file of Flent
            <input type="file" accept=".flent,.gz" onChange={(event) => void read(event.currentTarget.files)} />
          </label>
        </div>
        {file !== null && <p>Pings, and the rates that you leave empty, come from {file.name}.</p>}
      </details>
      <button class="main" type="submit">Find my setting</button>
    </form>
  );
}

function Answer({ state }: { state: State }) {
  const { first, advice, fraction, asked, error } = state;
  if (asked === null || error !== null) return null;
  if (first === null && advice === null) return <p class="working" aria-live="polite">Simulating your line …</p>;
  const added = advice === null
    ? first!.latency_s
    : [advice.mixes[0]!.today_s.mean, advice.mixes[0]!.advised_s.mean] as const;
  return (
    <section aria-live="polite">
      <h2>What happens today, and with the setting</h2>
      <div class="numbers">
        <p><b class="ms" data-grade="bad">{ms(added[0])} ms</b> added today to each click, word and move while the line is busy
          {advice !== null && <> (grade {advice.today.grade})</>}</p>
        <p><b class="ms" data-grade="good">{ms(added[1])} ms</b> added with the setting
          {advice !== null && <> (grade {advice.advised.grade})</>}</p>
      </div>
      {advice === null && (
        <p class="working">
          <progress value={fraction} max={1} aria-label="Progress" /> First answer. The search for the best rates and their
          verification go on.
        </p>
      )}
      {advice?.keep === true && <p><b>Leave your router as it is:</b> no setting makes pings clearly shorter.</p>}
    </section>
  );
}

function Details({ advice, asked, file }: { advice: Advice; asked: Asked; file: Chosen | null }) {
  const { today, advised } = advice;
  const [watched, watch] = useState(false);
  return (
    <>
      {!advice.keep && <Settings settings={advice.settings} />}
      <h2>What changes</h2>
      <div class="wide">
        <table>
          <thead><tr><th scope="col">While this goes on</th><th scope="col">today</th><th scope="col">with the setting</th></tr></thead>
          <tbody>
            {advice.mixes.map((mix) => (
              <tr><th scope="row">{mix.name}</th><td>{ms(mix.today_s.mean)} ms</td><td>{ms(mix.advised_s.mean)} ms</td></tr>
            ))}
          </tbody>
        </table>
      </div>
      <p>Each value is how much longer a ping takes than on the idle line.
        {advised.first_s !== undefined && today.first_s !== undefined &&
          ` In the first ten seconds of a load it is ${ms(advised.first_s)} ms, and ${ms(today.first_s)} ms today.`}</p>
      <h2>What it costs</h2>
      <p>With downloads and uploads at the same time, downloads get {mbit(advised.goodput_bps[0])} Mbit/s
        ({change(today.goodput_bps[0], advised.goodput_bps[0])}) and uploads {mbit(advised.goodput_bps[1])} Mbit/s
        ({change(today.goodput_bps[1], advised.goodput_bps[1])}). {advice.reason}</p>
      <h2>Watch the queues</h2>
      {watched
        ? <iframe class="show" title="The queue of the modem today, and with the setting" src={`./index.html?embed${show(advice)}`} />
        : <p><button type="button" onClick={() => watch(true)}>Show the packets of both</button></p>}
      <h2>How sure is this?</h2>
      <p>{advice.line}. The buffers hold {size(advice.buffer_bytes[0])} down and {size(advice.buffer_bytes[1])} up
        ({advice.is_measured ? "from your pings" : "usual for such lines"}). Your line is not a model: measure before and after, for
        example with the Waveform bufferbloat test, and lower the rates by 5 % if the ping still grows.</p>
      <p>{advice.sources}</p>
      <p>The same at the command line: <code>{command(asked, file?.name ?? null)}</code></p>
    </>
  );
}

function Settings({ settings }: { settings: Setting[] }) {
  const [name, setName] = useState("openwrt");
  const setting = settings.find((one) => one.name === name) ?? settings[0];
  const [copied, setCopied] = useState("Copy");
  if (setting === undefined) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(setting.text);
      setCopied("Copied");
    } catch {
      // Only pages of a secure address may write to the clipboard.
      setCopied("Select the text to copy it");
    }
    setTimeout(() => setCopied("Copy"), 4000);
  };
  return (
    <section>
      <h2>What to set</h2>
      <label>Your router{" "}
        <select value={setting.name} onChange={(event) => setName(event.currentTarget.value)}>
          {settings.map((one) => <option value={one.name}>{one.place.split(":")[0]!.replaceAll("`", "")}</option>)}
        </select>
      </label>
      {setting.before.length > 0 && <><h3>Before</h3><ul>{setting.before.map((step) => <li>{step}</li>)}</ul></>}
      <p>{words(setting.place)}</p>
      <div class="setting">
        <pre>{setting.text}</pre>
        <button type="button" onClick={() => void copy()}>{copied}</button>
      </div>
      {setting.remarks.map((remark) => <p>{words(remark)}</p>)}
      {setting.undo.length > 0 && <details><summary>Take it back</summary><pre>{setting.undo.join("\n")}</pre></details>}
    </section>
  );
}

/** Text whose code is between backticks. */
function words(text: string) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}

/** The line without its router, in the playground: the buffer of the modem beside the shaper. */
function show(advice: Advice): string {
  const [down, up] = advice.rate_bps.map((bps) => `${Math.round(bps / 1000)}kbit`) as [string, string];
  const qdiscs = [`bfifo limit ${advice.buffer_bytes[1]}`, `cake bandwidth ${Math.round(advice.shaped_bps[1] / 1000)}kbit`];
  return playgroundHash({ ...FIRST, down, up, rtt: `${Math.round(advice.rtt_s * 1000)}ms`, downloads: 0, uploads: 2, time: "30s", qdiscs }, "");
}

function size(bytes: number): string {
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e3)} kB`;
}

const root = document.getElementById("page");
if (root !== null) render(<Page />, root);

