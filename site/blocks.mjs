// Runs the commands that the book shows, and puts what they print below them.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";

/** Commands that need no other program, no network and no recording. */
const RUNNABLE = /^goodqueue (compare|run|list|explain|advise)\b(?!.*(--live|--both|--trace|--flent|--shard|--merge|--submit|s3:| \/|lte\.))/;
const LONGEST = 200;
const SHORT = 30;

/**
 * Returns the page with the output below each block of commands. Files that the page shows
 * (```toml with `# NAME.toml` in the first line) are written into `folder`, where commands run.
 */
export function withOutputs(text, goodqueue, folder) {
  return text.replace(/^```(sh|toml)\n([\s\S]*?)^```$/gm, (block, language, body) => {
    const name = body.match(/^# (\S+\.toml)\n/)?.[1];
    if (language === "toml") {
      if (name) writeFileSync(path.join(folder, path.basename(name)), body);
      return block;
    }
    const commands = body.trim().split("\n").map(withoutRemark);
    if (!commands.every((command) => RUNNABLE.test(command))) return block;
    const printed = commands.map((command) => run(command, goodqueue, folder)).join("\n");
    const shown = commands.length > 1 ? "the commands print" : "the command prints";
    // Long outputs are folded.
    const open = printed.split("\n").length <= SHORT ? " {open}" : "";
    return `${block}\n\n::: details What ${shown}${open}\n\`\`\`text\n${printed.trimEnd()}\n\`\`\`\n:::`;
  });
}

/** Removes a remark behind a command. */
function withoutRemark(line) {
  return line.replace(/\s{2,}#.*$|\s+# .*$/, "");
}

function run(command, goodqueue, folder) {
  const quoted = goodqueue.replaceAll("'", "'\\''");
  const script = `goodqueue() { '${quoted}' "$@"; }\n${command}`;
  let printed;
  try {
    printed = execFileSync("sh", ["-c", script], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
  } catch (error) {
    throw new Error(`a command of the book fails: ${command}\n${error.stderr ?? error}`);
  }
  const lines = printed.split("\n");
  const rest = lines.length - LONGEST;
  return rest > 0 ? [...lines.slice(0, LONGEST), `... and ${rest} more lines`].join("\n") : printed;
}
