// graphile-worker in its fastest documented configuration: a local queue of 500 jobs and batched completion.
//   node graphile.js DSN JOBS PINGS     fill, drain, pick up; prints one JSON line
//   node graphile.js DSN submit PINGS   the other process of the pickup measurement
// BENCH_ANALYZE=1 analyzes its tables between filling and draining.
"use strict";
const { fork } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { performance } = require("node:perf_hooks");
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");

const CONCURRENCY = 24;
const BATCH = 1000;
const { version } = JSON.parse(
  readFileSync(join(dirname(require.resolve("graphile-worker")), "..", "package.json"), "utf8"),
);
const logger = new Logger(() => () => {});
const preset = { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const seconds = () => performance.now() / 1000;
const wallMs = () => performance.timeOrigin + performance.now();
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];

async function fill(utils, jobs) {
  const start = seconds();
  for (let from = 0; from < jobs; from += BATCH) {
    const size = Math.min(BATCH, jobs - from);
    await utils.addJobs(Array.from({ length: size }, (_, i) => ({ identifier: "noop", payload: { i: from + i } })));
  }
  return jobs / (seconds() - start);
}

async function empty(pool) {
  for (;;) {
    const { rows } = await pool.query("select not exists (select from graphile_worker._private_jobs) as empty");
    if (rows[0].empty) return;
    await sleep(5);
  }
}

// From the first handler's start until the last job has left the table: completion is not awaited by its workers.
async function drain(pool, jobs) {
  let first, done = 0, allHandled;
  const finished = new Promise((resolve) => (allHandled = resolve));
  const noop = async () => {
    first ??= seconds();
    if (++done === jobs) allHandled();
  };
  const runner = await start(pool, { noop });
  await finished;
  await empty(pool);
  const stored = seconds();
  await runner.stop();
  return jobs / (stored - first);
}

const start = (pgPool, taskList) =>
  run({ pgPool, concurrency: CONCURRENCY, taskList, logger, noHandleSignals: true, preset });

async function pickup(pool, dsn, pings) {
  const delays = [];
  let allSeen;
  const finished = new Promise((resolve) => (allSeen = resolve));
  const ping = async ({ sent }) => {
    if (delays.push(wallMs() - sent) === pings) allSeen();
  };
  const runner = await start(pool, { ping });
  await sleep(500);
  fork(__filename, [dsn, "submit", String(pings)]);
  await finished;
  await runner.stop();
  delays.sort((a, b) => a - b);
  return { pickup_p50_ms: quantile(delays, 0.5), pickup_p99_ms: quantile(delays, 0.99) };
}

async function submit(utils, pings) {
  for (let i = 0; i < pings; i++) {
    await utils.addJob("ping", { sent: wallMs() });
    await sleep(10 + Math.random() * 20);
  }
}

async function main([dsn, jobs, pings]) {
  const pool = new Pool({ connectionString: dsn, max: CONCURRENCY + 2 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  if (jobs === "submit") {
    await submit(utils, Number(pings));
    return;
  }
  await utils.migrate();
  const figures = { version, enqueue_per_s: await fill(utils, Number(jobs)) };
  if (process.env.BENCH_ANALYZE) await pool.query("analyze");
  figures.drain_per_s = await drain(pool, Number(jobs));
  if (Number(pings)) Object.assign(figures, await pickup(pool, dsn, Number(pings)));
  process.stdout.write(JSON.stringify(figures) + "\n");
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
