// The page that gives advice: a person types a line and copies what to set.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { wire } from "../../crates/goodqueue-advise/assets/advice.js";
import { ms } from "./answer.ts";
import type { Advice, Answered, First, FromAdviser, ToAdviser } from "./answer.ts";
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
  answered: Answered | null;
  fraction: number;
  error: string | null;
  /** The question that is being answered. */
  asked: Asked | null;
}

/** Returns the address of a file beside this script. The page itself may be in another folder. */
const beside = (file: string): string => new URL(file, import.meta.url).href;

const IDLE: State = { first: null, answered: null, fraction: 0, error: null, asked: null };

function Page() {
  const [asked, setAsked] = useState<Asked>(() => fromHash(location.hash));
  const [file, setFile] = useState<Chosen | null>(null);
  const [links, setLinks] = useState<{ name: string; title: string }[]>([]);
  const [state, setState] = useState<State>(IDLE);
  const worker = useRef<Worker | null>(null);

  /** A search cannot be interrupted, so a new question gets a new worker. */
  const start = () => {
    worker.current?.terminate();
    const fresh = new Worker(beside("adviser.js"), { type: "module" });
    fresh.onmessage = ({ data }: MessageEvent<FromAdviser>) => {
      if (data.type === "ready") setLinks(data.links);
      if (data.type === "first") setState((old) => ({ ...old, first: data.first }));
      if (data.type === "came") setState((old) => ({ ...old, fraction: data.fraction }));
      if (data.type === "done") setState((old) => ({ ...old, answered: data.answered, fraction: 1 }));
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
      {state.asked !== null && state.error === null && (state.answered === null
        ? <Preliminary state={state} />
        : <Details answered={state.answered} asked={state.asked} file={file} />)}
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

/** The answer before it is verified. */
function Preliminary({ state }: { state: State }) {
  const { first, fraction } = state;
  if (first === null) return <p class="working" aria-live="polite">Simulating your line …</p>;
  return (
    <section class="advice" aria-live="polite">
      <h2>What happens today, and with the setting</h2>
      <div class="numbers">
        <p><b class="ms" data-grade="bad">{ms(first.latency_s[0])} ms</b> added today to each click, word and move while the line is busy</p>
        <p><b class="ms" data-grade="good">{ms(first.latency_s[1])} ms</b> added with the setting</p>
      </div>
      <p class="working">
        <progress value={fraction} max={1} aria-label="Progress" /> First answer. The search for the best rates and their
        verification go on.
      </p>
    </section>
  );
}

function Details({ answered, asked, file }: { answered: Answered; asked: Asked; file: Chosen | null }) {
  const [watched, watch] = useState(false);
  const answer = useRef<HTMLDivElement>(null);
  useEffect(() => { if (answer.current !== null) wire(answer.current); }, [answered]);
  return (
    <>
      {/* The module escapes every text in it. */}
      <div ref={answer} dangerouslySetInnerHTML={{ __html: answered.html }} />
      <section class="advice">
        <h2>Watch the queues</h2>
        {watched
          ? <iframe class="show" title="The queue of the modem today, and with the setting" src={`${beside("index.html")}?embed${show(answered.advice)}`} />
          : <p><button type="button" onClick={() => watch(true)}>Show the packets of both</button></p>}
        <p>The same at the command line: <code>{command(asked, file?.name ?? null)}</code></p>
      </section>
    </>
  );
}

/** The line without its router, in the playground: the buffer of the modem beside the shaper. */
function show(advice: Advice): string {
  const [down, up] = advice.rate_bps.map((bps) => `${Math.round(bps / 1000)}kbit`) as [string, string];
  const qdiscs = [`bfifo limit ${advice.buffer_bytes[1]}`, `cake bandwidth ${Math.round(advice.shaped_bps[1] / 1000)}kbit`];
  return playgroundHash({ ...FIRST, down, up, rtt: `${Math.round(advice.rtt_s * 1000)}ms`, downloads: 0, uploads: 2, time: "30s", qdiscs }, "");
}

const root = document.getElementById("page");
if (root !== null) render(<Page />, root);

