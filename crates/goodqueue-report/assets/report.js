"use strict";
(() => {
  // Errors are shown on the page, where tests/in_browser.rs looks for them.
  const errors = document.getElementById("errors");
  const complain = (message) => {
    errors.hidden = false;
    errors.textContent = `Some charts could not be drawn: ${message}`;
    document.documentElement.dataset.errors = message;
  };
  addEventListener("error", (event) => complain(event.message));

  const { results, charts, command, playground } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const hash = new URLSearchParams(location.hash.slice(1));
  const state = {
    point: Math.min(Math.max(0, parseInt(hash.get("point"), 10) || 0), Math.max(0, charts.points.length - 1)),
    link: ["down", "up"].includes(hash.get("link")) ? hash.get("link") : charts.link,
    scale: hash.get("scale") === "linear" ? "linear" : "log",
    seed: 0,
    pings: "smooth",
    metric: 2,
    hidden: new Set(),
    everyPoint: false,
  };

  // ---- Helpers ----------------------------------------------------------------------------------

  /** Creates an element. Strings become text, never markup. */
  const el = (tag, props = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  /** A piece of the line of a discipline. */
  const swatch = (d) => {
    const [number, dashes] = charts.styles[d];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of [["class", `swatch d${number} t${dashes}`], ["viewBox", "0 0 28 8"], ["aria-hidden", "true"]]) svg.setAttribute(key, value);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", "M0 4H28");
    svg.append(path);
    return svg;
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (d) => css(`--d${charts.styles[d][0]}`);
  /** The dashes of the line of a discipline; their lengths are in the style sheet. */
  const dash = (d) => {
    const lengths = css(`--t${charts.styles[d][1]}`);
    return lengths === "none" ? "solid" : lengths.split(" ").map(Number);
  };
  const digits = (v) => (Math.abs(v) >= 99.95 ? 0 : Math.abs(v) >= 9.995 ? 1 : 2);
  const trim = (v) => String(Number(v.toFixed(digits(v))));
  const time = (ms) => (Math.abs(ms) >= 999.5 ? `${trim(ms / 1000)} s` : `${trim(ms)} ms`);
  const rate = (mbit) =>
    Math.abs(mbit) >= 1000 ? `${trim(mbit / 1000)} Gbit/s`
    : Math.abs(mbit) >= 1 || mbit === 0 ? `${trim(mbit)} Mbit/s`
    : `${trim(mbit * 1000)} kbit/s`;
  const seconds = (s) => `${trim(s)} s`;
  const percent = (p) => `${Number((100 * p).toFixed(2))} %`;
  const extent = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);

  const point = () => charts.points[state.point];
  /** Disciplines shown at this point, with the number of their colour. */
  const cells = () => (point()?.cells ?? []).map((cell, d) => ({ cell, d })).filter(({ cell, d }) => cell && !state.hidden.has(d));
  /** These disciplines with the series of the selected seed, or of the last available one. */
  const shown = () => cells().map(({ cell, d }) => ({ d, run: cell.shown[Math.min(state.seed, cell.shown.length - 1)] })).filter((s) => s.run);

  /** Builds the rows of a tooltip as elements, so that names never become markup. */
  const tip = (title, rows) => {
    const table = el("table", {});
    for (const row of rows) {
      const name = el("td", {}, swatch(row.d), row.name);
      table.append(el("tr", {}, name, ...row.values.map((v) => el("td", {}, v))));
    }
    return el("div", { class: "tip" }, el("strong", {}, title), table);
  };

  /** Offers a file for download. */
  const offer = (content, type, name) => {
    const link = el("a", { download: name });
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // ---- Shared parts of the charts ---------------------------------------------------------------

  const base = () => ({
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: css("--ink") },
    grid: { left: 56, right: 22, top: 30, bottom: 44 },
    tooltip: {
      confine: true, backgroundColor: css("--paper"), borderColor: css("--line"), textStyle: { color: css("--ink") },
      axisPointer: { lineStyle: { color: css("--soft") }, label: { show: false } },
    },
  });
  const axis = (name, format, { ticks, ...more } = {}) => ({
    type: "value", name, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: css("--soft") },
    // An inverted axis ends at zero, on the other side, where it would take the vertical axis along.
    axisLine: { show: false, onZero: false, lineStyle: { color: css("--soft") } }, axisTick: { show: false, customValues: ticks },
    axisLabel: { color: css("--soft"), formatter: format, hideOverlap: true, customValues: ticks },
    splitLine: { lineStyle: { color: css("--line") }, customValues: ticks },
    minorSplitLine: { show: false },
    ...more,
  });
  /** The name of a vertical axis stands above it, horizontally. */
  const upright = (name, format, more = {}) => axis(name, format, {
    nameLocation: "end", nameGap: 12, nameTextStyle: { color: css("--soft"), align: "left", padding: [0, 0, 0, -46] }, ...more,
  });
  const FLOOR = 0.1;
  /** Bounds for times in ms. On a log scale they are 1, 2 or 5 times a power of ten. */
  const timeScale = (values) => {
    const [low, high] = extent(values.filter((v) => v !== null));
    if (state.scale === "linear" || !(high > 0)) return { type: "value", min: 0 };
    const third = (v, round) => {
      const decade = 10 ** Math.floor(Math.log10(v) + 1e-9);
      const steps = [1, 2, 5, 10].map((s) => s * decade);
      return round === "down" ? steps.filter((s) => s <= v * 1.0001).pop() : steps.find((s) => s >= v * 0.9999);
    };
    const min = third(Math.max(FLOOR, Math.min(low, high / 2)), "down");
    return logarithmic(min, Math.max(third(Math.max(high, FLOOR), "up"), min * 10));
  };
  /** A log axis with labels at 1, 2 and 5 of each decade, or at the decades only if there are many. */
  const logarithmic = (min, max) => {
    const steps = max / min > 1e4 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
      for (const s of steps) ticks.push(Number((s * 10 ** e).toPrecision(1)));
    }
    const customValues = ticks.filter((v) => v >= min * 0.9999 && v <= max * 1.0001);
    return { type: "log", min, max, ticks: customValues };
  };
  /** The values of a sample that must fit on the chart: the value and the top of its band. */
  const withBand = ([, v, half]) => (v !== null && half != null ? [v, v + half] : [v]);
  /** On a log scale, values below the floor are drawn at the floor. */
  const floored = (v) => (v === null ? null : state.scale === "log" ? Math.max(v, FLOOR) : v);
  const line = (d, data) => ({
    type: "line", name: charts.disciplines[d], data, showSymbol: false, color: colour(d), connectNulls: false,
    lineStyle: { width: 1.8, type: dash(d) }, emphasis: { focus: "series", lineStyle: { width: 2.8 } }, blur: { lineStyle: { opacity: 0.15 } },
  });
  /** On a narrow screen the names of the lines stand in the legend only. */
  const isWide = () => document.body.clientWidth >= 700;
  const short = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);
  const nameOf = (d) => short(charts.disciplines[d], 24);
  /** Room for the names at the ends of the lines. */
  const roomForNames = (lines) => (isWide() ? 20 + 7.4 * Math.max(0, ...lines.map(({ d }) => nameOf(d).length)) : 22);
  /** The name of a line at its end. */
  const named = (d) => (isWide() ? {
    endLabel: { show: true, formatter: nameOf(d), color: colour(d), fontWeight: 600, fontSize: 12, distance: 6, textBorderColor: css("--paper"), textBorderWidth: 3 },
  } : {});
  /** Moves the names at the ends of lines apart that would cover each other. */
  const spread = (chart, option) => {
    const ends = option.series.flatMap((one, seriesIndex) => {
      const end = one.endLabel ? one.data.findLastIndex((v) => v !== null && v !== undefined) : -1;
      if (end < 0) return [];
      const at = Array.isArray(one.data[end]) ? one.data[end] : [end, one.data[end]];
      const pixel = chart.convertToPixel({ seriesIndex }, at);
      return pixel ? [{ seriesIndex, x: pixel[0], y: pixel[1] }] : [];
    }).sort((a, b) => a.y - b.y);
    const [height, width] = [15, 60];
    const placed = ends.map((end) => ({ ...end, to: end.y }));
    // Down from the first to the last, then back up as far as they have been moved too far.
    for (let turn = 0; turn < 8; turn++) {
      for (let i = 1; i < placed.length; i++) {
        const [above, below] = [placed[i - 1], placed[i]];
        const lack = height - (below.to - above.to);
        if (lack <= 0 || Math.abs(above.x - below.x) > width) continue;
        above.to -= lack / 2;
        below.to += lack / 2;
      }
    }
    const series = option.series.map(() => ({}));
    for (const { seriesIndex, y, to } of placed) series[seriesIndex] = { endLabel: { offset: [0, to - y] } };
    if (placed.some(({ y, to }) => y !== to)) chart.setOption({ series });
  };
  /** The part of a rectangle that another one covers; both are left, top, width and height. */
  const covered = ([x, y, w, h], [u, v, width, height]) =>
    Math.max(0, Math.min(x + w, u + width) - Math.max(x, u)) * Math.max(0, Math.min(y + h, v + height) - Math.max(y, v)) / (w * h);
  const ruler = document.createElement("canvas").getContext("2d");
  /** Moves the names of dots to where they are whole and cover neither each other nor a dot. */
  const arrange = (chart, option) => {
    const scatters = option.series.map((one, seriesIndex) => ({ ...one, seriesIndex })).filter(({ type }) => type === "scatter");
    const pixel = (seriesIndex, at) => chart.convertToPixel({ seriesIndex }, at.slice(0, 2));
    const dots = scatters.flatMap(({ seriesIndex, data, symbolSize: size }) => data.map((at) => {
      const [x, y] = pixel(seriesIndex, at);
      return [x - size / 2, y - size / 2, size, size];
    }));
    const series = option.series.map(() => ({}));
    const names = [];
    for (const { seriesIndex, data, symbolSize, label } of scatters.filter(({ label }) => label?.show)) {
      const [x, y] = pixel(seriesIndex, data[0]);
      const [, top] = pixel(seriesIndex, [data[0][0], option.yAxis.max]);
      const [, bottom] = pixel(seriesIndex, [data[0][0], option.yAxis.min]);
      const room = [2, top, chart.getWidth() - 4, bottom - top];
      ruler.font = `${label.fontWeight} ${label.fontSize}px ${option.textStyle.fontFamily}`;
      const [w, h, gap] = [ruler.measureText(label.formatter).width, label.fontSize + 2, symbolSize / 2 + 4];
      const sides = [0, -1, 1, -2, 2].flatMap((row) => [[gap, row * h - h / 2], [-gap - w, row * h - h / 2]]);
      const places = [...sides.slice(0, 2), [-w / 2, -gap - h], [-w / 2, gap], ...sides.slice(2)].map(([dx, dy]) => [x + dx, y + dy, w, h]);
      // Of equal places the first one is taken, so each later one costs a little.
      const cost = (place, order) => 100 * (1 - covered(place, room)) + 20 * names.reduce((sum, name) => sum + covered(place, name), 0)
        + 5 * dots.reduce((sum, dot) => sum + covered(place, dot), 0) + 0.02 * order;
      const [best] = places.map((place, order) => ({ place, cost: cost(place, order) })).sort((a, b) => a.cost - b.cost);
      names.push(best.place);
      // A position in numbers counts from the corner of the dot.
      const position = [best.place[0] - x + symbolSize / 2, best.place[1] + h / 2 - y + symbolSize / 2];
      series[seriesIndex] = { label: { position, align: "left", verticalAlign: "middle" } };
    }
    if (names.length) chart.setOption({ series });
  };
  /** The samples up to the last one with a value: a name at the end of a line needs one. */
  const trimmed = (data) => data.slice(0, data.findLastIndex(([, v]) => v !== null && v !== undefined) + 1);
  /** The means of at most as many steps as are legible side by side. */
  const smoothed = (data) => {
    if (data.length <= MOST_LEGIBLE || data.some(([, , half]) => half != null)) return data;
    const [first, last] = [data[0][0], data.at(-1)[0]];
    const step = (last - first) / (MOST_LEGIBLE - 1);
    const sums = new Map();
    for (const [t, v] of data) {
      const at = Math.floor((t - first) / step);
      const sum = sums.get(at) ?? { count: 0, total: 0 };
      if (v !== null) sums.set(at, { count: sum.count + 1, total: sum.total + v });
      else sums.set(at, sum);
    }
    return [...sums].sort(([a], [b]) => a - b).map(([at, { count, total }]) => [first + (at + 0.5) * step, count ? total / count : null, null]);
  };
  const MOST_LEGIBLE = 90;
  /** Dots instead of a line, where consecutive values belong to different flows. */
  const dots = (d) => ({ showSymbol: true, symbol: "circle", symbolSize: 4, lineStyle: { width: 0 }, itemStyle: { color: colour(d), opacity: 0.6, borderWidth: 0 } });
  /** A tooltip that shows the nearest sample of each line. */
  const nearest = (lines, title, value, dim = 0) => ({
    trigger: "axis",
    formatter: (params) => {
      const at = params[0].axisDim === "y" ? params[0].data[1] : params[0].axisValue;
      const rows = lines.map(({ d, data }) => {
        const best = data.reduce((a, b) => (Math.abs(b[dim] - at) < Math.abs(a[dim] - at) ? b : a), data[0]);
        return { d, name: charts.disciplines[d], sort: best?.[1 - dim] ?? Infinity, values: [value(best)] };
      });
      rows.sort((a, b) => b.sort - a.sort);
      return tip(title(at), rows);
    },
  });

  // ---- The charts -------------------------------------------------------------------------------

  const overTime = (lines, limits, name) => ({
    ...base(),
    // Room for the buttons above the plot.
    grid: { ...base().grid, top: 42, right: roomForNames(lines) },
    toolbox: {
      right: 16, top: -4, itemSize: 13, iconStyle: { borderColor: css("--soft") },
      feature: { dataZoom: { yAxisIndex: "none", filterMode: "none", title: { zoom: "Zoom into a range of time", back: "Zoom back" } } },
    },
    tooltip: { ...base().tooltip, ...nearest(lines, seconds, (p) => (!p ? "–" : p[1] === null ? (name === "RTT" ? "lost" : "–") : time(p[1]) + (p[2] == null ? "" : ` ± ${time(p[2])}`))) },
    xAxis: axis("simulated time", seconds, { ...limits.x, splitLine: { show: false } }),
    yAxis: upright(name, time, limits.y),
    series: [...lines.map(({ d, data, joined }) => ({ ...line(d, trimmed(data).map(([t, v]) => [t, floored(v)])), ...named(d), ...(joined === false ? dots(d) : {}) })), ...lines.flatMap(bands)],
  });
  /** The confidence band of a mean: a filled outline for each stretch without a gap. */
  const bands = ({ d, data }) => {
    const stretches = [[]];
    for (const [t, v, half] of data) {
      if (v === null || half == null) stretches.push([]);
      else stretches.at(-1).push([t, floored(v + half), floored(Math.max(0, v - half))]);
    }
    return stretches.filter((s) => s.length > 1).map((s) => ({
      type: "line", silent: true, showSymbol: false, color: colour(d), z: 1, tooltip: { show: false }, lineStyle: { width: 0 }, emphasis: { disabled: true },
      data: [...s.map(([t, high]) => [t, high]), ...s.map(([t, , low]) => [t, low]).reverse(), [s[0][0], s[0][1]]],
      areaStyle: { opacity: 0.13, origin: s[0][1] },
    }));
  };

  const distribution = (lines, name) => {
    const times = lines.flatMap((l) => l.data.map((p) => p[0]));
    const x = timeScale(times);
    const [, high] = extent(times);
    const b = base();
    return {
      ...b,
      tooltip: {
        ...b.tooltip, ...nearest(lines, (p) => percent(p), (p) => (p ? `≤ ${time(p[0])}` : "–"), 1),
        axisPointer: { ...b.tooltip.axisPointer, axis: "y" },
      },
      xAxis: axis(name, time, x),
      yAxis: upright("share", percent, { min: 0, max: 1 }),
      series: lines.map(({ d, data }, i) => ({
        ...line(d, data.map(([v, p]) => [floored(v), p])),
        markPoint: isWide() ? { silent: true, symbol: "circle", symbolSize: 1, ...nameBeside(d, data, 0.88 - (0.76 * i) / Math.max(1, lines.length - 1), x, high) } : undefined,
      })),
    };
  };
  /** The point of a distribution at this share. */
  const heightened = (data, share) => {
    const [v, p] = data.find(([, p]) => p >= share) ?? data.at(-1);
    return [floored(v), p];
  };
  /** The name of a line beside its point at this share: to the left of it, or to the right where there is more room. */
  const nameBeside = (d, data, share, x, high) => {
    const coord = heightened(data, share);
    // On a linear scale the library chooses the end of the axis, at or above the highest value.
    const across = x.type === "log" ? Math.log(coord[0] / x.min) / Math.log(x.max / x.min) : coord[0] / high;
    const label = { show: true, formatter: nameOf(d), color: colour(d), fontWeight: 600, fontSize: 12, position: across < 0.5 ? "right" : "left", distance: 6, textBorderColor: css("--paper"), textBorderWidth: 3 };
    return { data: [{ coord }], label };
  };

  const quantiles = (of) =>
    shown().map(({ d, run }) => ({ d, data: run.quantiles[of].map((v, i) => [v, run.quantiles.p[i]]) })).filter((l) => l.data.length);

  /** Says why there is nothing to draw about pings. */
  const noPings = () => (shown().some(({ run }) => run.pings.length) ? "No ping came back in these results." : "These results contain no pings.");

  const draw = {
    overview() {
      const bars = cells().filter(({ cell }) => cell.ping);
      if (!bars.length) return noPings();
      const b = base();
      const [, high] = extent(bars.map(({ cell }) => cell.ping[1]));
      const names = bars.map(({ d }) => short(charts.disciplines[d], isWide() ? 26 : 16));
      const bar = (data) => ({ type: "bar", stack: "ping", barMaxWidth: 26, data, emphasis: { disabled: true } });
      return {
        ...b,
        grid: { left: 20 + 7.2 * Math.max(...names.map((name) => name.length)), right: 64, top: 6, bottom: 30 },
        tooltip: {
          ...b.tooltip, trigger: "axis", axisPointer: { type: "shadow" },
          formatter: ([{ dataIndex }]) => {
            const { d, cell: { ping: [idle, mean, p95] } } = bars[dataIndex];
            return tip(charts.disciplines[d], [["base RTT", idle], ["beside the load", mean], ["95 % are at most", p95]].map(([name, v]) => ({ d, name, values: [time(v)] })));
          },
        },
        xAxis: axis("", time, { min: 0, max: high * 1.02, splitNumber: 4, axisLabel: { color: css("--soft"), formatter: time, showMaxLabel: false } }),
        yAxis: { type: "category", inverse: true, data: names, axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: css("--ink"), fontSize: 13, interval: 0 } },
        series: [
          { ...bar(bars.map(({ cell: { ping: [idle, mean] } }) => Math.min(idle, mean))), itemStyle: { color: css("--d-idle") } },
          {
            ...bar(bars.map(({ d, cell: { ping: [idle, mean] } }) => ({ value: Math.max(0, mean - idle), itemStyle: { color: colour(d) } }))),
            label: { show: true, position: "right", color: css("--ink"), fontWeight: 600, fontSize: 13, formatter: ({ dataIndex }) => time(bars[dataIndex].cell.ping[1]) },
          },
        ],
      };
    },

    tradeoff() {
      const clouds = cells().map(({ cell, d }) => ({ d, cloud: cell[state.link] })).filter(({ cloud }) => cloud.dots.length);
      if (!clouds.length) return `${noPings()} So there is no induced latency to compare.`;
      const b = base();
      /** The centres of a discipline at all points of the sweep. */
      const path = (d) => charts.points.map((p) => p.cells[d]?.[state.link].centre).filter(Boolean);
      const all = clouds.flatMap(({ d, cloud }) => [...cloud.dots, ...cloud.ellipse, ...(charts.points.length > 1 ? path(d) : [])]);
      const [xLow, xHigh] = extent(all.map((p) => p[0]));
      const limit = point().rate[state.link];
      // From zero, so that small differences look small.
      const yHigh = Math.max(extent(all.map((p) => p[1]))[1], limit ?? 0, 1e-6);
      const x = charts.log_latency
        ? logarithmic(10 ** (Math.floor(Math.log10(xLow) * 3 - 0.6) / 3), 10 ** (Math.ceil(Math.log10(xHigh) * 3 + 0.3) / 3))
        : { type: "value", axisLabel: { color: css("--soft"), formatter: time, showMinLabel: false, showMaxLabel: false }, min: Math.max(0, xLow - (xHigh - xLow || xHigh) * 0.3), max: xHigh + (xHigh - xLow || xHigh) * 0.15 };
      return {
        ...b,
        grid: { ...b.grid, right: 34, left: 66 },
        tooltip: {
          ...b.tooltip, trigger: "item",
          formatter: ({ data, seriesIndex }) => {
            const { d } = clouds[Math.floor(seriesIndex / (charts.points.length < 2 ? 3 : 4))];
            const what = data[2] === undefined ? "median" : `seed ${data[2]}`;
            return tip(what, [{ d, name: charts.disciplines[d], values: [`+${time(data[0])}`, rate(data[1])] }]);
          },
        },
        xAxis: axis("mean induced latency  (less →)", time, { inverse: true, ...x }),
        yAxis: upright(`goodput ${state.link}, Mbit/s  (more ↑)`, trim, { min: 0, max: Number((yHigh * 1.06).toPrecision(3)), axisLabel: { color: css("--soft"), formatter: trim, showMaxLabel: false } }),
        series: clouds.flatMap(({ d, cloud }, i) => [
          {
            type: "line", data: cloud.ellipse, showSymbol: false, silent: true, color: colour(d), clip: true,
            lineStyle: { width: 1.5, type: dash(d) }, areaStyle: { opacity: 0.14, origin: cloud.centre[1] },
            markLine: i || !limit ? undefined : {
              silent: true, symbol: "none", label: { show: false }, lineStyle: { color: css("--ink"), type: "dashed", width: 1 }, data: [{ yAxis: limit }],
            },
          },
          { type: "scatter", data: cloud.dots, symbolSize: 7, itemStyle: { color: colour(d), opacity: 0.65 } },
          {
            type: "scatter", data: [cloud.centre], symbol: cloud.dots.length > 1 ? "diamond" : "circle", symbolSize: 11, itemStyle: { color: colour(d) }, z: 4,
            label: {
              show: clouds.length <= 10, formatter: nameOf(d), color: colour(d), fontWeight: 600, fontSize: 13, position: "right",
              textBorderColor: css("--paper"), textBorderWidth: 3,
            },
          },
          ...(charts.points.length < 2 ? [] : [{
            type: "line", data: path(d), silent: true, symbol: "circle", symbolSize: 5, color: colour(d), itemStyle: { opacity: 0.55 }, lineStyle: { width: 1, type: dash(d), opacity: 0.55 },
          }]),
        ]),
        graphic: [{ type: "text", right: 40, top: 4, style: { text: "better ↗", fill: css("--soft"), fontSize: 15, fontWeight: 600, fontFamily: b.textStyle.fontFamily } }],
      };
    },

    ping() {
      const smooth = state.pings === "smooth";
      const lines = shown().map(({ d, run }) => ({ d, data: smooth && run.joined ? smoothed(run.pings) : run.pings, joined: run.joined, lost: run.lost })).filter((l) => l.data.length);
      const values = lines.flatMap((l) => l.data.flatMap(withBand));
      if (values.every((v) => v === null)) return noPings();
      const option = overTime(lines, { x: span(lines), y: timeScale(values) }, "RTT");
      const lossy = lines.filter(({ lost }) => lost.percent.length);
      if (!lossy.length) return option;
      // The rate of loss has a plot of its own below, with the same axis of time.
      const [upper, lower] = [{ ...option.grid, bottom: 142 }, { left: option.grid.left, right: option.grid.right, height: 62, bottom: 44 }];
      const bottom = { ...option.xAxis, gridIndex: 1 };
      const [, high] = extent(lossy.flatMap(({ lost }) => lost.percent.filter((v) => v !== null)));
      return {
        ...option,
        grid: [upper, lower],
        xAxis: [{ ...option.xAxis, name: "", axisLabel: { show: false } }, bottom],
        yAxis: [{ ...option.yAxis, gridIndex: 0 }, { ...upright("lost", (v) => `${trim(v)} %`, { min: 0, max: Number((high * 1.05).toPrecision(2)), splitNumber: 2 }), gridIndex: 1 }],
        axisPointer: { link: [{ xAxisIndex: "all" }] },
        toolbox: { ...option.toolbox, feature: { dataZoom: { ...option.toolbox.feature.dataZoom, xAxisIndex: [0, 1] } } },
        series: [...option.series, ...lossy.map(({ d, lost }) => ({
          ...line(d, lost.percent.map((v, i) => [(i + 0.5) * lost.step_s, v])), xAxisIndex: 1, yAxisIndex: 1, tooltip: { show: false },
        }))],
      };
    },

    "sojourn-cdf"() {
      const lines = quantiles(state.link);
      return lines.length ? distribution(lines, "sojourn time") : "These results contain no distribution of sojourn times.";
    },

    "ping-cdf"() {
      const lines = quantiles("ping");
      return lines.length ? distribution(lines, "ping round-trip time") : noPings();
    },

    sweep() {
      const { name, unit } = charts.metrics[state.metric];
      const show = (v) => (unit === "ms" ? time(v) : unit === "Mbit/s" ? rate(v) : trim(v));
      // The key that varies fastest is on the first line below the axis. A gap separates the points that
      // differ in another key, so that no line connects them.
      const [first, second] = charts.points;
      const fast = Math.max(0, charts.keys.findIndex((_, i) => first?.values[i] !== second?.values[i]));
      const others = (p) => p.values.filter((_, i) => i !== fast);
      const places = charts.points.flatMap((p, i) => (i && others(p).join() !== others(charts.points[i - 1]).join() ? [null, p] : [p]));
      const lines = charts.disciplines
        .map((_, d) => ({ d, data: places.map((p) => p?.cells[d]?.metrics[state.metric] ?? null) }))
        .filter((l) => !state.hidden.has(l.d) && l.data.some((v) => v));
      if (!lines.length) return "These results contain no values of this metric.";
      const b = base();
      const labels = places.map((p) => (p ? [p.values[fast], ...others(p)].map((value) => short(value, 16)).join("\n") : ""));
      const keys = [charts.keys[fast], ...charts.keys.filter((_, i) => i !== fast)];
      const more = 15 * Math.max(0, charts.keys.length - 1);
      const positive = lines.every((l) => l.data.every((v) => !v || v[0] > 0));
      const y = state.scale === "log" && unit === "ms" && positive ? timeScale(lines.flatMap((l) => l.data.map((v) => v && v[0]))) : { type: "value" };
      return {
        ...b,
        tooltip: {
          ...b.tooltip, trigger: "axis",
          formatter: ([{ dataIndex }]) => tip(places[dataIndex]?.label ?? "", lines
            .filter((l) => l.data[dataIndex])
            .sort((p, q) => q.data[dataIndex][0] - p.data[dataIndex][0])
            .map(({ d, data }) => ({
              d, name: charts.disciplines[d],
              values: [show(data[dataIndex][0]) + (data[dataIndex][1] === null ? "" : ` ± ${show(data[dataIndex][1])}`)],
            }))),
        },
        grid: { ...b.grid, left: 72, right: roomForNames(lines), bottom: b.grid.bottom + more },
        xAxis: axis(keys.join(" / "), null, { type: "category", data: labels, nameGap: 28 + more, axisLabel: { color: css("--soft"), lineHeight: 15 }, splitLine: { show: false } }),
        yAxis: upright(name, show, y),
        series: lines.flatMap(({ d, data }) => {
          const mean = { ...line(d, data.map((v) => v && v[0])), ...named(d), showSymbol: true, symbol: "circle", symbolSize: 7 };
          const bars = data.flatMap((v, i) => (v && v[1] ? [[{ coord: [i, Math.max(v[0] - v[1], y.min ?? -Infinity)] }, { coord: [i, v[0] + v[1]] }]] : []));
          mean.markLine = { silent: true, symbol: "none", label: { show: false }, lineStyle: { type: "solid", width: 1.5, color: colour(d) }, data: bars };
          return [mean];
        }),
      };
    },
  };

  const span = (lines) => {
    const [min, max] = extent(lines.flatMap((l) => [l.data[0][0], l.data.at(-1)[0]]));
    return { min: Math.floor(min), max: Math.ceil(max) };
  };

  /** The highest goodput of all flows together in any step. */
  const highest = (flows) => {
    const sums = [];
    for (const { mbit } of flows) mbit.forEach((v, i) => { sums[i] = (sums[i] ?? 0) + (v ?? 0); });
    return Math.max(0, ...sums);
  };

  /** The stacked goodput of the flows of one discipline. All panels have the same axis up to `most`. */
  const stack = (d, run, most) => {
    const flows = run.goodput[state.link];
    const limit = point().rate[state.link];
    const b = base();
    const at = (i) => i * run.goodput_step_s;
    const steps = Math.max(...flows.map((f) => f.mbit.length));
    return {
      ...b,
      grid: { left: 40, right: 8, top: 10, bottom: 24 },
      tooltip: {
        ...b.tooltip, trigger: "axis",
        formatter: ([{ dataIndex }]) => {
          const values = flows.map((f) => f.mbit[dataIndex] ?? 0);
          const rows = flows.map((f, i) => ({ d, name: f.name, values: [rate(values[i])] })).reverse();
          return tip(`${seconds(at(dataIndex))}: ${rate(values.reduce((a, v) => a + v, 0))}`, rows);
        },
      },
      xAxis: axis("", seconds, { min: 0, max: at(steps), splitLine: { show: false }, splitNumber: 3 }),
      yAxis: axis("", (v) => trim(v), { min: 0, max: most > 0 ? Number((most * 1.08).toPrecision(3)) : undefined, splitNumber: 3, axisLabel: { color: css("--soft"), formatter: (v) => trim(v), showMaxLabel: false } }),
      series: flows.map((f, i) => ({
        type: "line", name: f.name, stack: "all", showSymbol: false, silent: true, color: colour(d), emphasis: { disabled: true },
        data: f.mbit.map((v, k) => [at(k), v ?? 0]),
        lineStyle: { width: 0.7, color: css("--paper") },
        areaStyle: { opacity: flows.length === 1 ? 0.75 : 0.9 - 0.6 * (i / (flows.length - 1)) },
        markLine: i || !limit ? undefined : {
          silent: true, symbol: "none", label: { show: false }, lineStyle: { color: css("--ink"), type: "dashed", width: 1 }, data: [{ yAxis: limit }],
        },
      })),
    };
  };

  /** The sojourn times of one discipline. All panels have the same axes. */
  const sojourns = (d, run, limits) => {
    const queue = run[state.link];
    const data = queue.mean[0].map((v, i) => [(i + 0.5) * run.step_s, v, queue.max[0][i] ?? v, queue.mean[1][i] ?? null]);
    const shade = [[]];
    for (const [t, mean, longest] of data) {
      if (mean === null) shade.push([]);
      else shade.at(-1).push([t, floored(longest), floored(mean)]);
    }
    const b = base();
    return {
      ...b,
      grid: { left: 52, right: 8, top: 10, bottom: 24 },
      tooltip: {
        ...b.tooltip, trigger: "axis",
        formatter: ([{ axisValue }]) => {
          const [t, mean, longest, half] = data.reduce((a, o) => (Math.abs(o[0] - axisValue) < Math.abs(a[0] - axisValue) ? o : a), data[0]);
          const show = (v, more) => (v === null ? "–" : time(v) + (more === null ? "" : ` ± ${time(more)}`));
          return tip(seconds(t), [{ d, name: "mean", values: [show(mean, half)] }, { d, name: "longest", values: [show(longest, null)] }]);
        },
      },
      xAxis: axis("", seconds, { min: 0, max: Math.ceil(data.length * run.step_s - 0.001), splitLine: { show: false }, splitNumber: 3 }),
      yAxis: axis("", time, limits),
      series: [
        { type: "line", showSymbol: false, color: colour(d), lineStyle: { width: 1.4 }, emphasis: { disabled: true }, data: data.map(([t, mean]) => [t, floored(mean)]) },
        ...shade.filter((part) => part.length > 1).map((part) => ({
          type: "line", silent: true, showSymbol: false, color: colour(d), z: 1, tooltip: { show: false }, lineStyle: { width: 0 }, emphasis: { disabled: true },
          data: [...part.map(([t, longest]) => [t, longest]), ...part.map(([t, , mean]) => [t, mean]).reverse(), [part[0][0], part[0][1]]],
          areaStyle: { opacity: 0.3, origin: part[0][1] },
        })),
      ],
    };
  };

  // ---- Placing the charts on the page -----------------------------------------------------------

  const instances = new Map();
  const rendered = new Set();
  const total = () => document.querySelectorAll("[data-chart]").length;
  const resize = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const drawn = instances.get(target);
      if (!drawn) continue;
      drawn.chart.resize();
      arrange(drawn.chart, drawn.option);
    }
  });

  /** Computes an option; an error in one chart must not affect the others. */
  const careful = (option) => {
    try {
      return option();
    } catch (error) {
      complain(error.message);
      return "This chart could not be drawn.";
    }
  };

  /** Draws an option, or shows the text that explains why there is nothing to draw. */
  const put = (box, option, label) => {
    instances.get(box)?.chart.dispose();
    instances.delete(box);
    box.replaceChildren();
    box.classList.toggle("empty", typeof option === "string");
    if (typeof option === "string") {
      box.textContent = option;
      rendered.add(box.dataset.chart);
    } else {
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", label);
      const chart = echarts.init(box, null, { renderer: "svg" });
      instances.set(box, { chart, option });
      chart.on("finished", () => {
        rendered.add(box.dataset.chart);
        count();
      });
      chart.setOption(option);
      spread(chart, option);
      arrange(chart, option);
      resize.observe(box);
    }
    count();
  };
  const count = () => {
    document.documentElement.dataset.charts = total();
    document.documentElement.dataset.rendered = rendered.size;
  };

  /** Fills the caption under a chart: its parameters and the qdisc lines. */
  const caption = (figure, seeded) => {
    const p = point();
    if (!p) return;
    const seeds = seeded ? [...new Set(shown().map(({ run }) => run.says))].join(", ") : p.seeds;
    const lines = cells().map(({ cell, d }) => el("li", {}, swatch(d), cell.qdisc[state.link]));
    const open = figure.querySelector("figcaption details")?.open;
    const details = el("details", open ? { open: "" } : {}, el("summary", {}, [p.label, p.words, seeds].filter(Boolean).join(" · ")));
    details.append(`The discipline on the ${state.link} link:`, el("ul", {}, ...lines));
    if (command) details.append("The command behind this figure:", el("pre", { class: "command" }, el("code", {}, command)));
    // The names stand in the chart itself where each discipline has its own bar or panel.
    const key = el("div", { class: "key" }, ...(figure.querySelector("[data-chart=overview]") ? [] : cells()).map(({ d }) => el("span", {}, swatch(d), charts.disciplines[d])));
    const box = figure.querySelector("[data-chart]");
    if (draw[box?.dataset.chart] && !box.classList.contains("empty")) {
      const save = el("button", { type: "button" }, "Save as SVG");
      save.addEventListener("click", () => picture(figure));
      key.append(save);
    }
    figure.querySelector("figcaption").replaceChildren(key, details);
  };

  /** Saves a chart as an SVG file that includes its title, parameters, legend and qdisc lines. */
  const picture = (figure) => {
    const option = draw[figure.querySelector("[data-chart]").dataset.chart]();
    if (typeof option === "string") return;
    const qdiscs = cells().map(({ cell, d }) => `${charts.disciplines[d]}:  ${cell.qdisc[state.link]}`);
    const footer = [figure.querySelector("summary").textContent, `goodqueue ${results.goodqueue}${command ? `: ${command}` : ""}`, ...qdiscs].map((l) => short(l, 150));
    const [head, foot] = [76, 24 + 16 * footer.length];
    const home = el("div");
    const chart = echarts.init(home, null, { renderer: "svg", width: 1000, height: 440 + head + foot });
    chart.setOption({
      ...option,
      toolbox: undefined,
      textStyle: { fontFamily: "sans-serif" },
      backgroundColor: css("--paper"),
      title: { text: figure.querySelector("h2").textContent, left: 12, top: 10, textStyle: { color: css("--ink") } },
      legend: { data: option.series.map((s) => s.name).filter(Boolean), left: 8, top: 40, icon: "roundRect", textStyle: { color: css("--ink") } },
      grid: framed(option.grid, head, foot),
      graphic: [{ type: "text", left: 16, bottom: 12, style: { text: footer.join("\n"), fill: css("--soft"), fontSize: 12, lineHeight: 16, fontFamily: "sans-serif" } }],
    });
    spread(chart, option);
    arrange(chart, option);
    chart.getZr().refreshImmediately();
    const root = home.querySelector("svg");
    root.removeAttribute("style");
    const svg = new XMLSerializer().serializeToString(root);
    chart.dispose();
    offer(svg, "image/svg+xml", `goodqueue-${figure.querySelector("[data-chart]").dataset.chart}.svg`);
  };

  /** Room above and below the plots for what a saved picture says besides. */
  const framed = (grid, head, foot) => {
    if (!Array.isArray(grid)) return { ...grid, top: grid.top + head, bottom: grid.bottom + foot };
    const [upper, lower] = grid;
    return [{ ...upper, top: upper.top + head, bottom: upper.bottom + foot }, { ...lower, bottom: lower.bottom + foot }];
  };

  /** A panel for each discipline, and a text if there is none. */
  const panels = (home, kind, drawn, option, small, label, nothing) => {
    home.querySelectorAll(".plot").forEach((box) => { instances.get(box)?.chart.dispose(); instances.delete(box); });
    const boxes = drawn.map(({ d, run }) => {
      const box = el("div", { class: "plot", "data-chart": `${kind}-${d}` });
      return { d, run, box, part: el("div", {}, el("h3", {}, swatch(d), charts.disciplines[d], el("small", {}, `  ${small(run)}`)), box) };
    });
    home.replaceChildren(...boxes.map((b) => b.part));
    if (!boxes.length) home.replaceChildren(el("p", { class: "empty" }, nothing));
    for (const { d, run, box } of boxes) put(box, careful(() => option(d, run)), label(charts.disciplines[d]));
  };

  const multiples = () => {
    const flows = (run) => run.goodput[state.link].length;
    const carried = shown().filter(({ run }) => run.goodput[state.link].some(({ mbit }) => mbit.length));
    // Some steps exceed the rate: the mean of a rate that changes, or what a retransmission completes.
    const most = Math.max(point()?.rate[state.link] ?? 0, ...carried.map(({ run }) => highest(run.goodput[state.link])));
    panels(
      $("goodput"), "goodput", carried, (d, run) => stack(d, run, most), (run) => `${flows(run)} flow${flows(run) === 1 ? "" : "s"}, Mbit/s`,
      (name) => `Goodput per flow with ${name} over time`,
      shown().some(({ run }) => flows(run)) ? "These results contain no time series of goodput." : `These results contain no TCP flow ${state.link}.`,
    );
    const queued = shown().filter(({ run }) => run[state.link].mean[0].some((v) => v !== null));
    const values = queued.flatMap(({ run }) => [...run[state.link].mean[0], ...run[state.link].max[0]]);
    const { ticks, ...limits } = queued.length ? timeScale(values) : {};
    // Small panels have room for few labels.
    if (ticks) limits.ticks = ticks.length > 5 ? ticks.filter((v) => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6)) : ticks;
    panels(
      $("sojourn"), "sojourn", queued, (d, run) => sojourns(d, run, limits), () => "",
      (name) => `Sojourn time with ${name} over time`, "These results contain no time series of sojourn times.",
    );
  };

  const all = () => {
    rendered.clear();
    for (const section of document.querySelectorAll(".point")) section.hidden = !state.everyPoint && Number(section.dataset.point) !== state.point;
    for (const span of document.querySelectorAll(".direction")) span.textContent = state.link;
    for (const box of document.querySelectorAll("figure > [data-chart]")) {
      const figure = box.parentElement;
      if (figure.hidden) {
        rendered.add(box.dataset.chart);
        continue;
      }
      const title = figure.querySelector("h2").textContent;
      put(box, careful(draw[box.dataset.chart]), `${title}: ${cells().map(({ d }) => charts.disciplines[d]).join(", ")}. The values are in the tables above.`);
      caption(figure, !["overview", "tradeoff", "sweep"].includes(box.dataset.chart));
    }
    multiples();
    caption($("goodput").parentElement, true);
    caption($("sojourn").parentElement, true);
    link();
    if (charts.points.length > 1) {
      $("sweep-figure").querySelector("summary").textContent = `${charts.keys.join(", ")}: ${charts.points.length} points · ${point().seeds}`;
    }
    seeds();
  };

  // ---- Controls ---------------------------------------------------------------------------------

  const fill = (select, texts, chosen) => {
    select.replaceChildren(...texts.map((text, i) => el("option", { value: i }, text)));
    select.value = chosen;
  };
  const seeds = () => {
    const known = (point()?.cells ?? []).filter(Boolean).map((c) => c.shown.map((s) => s.seed)).reduce((a, b) => (b.length > a.length ? b : a), []);
    state.seed = Math.min(state.seed, Math.max(0, known.length - 1));
    fill($("seed"), known, state.seed);
    $("choose-seed").hidden = known.length < 2;
  };
  const choose = (id, key, number) => {
    $(id).value = state[key];
    $(id).addEventListener("change", () => {
      state[key] = number ? Number($(id).value) : $(id).value;
      all();
    });
  };
  const legend = () => {
    $("legend").replaceChildren(...charts.disciplines.map((name, d) => {
      const button = el("button", { type: "button", "aria-pressed": String(!state.hidden.has(d)), title: `Show or hide ${name} in every chart` }, swatch(d), name);
      button.addEventListener("click", () => {
        state.hidden.has(d) ? state.hidden.delete(d) : state.hidden.add(d);
        button.setAttribute("aria-pressed", String(!state.hidden.has(d)));
        all();
      });
      return button;
    }));
  };

  const dark = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const setTheme = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    $("theme").textContent = dark() ? "Light" : "Dark";
    all();
  };
  /** The scenario of the chosen point: the results' scenario with the swept keys set; null if a key is not found. */
  const scenario = () => {
    const { sweep: _, ...scenario } = structuredClone(results.scenario);
    for (const [key, value] of Object.entries(point().sweep)) {
      const path = key.split(".");
      const last = path.pop();
      const home = path.reduce((inside, name) => inside?.[name], scenario);
      if (home === undefined || home === null || !(last in home)) return null;
      home[last] = value;
    }
    return scenario;
  };
  /** The playground has no disk, so that it cannot read a trace from a file. */
  const readsFiles = (scenario) => /"(file|trace|capture)":"[^"]/.test(JSON.stringify(scenario));
  const link = () => {
    const button = $("playground");
    const one = playground && point() ? scenario() : null;
    button.hidden = !one || readsFiles(one);
    if (button.hidden) return;
    // The first discipline beside the one with the shortest ping.
    const [first, ...others] = cells();
    const best = others.reduce((a, b) => ((b.cell.ping?.[1] ?? Infinity) < (a.cell.ping?.[1] ?? Infinity) ? b : a), others[0]);
    const qdiscs = [first, best].filter(Boolean).map(({ d }) => results.scenario.qdiscs?.[d]?.label).filter(Boolean);
    const parts = [["json", JSON.stringify(one)], ...qdiscs.map((line) => ["q", line]), ["seed", point().seed ?? 1], ["v", results.goodqueue]];
    button.href = `${playground}#${parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
  };

  const download = () => offer(JSON.stringify(results, null, 1), "application/json", "goodqueue-results.json");

  fill($("point"), charts.points.map((p) => p.label), state.point);
  fill($("metric"), charts.metrics.map((m) => m.name), state.metric);
  choose("point", "point", true);
  choose("metric", "metric", true);
  choose("link", "link");
  choose("scale", "scale");
  choose("pings", "pings");
  choose("seed", "seed", true);
  legend();
  $("all-points").addEventListener("click", () => {
    state.everyPoint = !state.everyPoint;
    $("all-points").setAttribute("aria-pressed", String(state.everyPoint));
    all();
  });
  $("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
  $("download").addEventListener("click", download);
  for (const id of ["controls", "theme", "download", "all-points"]) $(id).hidden = false;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(document.documentElement.dataset.theme));
  // Paper is white in either theme.
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    // Nobody can choose a point on paper.
    state.everyPoint = true;
    setTheme("light");
  });
  addEventListener("afterprint", () => {
    state.everyPoint = $("all-points").getAttribute("aria-pressed") === "true";
    setTheme(before);
  });
  setTheme(["dark", "light"].includes(hash.get("theme")) ? hash.get("theme") : undefined);
})();
