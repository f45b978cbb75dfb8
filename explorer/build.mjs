// Builds src/ into src/retgk/explorer/built: `make explorer`. The first line of each built file
// has a digest of the sources, by which a test sees, without Node.js, that it is not out of date.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = path.join(here, "..", "src", "retgk", "explorer", "built");

const digest = createHash("sha256");
for (const name of readdirSync(path.join(here, "src")).sort()) {
  digest.update(`${name}\0`).update(readFileSync(path.join(here, "src", name))).update("\0");
}
const banner = `/* retgk explorer, BSD-3-Clause; sources sha256 ${digest.digest("hex")} */`;

mkdirSync(target, { recursive: true });
for (const [entry, output] of [["main.js", "explorer.js"], ["style.css", "explorer.css"]]) {
  const result = await build({
    entryPoints: [path.join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format: entry.endsWith(".js") ? "iife" : undefined,
    target: ["chrome103", "firefox113", "safari16.4"],
    charset: "ascii",
    legalComments: "inline",
  });
  const text = `${banner}\n${result.outputFiles[0].text}`;
  if (/<\/(script|style)/i.test(text)) throw new Error(`${output} would end its own element`);
  writeFileSync(path.join(target, output), text);
  console.log(`${output}: ${text.length.toLocaleString("en")} bytes`);
}
