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
 * Tries partitions on Citus: a coordinator and two workers, started on loopback in a temporary directory and removed at the end.
 * docs/scale.md says how a PostgreSQL with Citus is built. Exit code 1 if a step fails; the others run all the same.
 */
const HELP = `npm run test:citus -- --pg BIN [--step NAME]... [--keep] [--list]

  --pg BIN     the directory of the programs of a PostgreSQL that has Citus, as its pg_config --bindir says
  --step NAME  this step alone; may be given several times
  --keep       leave the cluster running behind the steps, with a database that knows its workers, until Ctrl-C
  --list       say what steps there are
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
  fail(`There is no step ${unknown.join(', ')}. There are: ${STEPS.map(({ name }) => name).join(', ')}`);
else if (flags.pg === undefined) fail(`Say where a PostgreSQL with Citus is: --pg BIN\n\n${HELP}`);
else
  await run(
    flags.pg,
    STEPS.filter(({ name }) => flags.step.length === 0 || flags.step.includes(name)),
  );

function fail(words: string): void {
  console.error(words);
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
  // What a step had open that was not waited for any longer would keep the process.
  process.exit();
}

async function runSteps(cluster: CitusCluster, steps: readonly Step[]): Promise<void> {
  for (const { name, run: runStep } of steps) {
    const startedAt = performance.now();
    try {
      const found = await runStep(cluster);
      console.log(`✔ ${name} (${secondsSince(startedAt)})\n${indented(found.join('\n'))}`);
    } catch (error) {
      fail(`✖ ${name} (${secondsSince(startedAt)})\n${indented(wordsOf(error))}`);
    }
  }
}

/** A step that fails may fail once more when what it has is removed. */
function wordsOf(error: unknown): string {
  if (error instanceof SuppressedError) return `${wordsOf(error.suppressed)}\n${wordsOf(error.error)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function keep(cluster: CitusCluster, signalled: Promise<void>): Promise<void> {
  const { url } = await createCitusDatabase(cluster.ports);
  console.log(
    `${url}\nFAREGATE_TEST_CITUS_PORTS='${JSON.stringify(cluster.ports)}'\nCtrl-C stops the cluster and removes it.`,
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
