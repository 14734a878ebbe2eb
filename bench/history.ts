import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine, machineLine } from './machine.ts';
import { parseDuration } from './options.ts';
import { BARE, type ScenarioResult, summarise } from './report.ts';
import { checkOut, describeRevision, removeCheckout, revisionsBetween } from './revisions.ts';
import { runScenario } from './run.ts';
import { parseScenarios, type Scenario } from './scenarios.ts';
import { type Stage, startStage } from './stage.ts';
import { ENGINES } from './targets.ts';

/**
 * Where speed was lost or won: each of some revisions of this repository beside the bare proxy in turns, as multiples of its CPU
 * a call (of streams: a chunk) on both engines. A revision that cannot be run is named, and the others go on.
 *
 *   node bench/history.ts --revisions 4e7e0fe,HEAD
 *   node bench/history.ts --from 4e7e0fe --to HEAD --steps 8     so many, evenly apart
 *   node bench/history.ts … --scenario chat-64,streams-1000 --rounds 5 --seconds 3 --warm-up 3 --json
 *
 * A first run of few steps says between which two revisions to look next.
 */
const { values } = parseArgs({
  options: {
    revisions: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string', default: 'HEAD' },
    steps: { type: 'string', default: '8' },
    scenario: { type: 'string', default: 'chat-64' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    'warm-up': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

/** What one revision showed in one scenario. */
interface Row {
  readonly revision: string;
  readonly scenario: string;
  /** µs of the bare proxy; `null` if nothing was measured. */
  readonly bareMicros: number | null;
  /** By engine. */
  readonly multiples: Readonly<Record<string, number | null>>;
  /** Why it could not be measured, or what failed. */
  readonly note: string;
}

const scenarios = parseScenarios(values.scenario);
const duration = parseDuration(values, { rounds: 3, seconds: 3, warmUpSeconds: 3 });
const machine = describeMachine();
console.error(machineLine(machine));
const stage = await startStage(0, []);
const rows: Row[] = [];
try {
  for (const revision of chosen()) rows.push(...(await measureRevision(stage, revision)));
} finally {
  await stage.stop();
}
if (values.json) console.log(JSON.stringify({ ...machine, duration, rows }, null, 2));
else for (const line of [head(), ...rows.map(shown)]) console.log(line);

function chosen(): string[] {
  if (values.revisions !== undefined) return values.revisions.split(',');
  if (values.from !== undefined) return revisionsBetween(values.from, values.to, Number(values.steps));
  throw new Error('Say which revisions: --revisions A,B,… or --from A [--to B] [--steps N].');
}

async function measureRevision(stage: Stage, revision: string): Promise<Row[]> {
  const described = describeRevision(revision);
  console.error(described);
  try {
    const checkout = checkOut(revision, join(stage.directory, 'revisions'));
    try {
      const measured: Row[] = [];
      for (const scenario of scenarios) measured.push(await measureScenario(stage, described, scenario, checkout));
      return measured;
    } finally {
      removeCheckout(checkout);
    }
  } catch (error) {
    const note = `not measured: ${(error as Error).message.split('\n')[0]}`;
    return [{ revision: described, scenario: '', bareMicros: null, multiples: {}, note }];
  }
}

async function measureScenario(stage: Stage, revision: string, scenario: Scenario, checkout: string): Promise<Row> {
  const contenders = { versions: [{ name: '', checkout }], peers: [] };
  const result = await runScenario(stage, scenario, contenders, duration, (line) => console.error(`  ${line}`));
  return rowOf(revision, result);
}

function rowOf(revision: string, result: ScenarioResult): Row {
  const lines = summarise(result);
  const multiples = Object.fromEntries(
    ENGINES.map((engine) => [engine, lines.find(({ name }) => name === engine)?.figures.cpuMicros?.toBare ?? null]),
  );
  const failed = lines.find(({ failures }) => failures > 0);
  return {
    ...{ revision, scenario: result.scenario.name, multiples },
    bareMicros: lines.find(({ name }) => name === BARE)?.figures.cpuMicros?.value ?? null,
    note: failed === undefined ? '' : `${failed.name}: ${failed.failures} calls failed: ${failed.firstFailure}`,
  };
}

function head(): string {
  return [
    'scenario'.padEnd(14),
    'bare µs'.padStart(9),
    ...ENGINES.map((engine) => engine.padStart(12)),
    '  revision',
  ].join('');
}

function shown({ revision, scenario, bareMicros, multiples, note }: Row): string {
  const cells = ENGINES.map((engine) => (multiples[engine]?.toFixed(2) ?? '-').padStart(12));
  const end = note === '' ? '' : ` (${note})`;
  return [scenario.padEnd(14), (bareMicros?.toFixed(0) ?? '-').padStart(9), ...cells, `  ${revision}${end}`].join('');
}
