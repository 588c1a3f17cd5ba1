// Lessons of about five minutes: something to do, something to observe, and a question.

import { FIRST, ofScenario, type Settings } from "./settings.ts";
import { DOWN, UP, queueOf, type Side, type Track } from "./track.ts";

export interface LessonStep {
  /** The text of the step. */
  say: string;
  /** What the learner changes. */
  change?: Partial<Settings>;
  /** True when the learner has been able to observe it. */
  seen(tracks: Track[], now: number): boolean;
}

export interface Lesson {
  id: string;
  title: string;
  settings: Settings;
  speed: string;
  steps: LessonStep[];
  question: string;
  answer: string;
}

/** The file of the lesson on L4S: one classic and one scalable transfer, and a ping for each queue. */
const L4S = `title = "A classic and a scalable transfer on one line"
question = "What does a low-latency queue need, so that both kinds of traffic can live with it?"
duration = "30s"
qdiscs = ["pie ecn", "dualpi2 variant linux"]
link = { down = "20mbit", up = "20mbit", rtt = "20ms" }

[[flows]]
label = "CUBIC"
direction = "up"
start_jitter = "100ms"

[[flows]]
label = "L4S"
direction = "up"
cc = "prague"
start_jitter = "100ms"

[[flows]]
kind = "ping"

[[flows]]
kind = "ping"
label = "L4S ping"
l4s = true
`;

function lesson(
  id: string, title: string, speed: string, settings: Partial<Settings>, steps: LessonStep[], question: string, answer: string,
): Lesson {
  const whole = "builtin" in settings || "toml" in settings ? ofScenario(settings) : { ...FIRST, time: "30s", ...settings };
  return { id, title, speed, settings: whole, steps, question, answer };
}

/** Pings of a column in the last four seconds, in ms; those of the first ping flow, if no flow is given. */
function pings(track: Track | undefined, now: number, flow = track?.probe): number[] {
  return (track?.answersUntil(now, flow) ?? []).filter((answer) => answer.sentAt > now - 4e9).map((answer) => answer.time / 1e6);
}

/** True if there are pings in the last four seconds, and all satisfy the condition. */
function all(track: Track | undefined, now: number, is: (ms: number) => boolean): boolean {
  const recent = pings(track, now);
  return recent.length >= 5 && recent.every(is);
}

/** Sum of the goodput in Mbit/s. */
function goodput(track: Track | undefined, now: number, flows: number): number {
  return Array.from({ length: flows }, (_, flow) => track?.goodput(flow, now) ?? 0).reduce((sum, rate) => sum + rate, 0);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Packets in the queue of the place behind the router, to the Internet. */
function inModem(track: Track | undefined, now: number): number {
  return track?.held(queueOf(1, UP), now).packets ?? 0;
}

function drops(track: Track | undefined, side: Side): number {
  return track?.drops[side] ?? 0;
}

export const LESSONS: Lesson[] = [
  lesson(
    "standing", "A standing queue is not a burst", "1",
    { uploads: 1, downloads: 0, qdiscs: ["pfifo limit 100", "codel"] },
    [
      {
        say: "One upload fills a line of 1 Mbit/s. In both queues packets arrive in bursts. Watch the queue on the left: it fills, and then it stays full. Its packets leave as fast as new ones come.",
        seen: ([left], now) => all(left, now, (ms) => ms > 500),
      },
      {
        say: "The queue on the right also takes bursts, but CoDel measures the shortest wait within 100 ms. If even that one is above 5 ms, the queue is standing, and CoDel drops a packet. Wait until all pings on the right are below 150 ms.",
        seen: ([, right], now) => drops(right, UP) > 0 && all(right, now, (ms) => ms < 150),
      },
    ],
    "The queue on the left is full all the time, and the line is never idle. What would be lost if the queue were shorter?",
    "Nothing. A line is busy as long as one packet waits. All other packets of a standing queue only add delay: about 12 ms each on this line.",
  ),
  lesson(
    "buffer", "Why a bigger buffer does not help", "4",
    { uploads: 1, downloads: 0, qdiscs: ["pfifo limit 25", "pfifo limit 200"] },
    [
      {
        say: "The right buffer is eight times as large as the left one. Compare the goodput of the uploads: after some seconds both are near the rate of the line.",
        seen: ([left, right], now) => now > 8e9 && goodput(left, now, 1) > 0.85 && goodput(right, now, 1) > 0.85,
      },
      {
        say: "Now compare the pings. The sender goes on until a packet is lost, and a packet is lost only when the buffer is full.",
        seen: ([left, right], now) => all(left, now, (ms) => ms < 400) && all(right, now, (ms) => ms > 1000),
      },
      {
        say: "Make the left buffer as small as the line needs: 4 packets. Use the slider or the tc line. Compare the goodput and the pings again.",
        change: { qdiscs: ["pfifo limit 4", "pfifo limit 200"] },
        seen: ([left], now) => now > 4e9 && all(left, now, (ms) => ms < 150),
      },
    ],
    "Which buffer is right for this line? And for the same line if the round-trip time were 200 ms?",
    "The sender needs about rate × round-trip time: 1 Mbit/s × 50 ms are 6 kB, or 4 packets; with 200 ms it would be 17. No fixed size is right for all. Active queue management lets the buffer be large for bursts, and keeps the standing queue short.",
  ),
  lesson(
    "codel", "CoDel's square root", "0.25",
    { uploads: 4, downloads: 0, qdiscs: ["codel", "codel interval 1s"] },
    [
      {
        say: "Four uploads share the line. CoDel's first drop comes one interval after the queue has begun to stand: 100 ms on the left, 1 s on the right. Watch the red crosses.",
        seen: ([left]) => drops(left, UP) > 0,
      },
      {
        say: "As long as the queue stands, CoDel drops faster and faster: the next drop comes after interval / √2, then interval / √3, interval / √4. Ask the last drop on the left several times, and compare the times.",
        seen: ([left], now) => drops(left, UP) >= 8 && now > 2e9,
      },
      {
        say: "Because TCP's rate falls as 1/√(loss rate), this law lowers the rates evenly. The long interval on the right waits too long: its pings stay high for seconds.",
        seen: ([left, right], now) => now > 3e9 && Math.max(0, ...pings(right, now)) > 1.5 * Math.max(1, ...pings(left, now)),
      },
    ],
    "Why is the interval 100 ms, and not 5 ms like the target?",
    "A sender hears of a drop only after a round-trip time. The interval must be longer than that, or CoDel drops again before the sender could react. 100 ms covers most paths of the Internet.",
  ),
  lesson(
    "flows", "What flow queueing adds", "1",
    { uploads: 4, downloads: 0, qdiscs: ["codel", "fq_codel"] },
    [
      {
        say: "Both queues have CoDel. On the left all flows share one queue, so the ping waits behind the packets of the four uploads, even though CoDel keeps them few.",
        seen: ([left], now) => now > 6e9 && pings(left, now).some((ms) => ms > 80),
      },
      {
        say: "fq_codel gives each flow a queue of its own, and serves them in turn. A flow that builds no queue is served first: the ping waits for one packet at most.",
        seen: ([, right], now) => now > 6e9 && all(right, now, (ms) => ms < 80),
      },
      {
        say: "Set the uploads to 8. On the right the ping does not change.",
        change: { uploads: 8 },
        seen: ([left, right], now) => now > 6e9 && all(right, now, (ms) => ms < 80) && Math.max(0, ...pings(left, now)) > 80,
      },
    ],
    "Somebody opens 8 uploads at once to get more of the line. Does it help against fq_codel?",
    "Yes, among flows: each flow gets an equal share, so 8 flows get 8 shares. It does not slow down pings, calls or games, which need less than their share. Disciplines such as CAKE also share among hosts.",
  ),
  lesson(
    "ecn", "ECN: a mark instead of a loss", "1",
    { uploads: 2, downloads: 2, ecn: true, qdiscs: ["fq_codel noecn", "fq_codel"] },
    [
      {
        say: "All flows say that they understand ECN. The left queue drops packets as its signal, the right one sets two bits in them. Wait until both have signalled a few times.",
        seen: ([left, right]) => drops(left, UP) + drops(left, DOWN) > 5 && (right?.marks[UP] ?? 0) + (right?.marks[DOWN] ?? 0) > 5,
      },
      {
        say: "Compare: the right queue has dropped nothing, and its pings are as short. Ask the last mark.",
        seen: ([, right], now) => drops(right, UP) + drops(right, DOWN) === 0 && now > 5e9 && all(right, now, (ms) => ms < 90),
      },
    ],
    "What does a video call gain if its packets are marked and not dropped?",
    "Nothing has to be sent again, so no picture waits for a lost packet. The sender still learns in time that it is too fast.",
  ),
  lesson(
    "short", "Why short flows matter", "1",
    { builtin: "sparse-flow", qdiscs: ["pfifo limit 127", "fq_codel"] },
    [
      {
        say: "Four downloads run, and after a second a phone call (cbr) begins to send a small packet every 20 ms. On the left its packets wait behind the downloads, and so does the ping.",
        seen: ([left], now) => now > 4e9 && all(left, now, (ms) => ms > 100),
      },
      {
        say: "On the right the call and the ping pass. Twenty short transfers begin at random times from 5 s on. Watch how their first packets overtake the downloads.",
        seen: ([, right], now) => now > 8e9 && all(right, now, (ms) => ms < 80),
      },
    ],
    "Most transfers on the Web end within a few round trips. What matters more for them: the rate of the line or the delay of the queue?",
    "The delay. A page of 60 kB needs about four round trips to be set up and sent; at 10 Mbit/s its bytes take only 50 ms. With 150 ms of queue in each round trip, the page takes more than half a second longer.",
  ),
  lesson(
    "modem", "The modem behind the router", "1",
    {
      builtin: "modem",
      qdiscs: [
        "fq_codel",
        "tbf rate 19mbit burst 15140 limit 150000 [ fq_codel ] / tbf rate 1900kbit burst 3028 limit 60000 [ fq_codel ]",
      ],
    },
    [
      {
        say: "The picture shows two queues each way: that of a home router, and that of the modem behind it. Both routers use fq_codel. On the left the modem is slower than the router's port, so the router's queue is empty, and the ping waits in the modem, which has a plain buffer.",
        seen: ([left], now) => now > 4e9 && all(left, now, (ms) => ms > 250) && (left?.held(UP, now).packets ?? 9) < 3 && inModem(left, now) > 20,
      },
      {
        say: "On the right the router sends 5 % slower than the modem. The modem's queue is empty: now the packets wait in the router, and fq_codel can manage them.",
        seen: ([, right], now) => now > 4e9 && all(right, now, (ms) => ms < 150) && (right?.held(UP, now).packets ?? 0) > 0 && inModem(right, now) < 3,
      },
    ],
    "You install a router with fq_codel, and the ping under load does not improve. What do you look at first?",
    "Where the bottleneck is. A queue can be managed only where packets wait. Shape the traffic in the router to a little less than the modem's rate, in both directions.",
  ),
  lesson(
    "l4s", "L4S: a queue of one millisecond", "0.5",
    { toml: L4S, qdiscs: ["pie ecn", "dualpi2 variant linux"] },
    [
      {
        say: "CUBIC gives up 30 % of its window at a mark, so it needs a queue to live from. The L4S transfer (TCP Prague) slows down by the share of marked packets, and says so with the bits ECT(1) in each packet. On the left both share one queue, which marks. Watch the goodput: the L4S transfer takes most of the line.",
        seen: ([left], now) => now > 6e9 && (left?.goodput(1, now) ?? 0) > 3 * (left?.goodput(0, now) ?? 0),
      },
      {
        say: "DualPI2 on the right, decision by decision that of Linux, gives packets with ECT(1) a queue of their own, and marks them from one millisecond on. The other queue drops with the square of that probability, so that CUBIC keeps its share. Compare the two transfers again.",
        seen: ([, right], now) => now > 6e9 && (right?.goodput(0, now) ?? 0) > 0.3 * goodput(right, now, 2),
      },
      {
        say: "Each queue has its ping. On the right, the L4S ping takes hardly more than the 20 ms of the idle line. The other one waits behind CUBIC.",
        seen: ([, right], now) => now > 6e9 && mean(pings(right, now, 3)) < 24 && mean(pings(right, now)) > mean(pings(right, now, 3)) + 8,
      },
      {
        say: "Give the left queue fq_codel. It shares fairly too, because it tells the transfers apart by their addresses and ports. DualPI2 looks at two bits only.",
        change: { qdiscs: ["fq_codel", "dualpi2 variant linux"] },
        seen: ([left], now) => now > 6e9 && (left?.goodput(0, now) ?? 0) > 0.35 * goodput(left, now, 2),
      },
    ],
    "Why must a sender not use ECT(1) if it slows down at marks as CUBIC does?",
    "The network marks L4S packets early and often, and expects each mark to mean a little less. CUBIC would slow down by 30 % at every one of them and get almost nothing. A sender that does not slow down at all would fill the queue for all others: RFC 9331 lists what a sender must do before it may use ECT(1).",
  ),
];

/** True if the settings have what the step asks for. */
export function isMade(step: LessonStep, settings: Settings): boolean {
  const wanted = Object.entries(step.change ?? {}) as [keyof Settings, unknown][];
  return wanted.every(([key, value]) => JSON.stringify(settings[key]) === JSON.stringify(value));
}
