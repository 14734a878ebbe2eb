import { join } from 'node:path';
import { parseHistoryOptions } from './history-options.ts';
import { describeMachine, machineLine } from './machine.ts';
import { orExit } from './options.ts';
import { BARE, failuresOf, type ScenarioResult, summarise } from './report.ts';
import { checkOut, describeRevision, REPOSITORY, removeCheckout } from './revisions.ts';
import { runScenarios } from './run.ts';
import type { Scenario } from './scenarios.ts';
import { type Stage, startStage } from './stage.ts';
import { DATABASE_KINDS } from './targets.ts';

/**
 * Finds where speed was gained or lost: measures revisions of this repository in turns with the bare proxy, as multiples of its CPU per
 * call (for streams: per chunk), including the database server, on either kind of database. A revision that cannot run is reported, the
 * others are measured, and the exit code is 1.
 *
 *   node bench/history.ts --revisions 4e7e0fe,HEAD
 *   node bench/history.ts --from 4e7e0fe --to HEAD --steps 8     this many, evenly spaced
 *   node bench/history.ts … --scenario chat-64,streams-1000 --rounds 5 --seconds 3 --warm-up 3 --json
 *
 * A first run with few steps shows between which two revisions to look next.
 */
/** The figures of one revision in one scenario. */
interface Row {
  readonly revision: string;
  readonly scenario: string;
  /** µs of the bare proxy; `null` if it was not measured. */
  readonly bareMicros: number | null;
  /** By kind of database. */
  readonly multiples: Readonly<Record<string, number | null>>;
  /** Why it could not be measured, or the failed calls. */
  readonly note: string;
}

const options = orExit(() => parseHistoryOptions(process.argv.slice(2), REPOSITORY));
const machine = describeMachine();
console.error(machineLine(machine));
const rows: Row[] = [];
// Prints rows as they are measured. With --json the output is a single text, and rows are progress.
const print = options.isJson ? console.error : console.log;
const stage = await startStage(0, []);
try {
  print(head());
  for (const revision of options.revisions) await measureRevision(stage, revision);
} finally {
  await stage.stop();
}
if (options.isJson) console.log(JSON.stringify({ ...machine, duration: options.duration, rows }, null, 2));
if (rows.some(({ note }) => note !== '')) process.exitCode = 1;

async function measureRevision(stage: Stage, commit: string): Promise<void> {
  const revision = describeRevision(commit);
  console.error(revision);
  try {
    const checkout = checkOut(commit, join(stage.directory, 'revisions'));
    try {
      for (const scenario of options.scenarios) add(await measureScenario(stage, revision, scenario, checkout));
    } finally {
      removeCheckout(checkout);
    }
  } catch (error) {
    const note = `not measured: ${(error as Error).message.split('\n', 3).join(' ')}`;
    add({ revision, scenario: '', bareMicros: null, multiples: {}, note });
  }
}

function add(row: Row): void {
  rows.push(row);
  print(shown(row));
}

async function measureScenario(stage: Stage, revision: string, scenario: Scenario, checkout: string): Promise<Row> {
  const contenders = { versions: [{ name: '', checkout }], peers: [] };
  const tell = (line: string): void => console.error(`  ${line}`);
  const [result] = await runScenarios(stage, [scenario], contenders, options.duration, tell);
  return rowOf(revision, result!);
}

function rowOf(revision: string, result: ScenarioResult): Row {
  const lines = summarise(result);
  const multiples = Object.fromEntries(
    DATABASE_KINDS.map((kind) => [kind, lines.find(({ name }) => name === kind)?.figures.bothMicros?.toBare ?? null]),
  );
  return {
    revision,
    scenario: result.scenario.name,
    multiples,
    bareMicros: lines.find(({ name }) => name === BARE)?.figures.cpuMicros?.value ?? null,
    note: failuresOf(result).join('; '),
  };
}

function head(): string {
  return [
    'scenario'.padEnd(14),
    'bare µs'.padStart(9),
    ...DATABASE_KINDS.map((kind) => kind.padStart(12)),
    '  revision',
  ].join('');
}

function shown({ revision, scenario, bareMicros, multiples, note }: Row): string {
  const cells = DATABASE_KINDS.map((kind) => (multiples[kind]?.toFixed(2) ?? '-').padStart(12));
  const end = note === '' ? '' : ` (${note})`;
  return [scenario.padEnd(14), (bareMicros?.toFixed(0) ?? '-').padStart(9), ...cells, `  ${revision}${end}`].join('');
}
