// Scenarios as JSON, which results hold, and as TOML, which the command reads.

const BARE = /^"[A-Za-z0-9_-]+"$/;

/**
 * Returns the TOML of a JSON object, a line for each of its keys. Numbers keep their digits, since a
 * seed may have more of them than JavaScript's numbers. Text that is no JSON object is returned as it
 * is, so that the reader of TOML refuses it.
 */
export function tomlOfJson(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return json;
  } catch {
    return json;
  }
  // The text is valid JSON, so its tokens are these.
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g) ?? [];
  let [text, depth] = ["", 0];
  tokens.forEach((token, at) => {
    if (token === "}" || token === "]") depth -= 1;
    const isOutermost = depth === 0 && (token === "{" || token === "}");
    if (isOutermost) text += "";
    else if (token === ":") text += depth === 1 ? " = " : "=";
    else if (token === "," && depth === 1) text += "\n";
    else if (token.startsWith('"')) text += written(token, tokens[at + 1] === ":");
    else text += token;
    if (token === "{" || token === "[") depth += 1;
  });
  return `${text}\n`;
}

/** Writes a string or a key. Their escapes are the same, except those of the solidus and of DEL. */
function written(token: string, isKey: boolean): string {
  const bare = isKey && BARE.test(token);
  return bare ? token.slice(1, -1) : JSON.stringify(JSON.parse(token)).replaceAll("\u007f", "\\u007f");
}
