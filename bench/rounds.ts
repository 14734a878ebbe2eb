import type { LoadOrder, LoadResult } from './load/order.ts';
import { type LineResult, nameOf, type ScenarioResult } from './report.ts';
import type { Figures, Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';
import { callOf, type Target, type TargetReading } from './targets.ts';
import { type WarmUp, type WarmUpWork, warmUp } from './warm-up.ts';

/** How long targets are measured. */
export interface Duration {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: WarmUp;
}

interface Line extends LineResult {
  readonly target: Target;
  readonly rounds: Figures[];
  failures: number;
  firstFailure: string | null;
  /** Reading before the first stream of a scenario; `null` for calls. */
  idle: TargetReading | null;
}

/**
 * Warms targets up, and measures them in rounds that take turns, all rounds of one scenario before the next. All calls use one address,
 * so that each target is equally warm. Calls `tell` after each round.
 */
export async function runRounds(
  stage: Stage,
  scenarios: readonly Scenario[],
  targets: readonly Target[],
  duration: Duration,
  tell: (line: string) => void,
): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    const lines = targets.map(lineOf);
    for (const line of lines) {
      const carryOut = (what: LoadOrder): Promise<LoadResult> => order(stage, line, what);
      const warm = (what: WarmUpWork) =>
        warmUp(scenario, what, line.target, duration.warmUp, carryOut, tell, () => performance.now());
      if (results.length === 0) await warm('calls');
      if (scenario.unit !== 'streams') continue;
      // The first chunks also allocate memory that does not belong to streams.
      if (results.every(({ scenario: { unit } }) => unit !== 'streams')) await warm('chunks');
      // A forced collection drops compiled code too. Chunks are warmed up again afterwards; for calls none is forced.
      line.idle = await line.target.read({ collect: measuresMemory(scenario) });
      await warm('chunks');
    }
    await measureLines(stage, scenario, lines, duration, tell);
    results.push({
      scenario,
      lines: lines.map(({ name, version, twin, rounds, failures, firstFailure }) => {
        return { name, version, twin, rounds, failures, firstFailure };
      }),
    });
  }
  return results;
}

function lineOf(target: Target): Line {
  const { name, version, twin } = target;
  return { name, version, twin, target, rounds: [], failures: 0, firstFailure: null, idle: null };
}

async function measureLines(
  stage: Stage,
  scenario: Scenario,
  lines: readonly Line[],
  { rounds, seconds }: Duration,
  tell: (line: string) => void,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    // The order within rounds alternates.
    for (const line of round % 2 === 0 ? lines : lines.toReversed()) {
      const figures = await measure(stage, scenario, line, seconds, round === rounds - 1);
      line.rounds.push(figures);
      tell(`${scenario.name}, round ${round + 1}: ${nameOf(line)} ${figuresText(figures)}`);
    }
  }
}

function orderOf(scenario: Scenario, target: Target, seconds: number): LoadOrder {
  const { unit, size } = scenario;
  const call = callOf(target, scenario);
  if (unit === 'connections') return { kind: 'closed', call, connections: size, seconds };
  return { kind: 'open', call, callsPerSecond: size, seconds };
}

function measure(stage: Stage, scenario: Scenario, line: Line, seconds: number, isLast: boolean): Promise<Figures> {
  return scenario.unit === 'streams'
    ? measureStreams(stage, scenario, line, seconds, isLast)
    : measureCalls(stage, scenario, line, seconds);
}

async function measureCalls(stage: Stage, scenario: Scenario, line: Line, seconds: number): Promise<Figures> {
  const isWatched = scenario.kind === 'estimate';
  const before = await line.target.read({ watchDelay: isWatched });
  const result = await order(stage, line, orderOf(scenario, line.target, seconds));
  const after = await line.target.read({ watchDelay: false });
  const megabytes = result.requestBytes / 1e6;
  const cpuMicros = after.cpuMicros - before.cpuMicros;
  return {
    perSecond: (result.done * 1_000) / result.elapsedMs,
    ...times(result),
    ...cpu(before, after, result.done),
    commits: commits(before, after, result.done),
    rssMb: after.rssBytes / 1e6,
    mbPerSecond: (megabytes * 1_000) / result.elapsedMs,
    cpuMsAMb: share(cpuMicros / 1_000, megabytes),
    delayP99Ms: after.delayP99Ms,
  };
}

/** `isLast`: collects garbage at the end, to measure the memory of streams. Later rounds would start cold. */
async function measureStreams(
  stage: Stage,
  scenario: Scenario,
  line: Line,
  seconds: number,
  isLast: boolean,
): Promise<Figures> {
  const { target } = line;
  await order(stage, line, { kind: 'begin streams', call: callOf(target, scenario), streams: scenario.size });
  const before = await target.read({});
  const result = await order(stage, line, { kind: 'watch streams', seconds });
  const after = await target.read({ collect: isLast && measuresMemory(scenario) });
  await order(stage, line, { kind: 'end streams' });
  return {
    ...cpu(before, after, result.done),
    ...times(result),
    kbAStream: !isLast || result.done === 0 ? null : grown(line.idle!, after) / 1_000 / scenario.size,
    rssMb: after.rssBytes / 1e6,
  };
}

const measuresMemory = ({ columns }: Scenario): boolean => columns.some(({ key }) => key === 'kbAStream');

async function order(stage: Stage, line: Line, what: LoadOrder): Promise<LoadResult> {
  const result = await stage.load(what);
  line.failures += result.failures;
  line.firstFailure ??= result.firstFailure;
  return result;
}

/**
 * Growth of live memory, because resident memory includes an unknown remainder from before. Resident memory if live memory is unknown.
 */
function grown(before: TargetReading, after: TargetReading): number {
  if (before.inUseBytes === null || after.inUseBytes === null) return after.rssBytes - before.rssBytes;
  return after.inUseBytes - before.inUseBytes;
}

function times({ p50Ms, p99Ms, p999Ms }: LoadResult): Figures {
  return { p50Ms, p99Ms, p999Ms };
}

function share(total: number, count: number): number | null {
  return count === 0 ? null : total / count;
}

/** CPU of the process, of its database server, and their sum. A database inside the process counts as the process. */
function cpu(before: TargetReading, after: TargetReading, count: number): Figures {
  const own = after.cpuMicros - before.cpuMicros;
  const [first, last] = [before.database, after.database];
  const ofDatabase = first === null || last === null ? null : last.cpuMicros - first.cpuMicros;
  return {
    cpuMicros: share(own, count),
    databaseMicros: ofDatabase === null ? null : share(ofDatabase, count),
    bothMicros: share(own + (ofDatabase ?? 0), count),
  };
}

function commits(before: TargetReading, after: TargetReading, calls: number): number | null {
  if (before.database === null || after.database === null) return null;
  return share(after.database.nextTransaction - before.database.nextTransaction, calls);
}

function figuresText({ perSecond, cpuMicros }: Figures): string {
  const rate = perSecond == null ? '' : `${perSecond.toFixed(0)}/s, `;
  return `${rate}${cpuMicros?.toFixed(1) ?? '-'} µs`;
}
