// The settings of the page, its addresses and its commands.

import assert from "node:assert/strict";
import test from "node:test";
import { FIRST, command, file, fromHash, ignoredIn, ofScenario, python, quoted, refusedSeed, request, toHash, withRateFrom } from "../src/settings.ts";
import { tomlOfJson } from "../src/toml.ts";

// The module runs outside of the bundle, which would change its addresses.
const { inPage } = (await import(new URL("../tests/module.mjs", import.meta.url).href)) as Record<
  "inPage", (request: object) => { json?: string; message?: string }
>;

test("an address holds all settings", () => {
  const settings = {
    ...FIRST, up: "1mbit,300kbit@2.5s", rtt: "20ms", uploads: 0, downloads: 3, quicDownloads: 1, quicUploads: 2,
    cc: "bbr", quicCc: "newreno", ecn: true, loss: "0.5", ping: "1ms",
    time: "10s", seed: "7", qdiscs: ["cake bandwidth 900kbit", "fq_codel target 13ms"],
  };
  const hash = toHash(settings, "0.1.0");
  assert.deepEqual(fromHash(hash), settings);
  assert.match(hash, /v=0\.1\.0/);
});

test("the settings of the first sight need no address", () => {
  assert.equal(toHash(FIRST, "0.1.0"), "");
  assert.deepEqual(fromHash(""), FIRST);
});

test("an address with impossible values is read as far as it makes sense", () => {
  const read = fromHash("#uploads=-3&downloads=many&rtt=20ms&surprise=1");
  assert.deepEqual(read, { ...FIRST, rtt: "20ms" });
});

test("an impossible number of flows in an address is ignored with a sentence that tells so", () => {
  assert.deepEqual(ignoredIn("#uploads=100000&downloads=3"), ["The link asks for 100000 uploads. Allowed are 0 to 8: the page shows 2."]);
  assert.deepEqual(ignoredIn("#downloads=-1&uploads=0"), ["The link asks for -1 downloads. Allowed are 0 to 8: the page shows 1."]);
  assert.deepEqual(ignoredIn("#quicUploads=9"), ["The link asks for 9 QUIC uploads. Allowed are 0 to 8: the page shows 0."]);
  assert.deepEqual(ignoredIn(""), []);
});

test("an address with a built-in scenario keeps that scenario's disciplines", () => {
  const read = fromHash("#builtin=ecn");
  assert.deepEqual(request(read), { builtin: "ecn", qdiscs: [], set: [] });
  assert.equal(command(read), "goodqueue compare ecn");
});

test("an address with a scenario may change its seed, its time and its line", () => {
  const read = fromHash("#builtin=ecn&seed=1&time=5s&rtt=20ms&down=5mbit");
  assert.deepEqual(request(read), { builtin: "ecn", rate: "5mbit", rtt: "20ms", time: "5s", seed: "1", qdiscs: [], set: [] });
  assert.deepEqual(fromHash(toHash(read, "0")), read);
});

const WRITTEN = `# a + b & c = 100 % of "everything"
duration = "2s"
qdiscs = [{ label = "both", down = "fq_codel", up = "pfifo limit 50" }, "codel"]
link = { down = "4mbit", up = "1mbit", rtt = "20ms" }

[[hops]]
name = "modem"
side = "server"
up = "500kbit"
qdisc = "pfifo limit 60"

[[flows]]
direction = "up"
count = 2

[[flows]]
kind = "voip"

[[flows]]
kind = "ping"
`;

test("an address carries a scenario file that somebody wrote, and shares it again", () => {
  const read = fromHash(`#toml=${encodeURIComponent(WRITTEN)}&v=0.1.0`);
  assert.deepEqual(read, ofScenario({ toml: WRITTEN }));
  assert.deepEqual(request(read), { toml: WRITTEN, qdiscs: [], set: [] });
  assert.equal(file(read), WRITTEN);
  assert.deepEqual(fromHash(toHash({ ...read, seed: "7", qdiscs: ["pie"] }, "0.1.0")), { ...read, seed: "7", qdiscs: ["pie"] });
  assert.match(command({ ...read, seed: "7" }), /^cat > scenario.toml <<'END'\n# a \+ b[\s\S]*\nEND\ngoodqueue compare scenario.toml --seed 7$/);
  assert.match(python(read), /gq\.compare\(\n {4}gq\.Scenario\.parse\("# a \+ b/);
});

test("an address carries the scenario of a result as JSON, and makes the same runs", () => {
  const first = JSON.parse(inPage({ toml: WRITTEN, seed: "9", qdiscs: [], set: [] }).json ?? "");
  for (const indent of [0, 2]) {
    const read = fromHash(`#json=${encodeURIComponent(JSON.stringify(first.scenario, null, indent))}`);
    const again = JSON.parse(inPage(request(read)).json ?? "");
    assert.deepEqual(again.runs, first.runs);
    assert.deepEqual(again.scenario, first.scenario);
  }
});

test("JSON becomes TOML with all of its digits and characters", () => {
  assert.equal(
    tomlOfJson('{"seed": 18446744073709551615, "a b": {"x.y": [1, 2.5e-3, {"k": true}]}, "text": "\\u00e9\\/\\n{,:} \\"q\\""}'),
    'seed = 18446744073709551615\n"a b" = {"x.y"=[1,2.5e-3,{k=true}]}\ntext = "é/\\n{,:} \\"q\\""\n',
  );
  assert.equal(tomlOfJson("[1]"), "[1]");
  assert.match(inPage({ toml: tomlOfJson("surprise"), qdiscs: [], set: [] }).message ?? "", /this is not TOML/);
});

test("a seed whose digits the page would lose is refused with the limit", () => {
  const largest = "9007199254740991";
  assert.equal(refusedSeed(largest), null);
  assert.match(file({ ...FIRST, seed: largest }) ?? "", /^seed = 9007199254740991$/m);
  for (const seed of ["9007199254740992", "9007199254740993", " +18446744073709551614"]) {
    assert.match(refusedSeed(seed) ?? "", /^`seed`: \+?\d+ is too large for this page\n {2}allowed: 0 to 9007199254740991\n {2}help: /);
  }
  // The simulator tells what is wrong with these.
  for (const seed of ["", "-1", "many", "1.5"]) assert.equal(refusedSeed(seed), null);
});

test("a rate that changes on the way becomes a schedule", () => {
  const once = withRateFrom("10mbit", 2.5, "2mbit");
  assert.equal(once, "10mbit,2mbit@2.5s");
  assert.equal(withRateFrom(once, 4, "5mbit"), "10mbit,2mbit@2.5s,5mbit@4s");
  assert.equal(withRateFrom(once, 1, "5mbit"), "10mbit,5mbit@1s", "a later step is dropped");
  assert.equal(withRateFrom(once, 0, "5mbit"), "5mbit");
  const asked = request({ ...FIRST, down: once });
  assert.ok(asked.set.includes('link.down={schedule=[["0s","10mbit"],["2.5s","2mbit"]]}'));
  assert.equal(asked.rate, undefined);
});

test("a scenario file and a program have the settings of the command", () => {
  const settings = { ...FIRST, up: "1mbit,300kbit@2s", downloads: 0, ecn: true, loss: "1" };
  assert.equal(file(settings), [
    "# goodqueue compare FILE.toml", 'duration = "60s"', "seed = 1", 'qdiscs = ["pfifo limit 100","fq_codel"]',
    'link.down = "10mbit"', 'link.rtt = "50ms"', 'link.up = {schedule=[["0s","1mbit"],["2s","300kbit"]]}',
    'flows = [{kind="tcp",direction="up",count=2,start_jitter="100ms"},{kind="ping"}]', 'tcp.cc = "cubic"', "tcp.ecn = true",
    'hops = [{name="path",side="server",qdisc="netem loss 1%"}]', "",
  ].join("\n"));
  assert.match(python(settings), /seed=1,\n {4}qdiscs=\["pfifo limit 100","fq_codel"\],\n {4}set=\{"link.up": .*"tcp.ecn": True/);
  assert.equal(file({ ...FIRST, builtin: "ecn" }), null);
  assert.match(python(fromHash("#builtin=ecn")), /gq\.compare\(\n {4}"ecn",\n\)/);
});

test("transfers over QUIC follow those over TCP, and have their own congestion control and ECN", () => {
  const settings = { ...FIRST, quicUploads: 1, quicDownloads: 2, quicCc: "newreno", ecn: true, time: "1s" };
  const flows = 'kind="tcp",direction="up",count=2,start_jitter="100ms"},{kind="tcp",direction="down",count=1,start_jitter="100ms"},'
    + '{kind="quic",direction="up",count=1,start_jitter="100ms",cc="newreno",ecn=true},'
    + '{kind="quic",direction="down",count=2,start_jitter="100ms",cc="newreno",ecn=true},{kind="ping"}]';
  assert.ok(request(settings).set.includes(`flows=[{${flows}`), request(settings).set.join("\n"));
  const { scenario, runs } = JSON.parse(inPage(request(settings)).json ?? "");
  assert.deepEqual(scenario.flows.map((flow: { kind: string }) => flow.kind), ["tcp", "tcp", "quic", "quic", "ping"]);
  assert.deepEqual(JSON.parse(inPage({ toml: file(settings), qdiscs: [], set: [] }).json ?? "").runs, runs);
});

test("a command is quoted for a shell", () => {
  assert.equal(quoted("10mbit"), "10mbit");
  assert.equal(quoted("it's"), "'it'\\''s'");
  assert.match(command(FIRST), /^goodqueue compare --rate 10mbit --up 1mbit .* --qdisc 'pfifo limit 100' --qdisc fq_codel /);
});
