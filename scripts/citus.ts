import { parseArgs } from 'node:util';
import { type CitusCluster, startCluster } from '../test/citus/cluster.ts';
import { createCitusDatabase } from '../test/citus/databases.ts';
import type { Step } from '../test/citus/step.ts';
import { books } from '../test/citus/steps/books.ts';
import { conformance } from '../test/citus/steps/conformance.ts';
import { gateways } from '../test/citus/steps/gateways.ts';
import { latency } from '../test/citus/steps/latency.ts';
import { move } from '../test/citus/steps/move.ts';
import { overBoth } from '../test/citus/steps/over-both.ts';
import { partitions } from '../test/citus/steps/partitions.ts';
import { stores } from '../test/citus/steps/stores.ts';
import { workerStops } from '../test/citus/steps/worker-stops.ts';

/**
 * Tests partitions on Citus, with a temporary cluster of a coordinator and two workers on loopback. `docs/scale.md` explains how to build
 * a PostgreSQL with Citus. Exit code 1 if a step fails; the others still run.
 */
const HELP = `npm run test:citus -- --pg BIN [--step NAME]... [--keep] [--list]

  --pg BIN     the program directory of a PostgreSQL with Citus, as printed by pg_config --bindir
  --step NAME  run only this step; can be repeated
  --keep       keep the cluster running after the steps until Ctrl-C, with a database that uses its workers
  --list       list the steps
`;

const STEPS: readonly Step[] = [partitions, stores, books, overBoth, latency, move, workerStops, gateways, conformance];

const { values: flags } = parseArgs({
  options: {
    pg: { type: 'string' },
    step: { type: 'string', multiple: true, default: [] },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const unknown = flags.step.filter((name) => !STEPS.some((step) => step.name === name));

if (flags.help) console.log(HELP);
else if (flags.list) for (const { name, tries } of STEPS) console.log(`${name.padEnd(14)}${tries}`);
else if (unknown.length > 0)
  fail(`Unknown step: ${unknown.join(', ')}. Known: ${STEPS.map(({ name }) => name).join(', ')}`);
else if (flags.pg === undefined) fail(`Give the directory of a PostgreSQL with Citus: --pg BIN\n\n${HELP}`);
else
  await run(
    flags.pg,
    STEPS.filter(({ name }) => flags.step.length === 0 || flags.step.includes(name)),
  );

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

async function run(bin: string, steps: readonly Step[]): Promise<void> {
  const signalled = signal();
  const cluster = await startCluster(bin).catch((error: Error) => fail(error.message));
  if (cluster === undefined) return;
  try {
    console.log(cluster.versions);
    await Promise.race([runSteps(cluster, steps), signalled]);
    if (flags.keep) await keep(cluster, signalled);
  } finally {
    await cluster.stop();
  }
  // Resources of an interrupted step would keep the process alive.
  process.exit();
}

async function runSteps(cluster: CitusCluster, steps: readonly Step[]): Promise<void> {
  for (const { name, run: runStep } of steps) {
    const startedAt = performance.now();
    try {
      const found = await runStep(cluster);
      console.log(`✔ ${name} (${secondsSince(startedAt)})\n${indented(found.join('\n'))}`);
    } catch (error) {
      fail(`✖ ${name} (${secondsSince(startedAt)})\n${indented(messageOf(error))}`);
    }
  }
}

/** A failed step may fail again during its cleanup. */
function messageOf(error: unknown): string {
  if (error instanceof SuppressedError) return `${messageOf(error.suppressed)}\n${messageOf(error.error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function keep(cluster: CitusCluster, signalled: Promise<void>): Promise<void> {
  const { url } = await createCitusDatabase(cluster.ports);
  console.log(
    `${url}\nFAREGATE_TEST_CITUS_PORTS='${JSON.stringify(cluster.ports)}'\nCtrl-C stops and removes the cluster.`,
  );
  const alive = setInterval(() => undefined, 60_000);
  await signalled;
  clearInterval(alive);
}

function signal(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve());
  });
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
