// The page: a sentence, the columns, the controls.

import { useEffect, useMemo, useState } from "preact/hooks";
import { actions, type Actions } from "./actions.ts";
import { IS_EMBEDDED, versionOf } from "./address.ts";
import { Columns, refusedColumn } from "./columns.tsx";
import { Controls, ScenarioControls } from "./controls.tsx";
import { tellHeight } from "./embed.ts";
import { Guide, type GuideStep } from "./guide.tsx";
import { LessonList, LessonPanel } from "./lesson.tsx";
import { presetOf } from "./presets.ts";
import { megabits } from "./rates.ts";
import { Readings } from "./readings.ts";
import { useRun, type Run } from "./run.ts";
import { ScenarioText } from "./scenario.tsx";
import { usePhone, wantsCalm } from "./screen.ts";
import { file, ignoredIn, isScenario, ofScenario, rateSteps, request, withRateFrom } from "./settings.ts";
import { Share } from "./share.tsx";
import { tomlOfJson } from "./toml.ts";
import { Toolbar, chosenIn } from "./toolbar.tsx";
import { useView, type View } from "./view.ts";
import { BEGINNING, REFUSED } from "./words.ts";

/** Bits of a full packet with its Ethernet header, of which the slowest speed shows one per second. */
const FULL_PACKET = 1514 * 8;

export function Page() {
  const view = useView();
  const readings = useMemo(() => new Readings(), []);
  const run = useRun({ drawn: (player, now) => readings.draw(player, now), over: () => view.setPlaying(false) });
  // Written during the rendering, not in an effect: the next frame may be drawn before effects run.
  readings.isRefused = run.error !== null;
  readings.onNumbers = view.observe;
  const act = actions(view, run);
  const [part, setPart] = useState<GuideStep["part"] | null>(null);
  const isPhone = usePhone();
  useAddress(view, run, act);
  useClock(view, run);
  const { settings, lesson } = view;

  return (
    <>
      {!IS_EMBEDDED && <Head act={act} />}
      <main data-guide={view.isGuided ? part : null}>
        {/* Lessons come first on a phone, where nobody scrolls below the columns to find them. */}
        {isPhone && lesson === null && !IS_EMBEDDED && <LessonList onChoose={act.learn} />}
        <Sentence view={view} run={run} readings={readings} />
        {lesson !== null && (
          <LessonPanel
            lesson={lesson} done={view.done} settings={settings} onChoose={act.learn}
            onChange={(changed) => act.show({ ...settings, ...changed })}
          />
        )}
        <Toolbar view={view} run={run} act={act} readings={readings} />
        <Remarks view={view} run={run} />
        <Columns settings={settings} run={run} act={act} readings={readings} />
        <datalist id="disciplines">
          {run.catalogue?.qdiscs.map((qdisc) => <option value={qdisc.name}>{qdisc.summary}</option>)}
        </datalist>
        {IS_EMBEDDED && <p class="about"><a href={`./${location.hash}`} target="_blank" rel="noreferrer">Open in the playground</a></p>}
        {!IS_EMBEDDED && <Changes view={view} run={run} act={act} />}
        {!IS_EMBEDDED && <Share settings={settings} json={run.json} />}
        {!IS_EMBEDDED && (!isPhone || lesson !== null) && <LessonList onChoose={act.learn} />}
        {view.isGuided && <Guide isRunning={view.isPlaying && !wantsCalm()} onStep={setPart} onEnd={() => view.setGuided(false)} />}
      </main>
    </>
  );
}

/** Shows what the address names, now and when it changes. */
function useAddress({ settings }: View, { player }: Run, { follow }: Actions): void {
  // Only once: every later change of the settings goes through `actions`, which decide whether the
  // run begins again or continues.
  useEffect(() => player.load(request(settings)), []);
  // Once, too: `follow` reads no settings, so the first one is as good as a later one.
  useEffect(() => {
    const changed = () => follow(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  // A page that embeds this one cannot see how high it is.
  useEffect(() => (IS_EMBEDDED ? tellHeight() : undefined), []);
}

/** The player goes on as the reader chose. */
function useClock({ isPlaying, speed, settings }: View, { player }: Run): void {
  useEffect(() => {
    player.isPlaying = isPlaying;
  }, [isPlaying]);
  useEffect(() => {
    // The speed `packet` shows one full packet per second on the slower, upward line. A line of rate 0
    // would stop the clock.
    const up = megabits(rateSteps(settings.up)[0]?.rate ?? "1mbit") || 1;
    player.speed = speed === "packet" ? FULL_PACKET / (up * 1e6) : Number(speed);
  }, [speed, settings.up]);
}

function Head({ act }: { act: Actions }) {
  return (
    <header>
      <h1>goodqueue <small>playground</small></h1>
      <p>Every packet on this page is simulated as a real one: the queues are those of <code>tc</code>, the transfers are TCP and QUIC.</p>
      <button class="link" onClick={act.guide}>Guided start</button>
    </header>
  );
}

/** What can be seen now in one sentence, and the two words that it needs. */
function Sentence({ view, run, readings }: { view: View; run: Run; readings: Readings }) {
  const isRefusedAtOnce = run.about === null && run.error !== null;
  return (
    <>
      {isRefusedAtOnce ? <p class="sentence">{REFUSED}</p> : <p class="sentence" ref={readings.spoken}>{BEGINNING}</p>}
      {view.lesson === null && (
        <p class="words">
          <i class="diamond" aria-hidden="true" /> <b>Ping:</b> a small packet that is answered at once. Calls, games and clicks wait as
          long as it does. <b>Bufferbloat:</b> a buffer that is too large fills with packets, and every later one waits behind them.
        </p>
      )}
      {/* The sentence changes with every frame; a screen reader gets a copy that changes more rarely. */}
      <p class="hidden" ref={readings.aloud} aria-live="polite" />
    </>
  );
}

/** What there is to say of the settings: their author's words, another version, an error. */
function Remarks({ view, run }: { view: View; run: Run }) {
  const { settings, lesson } = view;
  const { about, catalogue, error } = run;
  const made = versionOf(location.hash);
  // The words of a scenario's author: a built-in one, or one that came with the link.
  const words = (key: string) => (isScenario(settings) ? String(about?.scenario[key] ?? "") : "");
  const isKnown = chosenIn(view) !== "" || settings.toml !== null;
  return (
    <>
      {isKnown && lesson === null && !IS_EMBEDDED && (
        <p class="about">
          {presetOf(settings)?.about} {words("question")} {words("expect")}
          {about?.is_part && " The command makes more runs of this scenario: other seeds, or a sweep."}
        </p>
      )}
      {catalogue !== null && made !== null && made !== catalogue.version && (
        <p class="about">This link was made with version {made}; this is version {catalogue.version}. The numbers may differ.</p>
      )}
      {ignoredIn(location.hash).map((remark) => <p class="remark" role="alert">{remark}</p>)}
      {/* An error about one discipline stands in the column of this discipline. */}
      {error !== null && refusedColumn(settings, error) < 0 && <pre class="error" role="alert">{error}</pre>}
    </>
  );
}

/** The controls of the line, or of the scenario, and its text. */
function Changes({ view, run, act }: { view: View; run: Run; act: Actions }) {
  const { settings } = view;
  const { player, about } = run;
  return (
    <>
      {isScenario(settings) ? (
        <ScenarioControls settings={settings} onChange={(changed) => act.show({ ...settings, ...changed })} />
      ) : (
        <Controls
          settings={settings} catalogue={run.catalogue}
          onChange={(changed) => act.show({ ...settings, ...changed })}
          onRate={(direction, rate) => {
            // A change during a run becomes a step of the rate at this time, so that the reader sees
            // the queue react. A run that is over begins again with the new rate.
            const text = withRateFrom(settings[direction], player.isOver ? 0 : player.now / 1e9, rate);
            // A text without a comma is one rate for the whole run, which then begins again.
            act.show({ ...settings, [direction]: text }, player.isOver || !text.includes(",") ? 0 : player.now);
          }}
        />
      )}
      <ScenarioText
        text={file(settings) ?? (about === null ? "" : tomlOfJson(JSON.stringify(about.scenario)))}
        onRun={(toml) => act.show(ofScenario({ toml }))}
      />
    </>
  );
}
