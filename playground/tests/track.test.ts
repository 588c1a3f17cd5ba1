// What the page knows of a column.

import assert from "node:assert/strict";
import test from "node:test";
import type { About } from "../src/protocol.ts";
import { rowsOf } from "../src/scene.ts";
import { queueNames } from "../src/history.ts";
import { Track, UP, queueOf } from "../src/track.ts";
import { tone } from "../src/sound.ts";
import { axisLabel } from "../src/charts.tsx";
import { coloursOf } from "../src/colours.ts";
import { facts } from "../src/facts.ts";
import { flowRows, namesOf } from "../src/flows.ts";
import { wayOf } from "../src/plain.ts";
import { nameOf, seenIn as seenWith, sentence } from "../src/words.ts";

const flow = (kind: string, direction: "up" | "down") => ({ kind, direction, label: null, cc: null, rtt: 50e6 });
const about: About = {
  scenario: {}, duration: 60e9, columns: [{ label: "pfifo", line: "pfifo", kinds: ["pfifo", "pfifo"] }],
  flows: [flow("tcp", "up"), flow("ping", "up")], is_part: false,
  places: [{ name: null, before_the_delay: [true, true] }], order: [0],
};
/** The same behind a modem: its queues have the numbers 2 and 3. */
const behindModem: About = {
  ...about, places: [{ name: null, before_the_delay: [true, false] }, { name: "modem", before_the_delay: [false, true] }], order: [1, 0],
};

const arrives = (number: number, time: number, flow: number, bytes: number, kind: number, found: [number, number]) =>
  [2, number, time, flow, bytes, kind, ...found];
const leaves = (number: number, time: number, fate = 0, sent = time) => [3, number, time, fate, sent, 0, 0, 0];

/** What a column shows, with the ping that it shows in large. */
const seenIn = (info: About, track: Track, label: string, now: number) => seenWith(info, track, label, track.ping(now), now);

function frame(records: number[][], answers: number[] = [], flows: number[] = []) {
  return {
    packets: new Float64Array(records.flat()), answers: new Float64Array(answers), flows: new Float64Array(flows),
  };
}

test("a packet is queued from its arrival until it leaves", () => {
  const track = new Track(about);
  track.take(frame([arrives(0, 1e6, 0, 1514, 0, [0, 0]), leaves(0, 3e6, 0, 5e6)]), 4e6);
  assert.deepEqual(track.held(UP, 2e6), { packets: 1, bytes: 1514 });
  assert.deepEqual(track.held(UP, 3e6), { packets: 0, bytes: 0 });
  assert.equal(track.nextEnd(1e6), 3e6);
  track.forget(40e6, 0);
  assert.equal([...track.packets()].length, 0, "it is at its host");
});

test("a dropped packet is counted and never arrives", () => {
  const track = new Track(about);
  track.take(frame([arrives(0, 1e6, 0, 1514, 0, [0, 0]), leaves(0, 1e6, 2)]), 2e6);
  assert.equal(track.drops[UP], 1);
  assert.equal([...track.packets()][0]?.fate, 2);
});

test("a queue in which a packet overtakes another flow separates flows", () => {
  const track = new Track(about);
  const both = [arrives(0, 1e6, 0, 1514, 0, [0, 0]), arrives(1, 2e6, 1, 78, 2, [1, 1514])];
  track.take(frame([...both, leaves(0, 3e6)]), 4e6);
  assert.equal(track.separates[UP], false);
  const other = new Track(about);
  other.take(frame([...both, leaves(1, 3e6)]), 4e6);
  assert.equal(other.separates[UP], true);
});

test("a ping that waits counts up, and an answered one keeps its time", () => {
  const track = new Track(about);
  track.take(frame([arrives(0, 10e6, 1, 78, 2, [40, 60_000])]), 500e6);
  assert.deepEqual(track.ping(310e6), { time: 300e6, isWaiting: true });
  track.take(frame([leaves(0, 460e6)], [1, 10e6, 500e6]), 600e6);
  assert.deepEqual(track.ping(520e6), { time: 500e6, isWaiting: false });
});

test("each flow of pings has its own time", () => {
  const two = { ...about, flows: [...about.flows, flow("ping", "up")] };
  const track = new Track(two);
  track.take(frame([], [1, 10e6, 500e6, 2, 10e6, 60e6]), 600e6);
  assert.deepEqual(track.ping(600e6), { time: 500e6, isWaiting: false });
  assert.deepEqual(track.ping(600e6, 2), { time: 60e6, isWaiting: false });
  assert.equal(track.answersUntil(600e6).length, 1);
});

test("the sentence names the queue in which the ping waits and the one that lets it pass", () => {
  const [slow, fast] = [new Track(about), new Track(about)];
  slow.take(frame([arrives(0, 10e6, 1, 78, 2, [40, 60_000]), leaves(0, 600e6), arrives(1, 650e6, 0, 1514, 0, [0, 0])], [1, 10e6, 640e6]), 700e6);
  fast.take(frame([arrives(0, 10e6, 1, 78, 2, [40, 60_000]), leaves(0, 12e6)], [1, 10e6, 54e6]), 700e6);
  const text = sentence(about, [seenIn(about, slow, "pfifo limit 100", 700e6), seenIn(about, fast, "fq_codel", 700e6)]);
  assert.equal(
    text, "In pfifo limit 100 the ping takes 640 ms, since it waits behind the upload. fq_codel lets it pass: 54 ms.",
  );
  assert.match(sentence(about, [seenIn(about, fast, "fq_codel", 700e6)]), /^No queue is long/);
});

const columns = (...lines: string[]) => lines.map((line) => ({ label: line, line, kinds: Array(2).fill(line.split(" ")[0]) as [string, string] }));

test("a discipline has a plain name, and a long or repeated line is named by its place", () => {
  const link = { scenario: { link: { down: "10mbit", up: "1mbit" } } };
  const names = (...lines: string[]) => lines.map((_, at) => nameOf({ ...about, ...link, columns: columns(...lines) }, at));
  assert.deepEqual(names("pfifo limit 100", "fq_codel target 13ms"), [
    "a modem with a large buffer (pfifo limit 100)", "a modem with a short queue per flow (fq_codel target 13ms)",
  ]);
  assert.deepEqual(names("pfifo limit 4", "tbf rate 19mbit burst 15140 limit 150000 [ fq_codel ]"), [
    "a modem with a small buffer (pfifo limit 4)", "a modem with a shaper (the second queue)",
  ]);
  assert.deepEqual(names("bfifo limit 256kb", "bfifo limit 256kb"), [
    "a modem with a large buffer (the first queue)", "a modem with a large buffer (the second queue)",
  ]);
  const own = { ...about, columns: [{ label: "in the router", line: "codel", kinds: ["codel", "codel"] as [string, string] }] };
  assert.equal(nameOf(own, 0), "in the router", "its author has named it");
});

test("the way of the packets is named from home to the Internet", () => {
  assert.deepEqual(wayOf(about), ["home", "modem", "Internet"]);
  assert.deepEqual(wayOf(behindModem), ["home", "router", "modem", "Internet"]);
  assert.deepEqual(wayOf({ ...about, flows: [{ ...flow("tcp", "up"), rtt: 100e3 }] }), ["server", "switch", "other servers"]);
});

test("a ping that waits in none of the queues waits elsewhere, and the sentence names the place", () => {
  const slow = new Track(about);
  slow.take(frame([arrives(0, 10e6, 1, 78, 2, [0, 0]), leaves(0, 10e6)], [1, 10e6, 440e6]), 700e6);
  const other = { ...about, scenario: { hops: [{ name: "modem" }] } };
  assert.match(sentence(other, [seenIn(about, slow, "fq_codel", 700e6)]), /takes 440 ms, but not in these queues: it waits at another hop \(modem\)\./);
});

test("the sentence still knows where a ping has waited when the ping is out of sight", () => {
  const track = new Track(about);
  track.take(frame([arrives(0, 10e6, 1, 78, 2, [40, 60_000]), leaves(0, 600e6), arrives(1, 650e6, 0, 1514, 0, [0, 0])], [1, 10e6, 640e6]), 700e6);
  track.forget(700e6, 0);
  assert.equal([...track.packets()].some((packet) => packet.kind === "ping"), false);
  assert.match(sentence(about, [seenIn(about, track, "pie", 700e6)]), /since it waits behind the upload/);
});

test("a ping that waits in the modem is found there", () => {
  const track = new Track(behindModem);
  const inModem = (record: number[]) => [(record[0] ?? 0) + 4, ...record.slice(1)];
  track.take(frame([
    arrives(7, 10e6, 1, 78, 2, [0, 0]), leaves(7, 10e6), inModem(arrives(3, 9e6, 0, 1514, 0, [0, 0])),
    inModem(arrives(4, 10e6, 1, 78, 2, [1, 1514])),
  ], [1, 0, 40e6]), 600e6);
  assert.equal(track.held(UP, 500e6).packets, 0);
  assert.equal(track.held(queueOf(1, UP), 500e6).packets, 2);
  track.forget(500e6, 0);
  const mean = { time: (40e6 + 490e6) / 2, isWaiting: true };
  assert.deepEqual(track.ping(500e6), mean, "the ping is known by its packet in the modem, and counts beside the last answer");
  const text = sentence(behindModem, [seenIn(behindModem, track, "fq_codel", 500e6)]);
  assert.match(text, /^In fq_codel the ping takes 265 ms, since it waits behind the upload in the modem\./);
  assert.deepEqual(queueNames(behindModem.places), ["down", "up", "modem down", "modem up"]);
  assert.deepEqual(rowsOf(behindModem, 0).map(({ queue, name }) => [queue, name]), [
    [1, "queue (pfifo)"], [3, "modem"], [2, "modem"], [0, "queue (pfifo)"],
  ]);
});

test("the ping that is shown is the mean of the last two seconds, and an older one counts only if there is none", () => {
  const track = new Track(about);
  track.take(frame([], [1, 0, 900e6, 1, 4000e6, 100e6, 1, 4200e6, 140e6, 1, 4400e6, 60e6]), 5000e6);
  assert.deepEqual(track.ping(5000e6), { time: 100e6, isWaiting: false });
  assert.deepEqual(track.ping(6600e6), { time: 60e6, isWaiting: false }, "no answer in the last two seconds: the last one");
});

test("whatever the pings are, the sentence has the numbers of the columns and never the opposite order", () => {
  const info = { ...about, scenario: { link: { down: "10mbit", up: "1mbit" } }, columns: columns("pie ecn", "dualpi2", "codel") };
  let state = 1;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  for (let round = 0; round < 500; round += 1) {
    const tracks = info.columns.map(() => {
      const track = new Track(info);
      const answers = Array.from({ length: 12 }, (_, at) => [1, at * 200e6, 50e6 + 600e6 * random() ** 4]).flat();
      track.take(frame([], answers), 3e9);
      return track;
    });
    const pings = tracks.map((track) => track.ping(3e9));
    const text = sentence(info, tracks.map((track, at) => seenWith(info, track, info.columns[at]?.label ?? "", pings[at] ?? null, 3e9)));
    const shown = new Map(info.columns.map((column, at) => [column.label, Math.round((pings[at]?.time ?? 0) / 1e6)]));
    const [, worst = "", high] = /^In (.*?) the ping takes (\d+) ms/.exec(text) ?? [];
    const [, best = "", low] = /\. (.*?) lets it pass: (\d+) ms/.exec(text) ?? [];
    if (worst !== "") assert.equal(Number(high), shown.get(worst), text);
    if (worst !== "") assert.equal(shown.get(worst), Math.max(...shown.values()), text);
    if (best !== "") assert.equal(Number(low), shown.get(best), text);
    if (best !== "") assert.equal(shown.get(best), Math.min(...shown.values()), text);
  }
});

test("short transfers of one table share a row and a colour, and a call has its name", () => {
  const info: About = {
    ...about, scenario: { flows: [{ count: 2 }, { count: 20, size: 60000 }, { count: 1 }, { count: 1 }] },
    flows: [
      ...Array.from({ length: 22 }, () => flow("tcp", "down")), { ...flow("cbr", "down"), label: "call" }, flow("ping", "up"),
    ],
  };
  assert.deepEqual(flowRows(info).map(({ name, flows }) => [name, flows.length]), [
    ["download 1", 1], ["download 2", 1], ["20 short downloads", 20], ["call", 1],
  ]);
  assert.equal(namesOf(info)[21], "short download 20");
  const colours = coloursOf(info);
  assert.equal(colours.length, 24);
  assert.equal(new Set(colours.slice(2, 22)).size, 1);
  assert.equal(new Set([colours[0], colours[1], colours[2], colours[22]]).size, 4);
});

test("transfers over QUIC are named, and have colours of their own", () => {
  const info: About = {
    ...about, scenario: { flows: [{ count: 1 }, { count: 2 }, { count: 1 }, { count: 1, size: 60000 }, { count: 1, size: 60000 }] },
    flows: [
      flow("tcp", "down"), flow("quic", "down"), flow("quic", "down"), flow("quic", "up"), flow("quic", "down"),
      flow("quic_transfers", "down"),
    ],
  };
  assert.deepEqual(flowRows(info).map(({ name }) => name), [
    "download", "QUIC download 1", "QUIC download 2", "QUIC upload", "short QUIC download", "transfers over QUIC",
  ]);
  assert.equal(new Set(coloursOf(info)).size, 6);
});

test("the acknowledgements of a QUIC download are no upload", () => {
  for (const [direction, uploads] of [["down", 0], ["up", 1]] as const) {
    const track = new Track({ ...about, flows: [flow("quic", direction), flow("ping", "up")] });
    track.take(frame([arrives(1, 100e6, 0, 80, 0, [0, 0])]), 200e6);
    assert.equal(track.flowsIn(UP, 150e6), uploads, direction);
  }
});

test("an axis has no digits that nobody needs", () => {
  assert.deepEqual([3.619999999, 0.30000000000000004, 12, 0].map(axisLabel), ["3.62", "0.3", "12", "0"]);
});

test("goodput is that of the last two seconds, and a run that begins has sent nothing before", () => {
  const track = new Track(about);
  const state = (delivered: number) => [delivered, 0, 0, 0, 0, 0, -1, -1, -1, -1];
  track.take(frame([], [], state(0)), 1e9);
  track.take(frame([], [], state(125_000)), 2e9);
  track.take(frame([], [], state(375_000)), 3e9);
  assert.equal(track.goodput(0, 2e9), 0.5);
  assert.equal(track.goodput(0, 3e9), 1.5);
});

test("a packet tells when it came, what it found, how long it waited, and why it was dropped", () => {
  const track = new Track(about);
  track.take(frame([arrives(7, 10e6, 0, 1514, 0, [40, 60_000]), leaves(7, 110e6, 1)]), 200e6);
  const [packet] = track.packets();
  assert.ok(packet !== undefined);
  const at = (now: number) => facts(packet, null, now, "upload", ["congested", "overlimit"]);
  assert.equal(at(60e6).title, "Packet 7: packet of the upload, 1514 bytes to the Internet");
  assert.deepEqual(at(60e6).lines, [
    "It arrived at 0.010000 s and found 40 packets with 60,000 bytes in the queue.", "It has waited for 50 ms.",
  ]);
  assert.deepEqual(at(200e6).lines.slice(1), [
    "It was dropped after 100 ms in the queue.", "The discipline decided so: the drop tells the sender to slow down.",
  ]);
});

test("charts get the longest sojourn time and the backlog of each step", () => {
  const track = new Track(about);
  track.take(frame([
    arrives(0, 10e6, 0, 1514, 0, [0, 0]), arrives(1, 20e6, 0, 1514, 0, [1, 1514]), leaves(0, 60e6), leaves(1, 130e6),
  ]), 300e6);
  assert.deepEqual(track.bins(300e6), [
    { at: 0, sojourn: [0, 50e6], backlog: [0, 0] }, { at: 100e6, sojourn: [0, 110e6], backlog: [0, 0] },
  ]);
  assert.equal(track.bins(150e6).length, 1, "the second step has not ended");
});

test("a ping sounds lower the longer it takes", () => {
  assert.equal(tone(50e6, 50e6), 1046);
  assert.equal(tone(100e6, 50e6), 523);
  assert.equal(tone(5000e6, 50e6), 98);
});
