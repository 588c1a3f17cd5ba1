// Charts of the run so far, with one cursor for all. The library is that of the reports; it is
// loaded when somebody opens the charts.

import { useEffect, useRef, useState } from "preact/hooks";
import { coloursOf } from "./colours.ts";
import { namesOf } from "./flows.ts";
import { CHARTS, queueNames } from "./history.ts";
import type { Player } from "./player.ts";
import type { About } from "./protocol.ts";

/** The part of the library that is used. */
interface Chart {
  setOption(option: object, how?: object): void;
  resize(): void;
  dispose(): void;
  group: string;
}
interface Library {
  init(element: HTMLElement): Chart;
  connect(group: string): void;
}

/** Milliseconds between two updates. */
const UPDATE = 500;
const DASHES = ["solid", "dashed", "dotted"];
const COLUMNS = ["#0072B2", "#D55E00", "#009E73"];

let library: Promise<Library> | null = null;

function load(): Promise<Library> {
  library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "echarts/echarts.common.min.js";
    script.onload = () => done((window as unknown as { echarts: Library }).echarts);
    script.onerror = () => failed(new Error("the charts could not be loaded"));
    document.head.append(script);
  });
  return library;
}

export function Charts({ player, about }: { player: Player; about: About }) {
  const [isOpen, setOpen] = useState(false);
  const boxes = useRef<(HTMLDivElement | null)[]>([]);

  useEffect(() => {
    if (!isOpen) return;
    let charts: Chart[] = [];
    let timer = 0;
    let isOver = false;
    void load().then((echarts) => {
      if (isOver) return;
      charts = CHARTS.map((_, index) => {
        const chart = echarts.init(boxes.current[index] as HTMLElement);
        chart.group = "all";
        return chart;
      });
      echarts.connect("all");
      let shown = -1;
      const update = () => {
        if (player.now === shown) return;
        shown = player.now;
        charts.forEach((chart, index) => chart.setOption(option(index, player, about), { replaceMerge: ["series"] }));
      };
      update();
      timer = window.setInterval(update, UPDATE);
    });
    const resized = () => charts.forEach((chart) => chart.resize());
    window.addEventListener("resize", resized);
    return () => {
      isOver = true;
      window.clearInterval(timer);
      window.removeEventListener("resize", resized);
      charts.forEach((chart) => chart.dispose());
    };
  }, [isOpen, about]);

  return (
    <details class="charts" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Charts of the run so far</summary>
      <p class="key">
        {about.columns.map((column, index) => (
          <span><i style={{ background: COLUMNS[index % COLUMNS.length] }} /> {column.label}</span>
        ))}
        <span>Solid, dashed, dotted: {queueNames(about.places).slice(0, 3).join(", ")}.</span>
        <span>Per flow: colour of the flow, solid for the first queue and dashed for the second.</span>
      </p>
      <div class="grid">
        {CHARTS.map(({ title, unit }, index) => (
          <figure>
            <figcaption>{title} <small>{unit}</small></figcaption>
            <div ref={(box) => { boxes.current[index] = box; }} class="chart" role="img" aria-label={`${title} in ${unit} over time`} />
          </figure>
        ))}
      </div>
    </details>
  );
}

/** A number of an axis, without the digits that binary fractions add. */
export function axisLabel(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function option(index: number, player: Player, about: About): object {
  const info = CHARTS[index];
  if (info === undefined) return {};
  const style = getComputedStyle(document.documentElement);
  const [ink, faint] = [style.getPropertyValue("--muted"), style.getPropertyValue("--faint")];
  const [names, colours] = [namesOf(about), coloursOf(about)];
  const series = player.tracks.flatMap((track, column) => {
    const curves = info.curves(track, player.now, names, about.flows, queueNames(about.places));
    return curves.map((curve, at) => ({
      type: "line", showSymbol: false, animation: false,
      name: `${about.columns[column]?.label ?? ""}${curves.length > 1 ? `, ${curve.name}` : ""}`,
      data: curve.points,
      lineStyle: { width: 2, type: DASHES[(curve.flow < 0 ? at : column) % DASHES.length] },
      color: curve.flow < 0 ? COLUMNS[column % COLUMNS.length] : colours[curve.flow],
    }));
  });
  const axis = { axisLabel: { color: ink, formatter: axisLabel }, axisLine: { lineStyle: { color: faint } }, splitLine: { lineStyle: { color: faint } } };
  return {
    grid: { left: 46, right: 12, top: 8, bottom: 24 },
    xAxis: {
      type: "value", min: 0, max: Math.max(1e-3, player.now / 1e9), ...axis, splitLine: { show: false },
      // The last label would be the present time, which is on no round number.
      axisLabel: { ...axis.axisLabel, showMaxLabel: false },
    },
    yAxis: { type: "value", min: 0, ...axis },
    tooltip: {
      trigger: "axis", confine: true, order: "valueDesc", textStyle: { fontSize: 12 },
      valueFormatter: (value: unknown) => (typeof value === "number" ? `${value.toFixed(2)} ${info.unit}` : "–"),
    },
    series,
  };
}
