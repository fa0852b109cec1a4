// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs the browser tests.
//
//   node run.mjs [quick|full] [--pages PROGRAM] [--axprof COMMAND --program
//       PROGRAM [--programs FOLDER] [--gpt PROGRAM]] [--only REGEX]
//
// The programs are viewer_pages (pages.c), real_program and gpt of a build, the
// folder has those of tests/adapters: without them the tests that need pages
// written in C are left out. Exit status 77: something they need is not
// installed.
import {runAll} from "./harness.mjs";
import "./test_data.mjs";
import "./test_page.mjs";
import "./test_small.mjs";
import "./test_heap.mjs";
import "./test_threads.mjs";
import "./test_safe.mjs";
import "./test_real.mjs";
import "./test_firefox.mjs";

const args = process.argv.slice(2);
const after = (flag) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
const level = args.includes("full") ? "full" : "quick";
process.exit((await runAll(level, {pages: after("--pages"), axprof: after("--axprof"), program: after("--program"), programs: after("--programs"), gpt: after("--gpt"), only: after("--only")})) ? 0 : 1);
