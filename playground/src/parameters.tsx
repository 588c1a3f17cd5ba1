// The parameters of a discipline, from the catalogue, as fields that change its line.

import type { Catalogue } from "./protocol.ts";

type Qdisc = Catalogue["qdiscs"][number];
type Parameter = Qdisc["parameters"][number];

/** Words of a line before those of an inner discipline. */
function outer(line: string): { words: string[]; rest: string } {
  const at = line.indexOf("[");
  const [own, rest] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at)];
  return { words: own.trim().split(/\s+/), rest };
}

/** The words that set a parameter that has no value; the first one is that for the default. */
export function wordsOf(parameter: Parameter): string[] | null {
  const { name, default: preset, range } = parameter;
  if (range !== "" && !range.startsWith("needs") && !range.startsWith("variant")) return null;
  // tc joins "no" to a name as the name joins its own words.
  if (preset === name) return ["", `no${/[-_]/.exec(name)?.[0] ?? ""}${name}`];
  if (preset === "off" || preset.startsWith("off;") || preset.startsWith("no")) return ["", name];
  return preset === "on" ? ["", name] : null;
}

/** The value of a parameter in a line; for one without a value the word that sets it. Empty: the default. */
export function valueIn(line: string, parameter: Parameter): string {
  const { words } = outer(line);
  const choices = wordsOf(parameter);
  if (choices !== null) return choices.find((word) => word !== "" && words.includes(word, 1)) ?? "";
  const at = words.indexOf(parameter.name, 1);
  return at < 0 ? "" : (words[at + 1] ?? "");
}

/** Returns the line with another value of a parameter; an empty one is the default. */
export function withValue(line: string, parameter: Parameter, value: string): string {
  const { words, rest } = outer(line);
  const choices = wordsOf(parameter);
  if (choices !== null) {
    const kept = words.filter((word, at) => at === 0 || word === "" || !choices.includes(word));
    if (value !== "") kept.push(value);
    return [...kept, rest].join(" ").trim();
  }
  const at = words.indexOf(parameter.name, 1);
  const added = value === "" ? [] : [parameter.name, value];
  if (at < 0) words.push(...added);
  else words.splice(at, 2, ...added);
  return [...words, rest].join(" ").trim();
}

/** The discipline of a line, if its parameters can be shown: the line has one for both directions. */
export function kindOf(line: string, catalogue: Catalogue | null): Qdisc | undefined {
  if (/\s\/\s/.test(line)) return undefined;
  return catalogue?.qdiscs.find(({ name }) => name === outer(line).words[0]);
}

export function Parameters({ line, catalogue, onLine }: { line: string; catalogue: Catalogue | null; onLine(line: string): void }) {
  const kind = kindOf(line, catalogue);
  if (kind === undefined || kind.parameters.length === 0) return null;
  return (
    <details class="parameters">
      <summary>Parameters of {kind.name}</summary>
      <p>{kind.summary}. <span>{kind.reference}</span></p>
      <div class="fields">
        {kind.parameters.map((parameter) => {
          const words = wordsOf(parameter);
          const value = valueIn(line, parameter);
          const change = (given: string) => onLine(withValue(line, parameter, given.trim()));
          return (
            // biome-ignore lint/a11y/noLabelWithoutControl: both branches below are controls
            <label title={parameter.range === "" ? "" : `allowed: ${parameter.range}`}>
              <code>{parameter.name}</code>
              {words === null
                ? <input value={value} placeholder={parameter.default} spellcheck={false} onChange={(event) => change(event.currentTarget.value)} />
                : (
                  <select value={value} onChange={(event) => change(event.currentTarget.value)}>
                    {words.map((word) => <option value={word}>{word === "" ? `default: ${parameter.default}` : word}</option>)}
                  </select>
                )}
              <small>{parameter.doc}</small>
            </label>
          );
        })}
      </div>
    </details>
  );
}
