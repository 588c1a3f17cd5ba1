// The page: a sentence, the columns, the controls.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Charts } from "./charts.tsx";
import { Column, type Draw, type Moment } from "./column.tsx";
import { Controls, ScenarioControls } from "./controls.tsx";
import { tellHeight } from "./embed.ts";
import { Guide, isNew, type GuideStep } from "./guide.tsx";
import { LessonList, LessonPanel } from "./lesson.tsx";
import { LESSONS, isMade, type Lesson } from "./lessons.ts";
import { Player } from "./player.ts";
import { PRESETS, presetOf, settingsOf } from "./presets.ts";
import type { About, Catalogue, Story } from "./protocol.ts";
import { megabits } from "./rates.ts";
import { ScenarioText } from "./scenario.tsx";
import {
  FIRST, command, file, fromHash, ignoredIn, isScenario, ofScenario, python, rateSteps, request, toHash, withRateFrom, type Settings,
} from "./settings.ts";
import { MOST_PLACES, type Packet } from "./track.ts";
import { Results } from "./results.tsx";
import { Sound } from "./sound.ts";
import { tomlOfJson } from "./toml.ts";
import { BEGINNING, REFUSED, nameOf, seenIn, sentence } from "./words.ts";

/** Milliseconds between two changes of the numbers and of the sentence, which change together. */
const NUMBERS = 250;
/** Milliseconds between two sentences for a screen reader, which needs time to read. */
const READ_ALOUD = 10_000;

const SPEEDS: [string, string][] = [
  ["packet", "1 packet per second"],
  ["0.001", "1/1000 of real time"],
  ["0.01", "1/100 of real time"],
  ["0.1", "1/10 of real time"],
  ["0.25", "1/4 of real time"],
  ["0.5", "1/2 of real time"],
  ["1", "real time"],
  ["4", "4 times real time"],
  ["16", "16 times real time"],
];

/** Most columns that the page offers to add. */
const MOST_COLUMNS = 3;

/** The lesson that the address names. */
function lessonOf(hash: string): Lesson | null {
  const id = new URLSearchParams(hash.replace(/^#/, "")).get("lesson");
  return LESSONS.find((lesson) => lesson.id === id) ?? null;
}

/** The settings that the address names: those of its lesson, if it has nothing else. */
function settingsAt(hash: string): Settings {
  const lesson = lessonOf(hash);
  const others = [...new URLSearchParams(hash.replace(/^#/, "")).keys()].filter((key) => key !== "lesson" && key !== "v");
  return lesson !== null && others.length === 0 ? lesson.settings : fromHash(hash);
}

/** True in a frame of another page: only the sentence, the clock and the columns are shown. */
const IS_EMBEDDED = new URLSearchParams(location.search).has("embed");

/** Widest window of a phone, in CSS pixels. The style sheet has the same. */
const PHONE = "(max-width: 480px)";

/** True on a phone, also after it is turned. */
function usePhone(): boolean {
  const [is, set] = useState(() => window.matchMedia(PHONE).matches);
  useEffect(() => {
    const query = window.matchMedia(PHONE);
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return is;
}

function wantsCalm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export function Page() {
  const [settings, setSettings] = useState<Settings>(() => settingsAt(location.hash));
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [about, setAbout] = useState<About | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isPlaying, setPlaying] = useState(() => !wantsCalm());
  const [speed, setSpeed] = useState(() => lessonOf(location.hash)?.speed ?? presetOf(settingsAt(location.hash))?.speed ?? "0.5");
  const [lesson, setLesson] = useState<Lesson | null>(() => lessonOf(location.hash));
  const [done, setDone] = useState<boolean[]>(() => lessonOf(location.hash)?.steps.map(() => false) ?? []);
  const [isGuided, setGuided] = useState(() => !IS_EMBEDDED && location.hash === "" && isNew());
  const [part, setPart] = useState<GuideStep["part"] | null>(null);
  const isPhone = usePhone();
  // The clock's callback reads these.
  const present = useRef({ settings, lesson, done, isRefused: false });
  present.current = { settings, lesson, done, isRefused: error !== null };
  const [json, setJson] = useState<string | null>(null);
  /** The results of the run so far, and the time up to which it was measured. */
  const [partial, setPartial] = useState<{ json: string; at: number } | null>(null);
  const [copied, setCopied] = useState("");
  const [asked, setAsked] = useState<{ column: number; packet: Packet; now: number; story: Story | null } | null>(null);
  const sound = useRef<Sound | null>(null);
  const loads = useRef(0);
  const draws = useRef<(Draw | null)[]>([]);
  const clock = useRef<HTMLOutputElement>(null);
  const progress = useRef<HTMLProgressElement>(null);
  const spoken = useRef<HTMLParagraphElement>(null);
  const aloud = useRef<HTMLParagraphElement>(null);
  const times = useRef({ numbers: 0, aloud: 0 });

  const player = useMemo(() => {
    const made: Player = new Player({
      ready: setCatalogue,
      loaded: (info) => {
        loads.current += 1;
        forget();
        setError(null);
        setAbout(info);
      },
      refused: (message) => {
        forget();
        setError(message);
      },
      drawn: (now) => draw(made, now),
      told: (column, number, story) =>
        setAsked((before) => (before?.column === column && before.packet.id === number * MOST_PLACES ? { ...before, story } : before)),
      measured: (text, at) => setPartial({ json: text, at }),
      over: (text) => {
        setJson(text);
        setPlaying(false);
      },
    });
    return made;
  }, []);

  /** Nothing of an earlier run is left: no table, no results, no story. */
  function forget(): void {
    setJson(null);
    setPartial(null);
    setAsked(null);
  }

  function draw(source: Player, now: number): void {
    const at = performance.now();
    const changesNumbers = at - times.current.numbers >= NUMBERS;
    if (changesNumbers) times.current.numbers = at;
    const { tracks } = source;
    const room = (tracks[0]?.peak ?? []).map((_, queue) => Math.max(...tracks.map((track) => track.peak[queue] ?? 0)));
    const top = changesNumbers ? Math.max(1, ...tracks.flatMap((track) => track.answersUntil(now).map((answer) => answer.time))) : 1;
    // The numbers and the sentence are made of the same readings.
    const pings = changesNumbers ? tracks.map((track) => track.ping(now)) : [];
    const moment: Moment = { now, speed: source.isPlaying ? source.speed : 0, room, top, pings, changesNumbers };
    tracks.forEach((track, index) => draws.current[index]?.(track, moment));
    if (changesNumbers && clock.current !== null && source.about !== null) {
      clock.current.textContent = `${(now / 1e9).toFixed(source.speed < 0.1 ? 3 : 1)} s`;
      if (progress.current !== null) progress.current.value = now / source.about.duration;
    }
    if (changesNumbers) observe(tracks, now);
    if (sound.current !== null && source.about !== null && source.isPlaying) {
      sound.current.play(tracks, now, Math.min(...source.about.flows.filter((flow) => flow.kind === "ping").map((flow) => flow.rtt)));
    }
    if (changesNumbers && source.about !== null) say(source, pings, now, at);
  }

  function say(source: Player, pings: Moment["pings"], now: number, at: number): void {
    const info = source.about;
    if (spoken.current === null || info === null) return;
    const seen = source.tracks.map((track, index) => seenIn(info, track, nameOf(info, index), pings[index] ?? null, now));
    const text = present.current.isRefused ? REFUSED : sentence(info, seen);
    if (spoken.current.textContent !== text) spoken.current.textContent = text;
    if (aloud.current !== null && source.isPlaying && at - times.current.aloud >= READ_ALOUD) {
      times.current.aloud = at;
      aloud.current.textContent = text;
    }
  }

  /** Ticks off the next step of the lesson if it can be observed now. */
  function observe(tracks: Player["tracks"], now: number): void {
    const { lesson: running, done: before, settings: made } = present.current;
    const at = before.indexOf(false);
    const step = running?.steps[at];
    if (step !== undefined && isMade(step, made) && step.seen(tracks, now)) {
      setDone(before.map((is, index) => is || index === at));
    }
  }

  function learn(chosen: Lesson | null): void {
    setLesson(chosen);
    present.current.lesson = chosen;
    if (chosen === null) return show(settings);
    setDone(chosen.steps.map(() => false));
    setSpeed(chosen.speed);
    show(chosen.settings);
    setPlaying(!wantsCalm());
    window.scrollTo({ top: 0 });
  }

  /** Shows these settings from this time on, in nanoseconds. */
  function show(next: Settings, from = 0): void {
    setSettings(next);
    // The guide tells of the first sight.
    setGuided(false);
    setAsked(null);
    const running = present.current.lesson;
    const hash = toHash(next, catalogue?.version ?? "");
    const address = running === null ? hash : `${hash || "#"}&lesson=${running.id}`;
    history.replaceState(null, "", address || location.pathname + location.search);
    player.load(request(next), from);
  }

  useEffect(() => player.load(request(settings)), []);
  useEffect(() => {
    const changed = () => {
      const next = settingsAt(location.hash);
      setLesson(lessonOf(location.hash));
      setDone(lessonOf(location.hash)?.steps.map(() => false) ?? []);
      setSettings(next);
      setGuided(false);
      player.load(request(next));
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => (IS_EMBEDDED ? tellHeight() : undefined), []);
  useEffect(() => {
    player.isPlaying = isPlaying;
  }, [isPlaying]);
  useEffect(() => {
    const up = megabits(rateSteps(settings.up)[0]?.rate ?? "1mbit") || 1;
    player.speed = speed === "packet" ? (1514 * 8) / (up * 1e6) : Number(speed);
  }, [speed, settings.up]);

  function play(): void {
    setAsked(null);
    if (player.isOver) return restart();
    setPlaying(!isPlaying);
  }

  /** Pauses, and shows what is known of a packet. */
  function ask(column: number, packet: Packet | null): void {
    if (packet === null) return setAsked(null);
    player.isPlaying = false;
    setPlaying(false);
    setAsked({ column, packet, now: player.now, story: null });
    // The command tells stories of the compared disciplines only.
    if (packet.left <= player.now && packet.queue < 2) player.tell(column, packet.number);
  }

  function step(): void {
    setAsked(null);
    setPlaying(false);
    player.step();
  }

  function restart(): void {
    player.load(request(settings));
    setPlaying(true);
  }

  /** One line that shows this page in another one. */
  function frame(): string {
    const address = `${location.origin}${location.pathname}?embed${location.hash}`;
    return `<iframe src="${address.replaceAll("&", "&amp;")}" width="100%" height="700" title="Queues of goodqueue"></iframe>`;
  }

  async function copy(what: string, text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(`${what} copied`);
    } catch {
      setCopied(text);
    }
    setTimeout(() => setCopied(""), 4000);
  }

  /** Shows the first sight again, with its guide. */
  function guide(): void {
    setLesson(null);
    present.current.lesson = null;
    setSpeed(presetOf(FIRST)?.speed ?? "0.5");
    show(FIRST);
    setGuided(true);
    setPlaying(!wantsCalm());
    window.scrollTo({ top: 0 });
  }

  /** Shows a preset, or a built-in scenario. */
  function choose(value: string): void {
    const preset = PRESETS.find(({ name }) => name === value);
    if (preset !== undefined) setSpeed(preset.speed);
    show(preset === undefined ? ofScenario({ builtin: value }) : settingsOf(preset));
    setPlaying(!wantsCalm());
  }

  const made = new URLSearchParams(location.hash.replace(/^#/, "")).get("v");
  const chosen = settings.builtin ?? presetOf(settings)?.name ?? "";
  // The words of a scenario's author: a built-in one, or one that came with the link.
  const words = (key: string) => (isScenario(settings) ? String(about?.scenario[key] ?? "") : "");
  const { qdiscs } = settings;
  const placed = error === null ? -1 : qdiscs.findIndex((line) => error.includes(`| ${line}`));
  const lines = about === null ? [] : about.columns.map((column, index) => qdiscs[index] ?? column.line);
  const setLine = (index: number, line: string) => show({ ...settings, qdiscs: lines.map((old, at) => (at === index ? line.trim() : old)) });

  return (
    <>
      {!IS_EMBEDDED && <header>
        <h1>goodqueue <small>playground</small></h1>
        <p>Every packet on this page is simulated as a real one: the queues are those of <code>tc</code>, the transfers are TCP.</p>
        <button class="link" onClick={guide}>Guided start</button>
      </header>}
      <main data-guide={isGuided ? part : null}>
        {isPhone && lesson === null && !IS_EMBEDDED && <LessonList onChoose={learn} />}
        {about === null && error !== null ? <p class="sentence">{REFUSED}</p> : <p class="sentence" ref={spoken}>{BEGINNING}</p>}
        {lesson === null && (
          <p class="words">
            <i class="diamond" aria-hidden="true" /> <b>Ping:</b> a small packet that is answered at once. Calls, games and clicks wait as
            long as it does. <b>Bufferbloat:</b> a buffer that is too large fills with packets, and every later one waits behind them.
          </p>
        )}
        <p class="hidden" ref={aloud} aria-live="polite" />
        {lesson !== null && (
          <LessonPanel
            lesson={lesson} done={done} settings={settings} onChoose={learn}
            onChange={(changed) => show({ ...settings, ...changed })}
          />
        )}
        <div class="toolbar" role="toolbar" aria-label="Clock">
          <button class="main" onClick={play} aria-pressed={isPlaying}>{isPlaying ? "Pause" : "Start"}</button>
          <button onClick={step} title="Go on to the next packet that leaves a queue">Step</button>
          <button onClick={restart}>Restart</button>
          <label>
            <span class="hidden">Speed</span>
            <select value={speed} onChange={(event) => setSpeed(event.currentTarget.value)}>
              {SPEEDS.map(([value, text]) => <option value={value}>{text}</option>)}
            </select>
          </label>
          <label>
            <span class="hidden">Line and traffic</span>
            <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
              {chosen === "" && <option value="">{settings.toml === null ? "Your own line" : "A scenario file"}</option>}
              <optgroup label="Lines">
                {PRESETS.map(({ name }) => <option value={name}>{name}</option>)}
              </optgroup>
              <optgroup label="Built-in scenarios">
                {catalogue?.scenarios.map(({ name }) => <option value={name}>{name}</option>)}
              </optgroup>
            </select>
          </label>
          <label class="check">
            <input type="checkbox" onChange={(event) => {
              sound.current?.close();
              sound.current = event.currentTarget.checked ? new Sound() : null;
            }} />
            Sound
          </label>
          <output class="clock" ref={clock}>0.0 s</output>
          <progress ref={progress} max={1} value={0} aria-label="Part of the run that has passed" />
        </div>
        {(chosen !== "" || settings.toml !== null) && lesson === null && !IS_EMBEDDED && (
          <p class="about">
            {presetOf(settings)?.about} {words("question")} {words("expect")}
            {about?.is_part && " The command makes more runs of this scenario: other seeds, or a sweep."}
          </p>
        )}
        {catalogue !== null && made !== null && made !== catalogue.version && (
          <p class="about">This link was made with version {made}; this is version {catalogue.version}. The numbers may differ.</p>
        )}
        {ignoredIn(location.hash).map((remark) => <p class="remark" role="alert">{remark}</p>)}
        {error !== null && placed < 0 && <pre class="error" role="alert">{error}</pre>}
        {about !== null && (
          <div class="columns" data-count={lines.length} data-loads={loads.current}>
            {about.columns.map((_, index) => (
              <Column
                key={index} about={about} index={index} line={lines[index] ?? ""} error={placed === index ? error : null}
                isRemovable={lines.length > 1}
                onLine={(line) => setLine(index, line)}
                onRemove={() => show({ ...settings, qdiscs: lines.filter((_, at) => at !== index) })}
                asked={asked?.column === index ? asked : null} reasons={catalogue?.drop_reasons ?? []}
                catalogue={IS_EMBEDDED ? null : catalogue}
                onAsk={(packet) => ask(index, packet)}
                lastOf={(kind) => player.tracks[index]?.lastOf(kind, player.now)}
                register={(at, draw) => { draws.current[at] = draw; }}
              />
            ))}
          </div>
        )}
        {about !== null && !IS_EMBEDDED && lines.length < MOST_COLUMNS && (
          <button class="add" onClick={() => show({ ...settings, qdiscs: [...lines, "codel"] })}>Add a queue</button>
        )}
        {about !== null && !IS_EMBEDDED && json === null && (
          <button class="add" onClick={() => player.measure()}>Table of the run so far</button>
        )}
        {about !== null && !IS_EMBEDDED && (json !== null || partial !== null) && (
          <Results
            json={json ?? partial?.json ?? ""} until={json === null ? (partial?.at ?? null) : null}
            labels={about.columns.map((column) => column.label)}
          />
        )}
        {about !== null && !IS_EMBEDDED && <Charts player={player} about={about} />}
        <datalist id="disciplines">
          {catalogue?.qdiscs.map((qdisc) => <option value={qdisc.name}>{qdisc.summary}</option>)}
        </datalist>
        {isScenario(settings) && !IS_EMBEDDED && (
          <ScenarioControls settings={settings} onChange={(changed) => show({ ...settings, ...changed })} />
        )}
        {!isScenario(settings) && !IS_EMBEDDED && (
          <Controls
            settings={settings} catalogue={catalogue}
            onChange={(changed) => show({ ...settings, ...changed })}
            onRate={(direction, rate) => {
              const text = withRateFrom(settings[direction], player.isOver ? 0 : player.now / 1e9, rate);
              show({ ...settings, [direction]: text }, player.isOver || !text.includes(",") ? 0 : player.now);
            }}
          />
        )}
        {!IS_EMBEDDED && (
          <ScenarioText text={file(settings) ?? (about === null ? "" : tomlOfJson(JSON.stringify(about.scenario)))} onRun={(toml) => show(ofScenario({ toml }))} />
        )}
        {IS_EMBEDDED && <p class="about"><a href={`./${location.hash}`} target="_blank" rel="noreferrer">Open in the playground</a></p>}
        {!IS_EMBEDDED && <div class="share">
          <button onClick={() => copy("link", location.href)}>Copy link</button>
          <button onClick={() => copy("command", command(settings))}>Copy command</button>
          {file(settings) !== null && <button onClick={() => copy("scenario", file(settings) ?? "")}>Copy TOML</button>}
          <button onClick={() => copy("program", python(settings))}>Copy Python</button>
          {json !== null && <a class="button" download="results.json" href={`data:application/json,${encodeURIComponent(json)}`}>Results as JSON</a>}
          <button onClick={() => copy("frame", frame())}>Copy embed code</button>
          <output aria-live="polite">{copied}</output>
        </div>}
        {!IS_EMBEDDED && (!isPhone || lesson !== null) && <LessonList onChoose={learn} />}
        {isGuided && <Guide isRunning={isPlaying && !wantsCalm()} onStep={setPart} onEnd={() => setGuided(false)} />}
      </main>
    </>
  );
}
