// SPDX-License-Identifier: MIT OR Apache-2.0
// Builds dist/report.html, the template that the library embeds: one file,
// nothing loaded from anywhere, a policy that names its script and style by
// their hashes. The same sources always give the same bytes.
//
//   node build.mjs [--out FILE]
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import {fileURLToPath} from "node:url";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv.includes("--out") ? process.argv[process.argv.indexOf("--out") + 1] : path.join(here, "dist", "report.html");
const LIMIT = 200000;

const built = await esbuild.build({
    absWorkingDir: here, entryPoints: ["src/main.tsx"], bundle: true, minify: true, write: false, outdir: "out", format: "iife",
    target: ["es2022", "chrome110", "firefox115", "safari16.4"], jsx: "automatic", jsxImportSource: "preact", charset: "utf8", legalComments: "none",
    logLevel: "warning",
});
const text = (ext) => built.outputFiles.find((f) => f.path.endsWith(ext)).text.trim();

const css = text(".css"), js = text(".js");
// Inside the page neither may end its own element.
const script = js.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
const style = css.replace(/<\/(style)/gi, "<\\/$1");
const hash = (s) => `'sha256-${crypto.createHash("sha256").update(s).digest("base64")}'`;

/** Of everything that the result depends on; tests/viewer checks it without node. */
export function sourceHash() {
    const files = fs.readdirSync(path.join(here, "src"), {recursive: true}).map((f) => path.join("src", f.toString())).filter((f) => fs.statSync(path.join(here, f)).isFile());
    const h = crypto.createHash("sha256");
    for (const f of [...files, "build.mjs", "template.html", "package.json", "package-lock.json"].map((f) => f.replaceAll(path.sep, "/")).sort()) {
        h.update(f + "\0");
        h.update(fs.readFileSync(path.join(here, f)));
        h.update("\0");
    }
    return h.digest("hex");
}

const fill = {SCRIPT: script, STYLE: style, SCRIPT_HASH: hash(script), STYLE_HASH: hash(style), SOURCES: sourceHash()};
// A function as the replacement: minified code is full of $&.
const page = fs.readFileSync(path.join(here, "template.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, key) => fill[key]);
const size = Buffer.byteLength(page);
fs.mkdirSync(path.dirname(out), {recursive: true});
fs.writeFileSync(out, page);
console.log(`${out}: ${size} bytes`);
if (size > LIMIT) {
    console.error(`build: the template is larger than ${LIMIT} bytes`);
    process.exit(1);
}
