import type { CallShape, LoadOrder, LoadResult } from './load/order.ts';
import type { MeterReading } from './meter.ts';
import type { LineResult, ScenarioResult } from './report.ts';
import type { Figures, Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';
import type { Target } from './targets.ts';

/** How long targets are measured. */
export interface Duration {
  readonly rounds: number;
  readonly seconds: number;
  /** How long a target works before it is measured. */
  readonly warmUpSeconds: number;
}

interface Line extends LineResult {
  readonly target: Target;
  readonly rounds: Figures[];
  failures: number;
  firstFailure: string | null;
  /** After it was warmed up, before its first round. */
  idle: MeterReading | null;
}

/** Streams by which a target is warmed up: few, so that what the rest of them take is new to it. */
const WARM_UP_STREAMS = 20;
/** Of calls at a fixed rate too, which would take long to warm a target up. */
const WARM_UP_CONNECTIONS = 16;
const WARM_UP_STEP_S = 0.5;
/** How many times as long as it has to work a target is warmed up at most: a fast one is never busy. */
const WARM_UP_AT_MOST = 2;

/**
 * Warms targets up, and measures them in rounds that take turns. `tell` is told of each round as it ends.
 */
export async function runRounds(
  stage: Stage,
  scenario: Scenario,
  targets: readonly Target[],
  duration: Duration,
  tell: (line: string) => void,
): Promise<ScenarioResult> {
  const lines = targets.map(
    (target): Line => ({
      ...{ name: target.name, version: target.version, target, rounds: [] },
      ...{ failures: 0, firstFailure: null, idle: null },
    }),
  );
  for (const line of lines) {
    await warmUp(stage, scenario, line, duration.warmUpSeconds);
    line.idle = await line.target.read({ collect: true });
  }
  for (let round = 0; round < duration.rounds; round++) {
    // What comes later in a round must not always be the same.
    for (const line of round % 2 === 0 ? lines : lines.toReversed()) {
      const figures = await measure(stage, scenario, line, duration.seconds);
      line.rounds.push(figures);
      tell(`${scenario.name}, round ${round + 1}: ${line.name} ${line.version} ${told(figures)}`);
    }
  }
  return {
    scenario,
    lines: lines.map(({ name, version, rounds, failures, firstFailure }) => {
      return { name, version, rounds, failures, firstFailure };
    }),
  };
}

/**
 * Until code that is run often has been compiled, a call costs half as much again and more. What counts is how long the target
 * has worked, which on a busy machine is less than the time that has gone by.
 */
async function warmUp(stage: Stage, scenario: Scenario, line: Line, seconds: number): Promise<void> {
  const { call } = line.target;
  const begin = await line.target.read({});
  const endMs = performance.now() + WARM_UP_AT_MOST * seconds * 1_000;
  const isWarm = async (): Promise<boolean> =>
    performance.now() >= endMs || (await line.target.read({})).cpuMicros - begin.cpuMicros >= seconds * 1e6;
  const isStream = scenario.unit === 'streams';
  const warming: CallShape = isStream ? { ...call, request: 'chat', response: 'chat' } : call;
  const connections = Math.max(scenario.unit === 'connections' ? scenario.size : 0, WARM_UP_CONNECTIONS);
  do {
    await order(stage, line, { kind: 'closed', call: warming, connections, seconds: WARM_UP_STEP_S });
  } while (!(await isWarm()));
  if (isStream) await warmUpStreams(stage, line, seconds);
}

/** After calls that are no streams, so that memory which the first hundreds of calls take or free is not said to be that of streams. */
async function warmUpStreams(stage: Stage, line: Line, seconds: number): Promise<void> {
  await order(stage, line, { kind: 'begin streams', call: line.target.call, streams: WARM_UP_STREAMS });
  await order(stage, line, { kind: 'watch streams', seconds });
  await order(stage, line, { kind: 'end streams' });
}

function orderOf({ unit, size }: Scenario, { call }: Target, seconds: number): LoadOrder {
  if (unit === 'connections') return { kind: 'closed', call, connections: size, seconds };
  return { kind: 'open', call, callsPerSecond: size, seconds };
}

function measure(stage: Stage, scenario: Scenario, line: Line, seconds: number): Promise<Figures> {
  return scenario.unit === 'streams'
    ? measureStreams(stage, scenario, line, seconds)
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
    cpuMicros: share(cpuMicros, result.done),
    commits: commits(before, after, result.done),
    rssMb: after.rssBytes / 1e6,
    mbPerSecond: (megabytes * 1_000) / result.elapsedMs,
    cpuMsAMb: share(cpuMicros / 1_000, megabytes),
    delayP99Ms: after.delayP99Ms,
  };
}

async function measureStreams(stage: Stage, scenario: Scenario, line: Line, seconds: number): Promise<Figures> {
  const { target } = line;
  await order(stage, line, { kind: 'begin streams', call: target.call, streams: scenario.size });
  const before = await target.read({});
  const result = await order(stage, line, { kind: 'watch streams', seconds });
  const after = await target.read({ collect: true });
  await order(stage, line, { kind: 'end streams' });
  return {
    cpuMicros: share(after.cpuMicros - before.cpuMicros, result.done),
    ...times(result),
    kbAStream: result.done === 0 ? null : grown(line.idle!, after) / 1_000 / scenario.size,
    rssMb: after.rssBytes / 1e6,
  };
}

async function order(stage: Stage, line: Line, what: LoadOrder): Promise<LoadResult> {
  const result = await stage.load(what);
  line.failures += result.failures;
  line.firstFailure ??= result.firstFailure;
  return result;
}

/**
 * What memory has grown by: what is in use, because of what is resident nobody can say how much is left over from before. Where
 * that is not known, what is resident.
 */
function grown(before: MeterReading, after: MeterReading): number {
  if (before.inUseBytes === null || after.inUseBytes === null) return after.rssBytes - before.rssBytes;
  return after.inUseBytes - before.inUseBytes;
}

function times({ p50Ms, p99Ms, p999Ms }: LoadResult): Figures {
  return { p50Ms, p99Ms, p999Ms };
}

function share(total: number, count: number): number | null {
  return count === 0 ? null : total / count;
}

function commits(before: MeterReading, after: MeterReading, calls: number): number | null {
  if (before.nextTransaction === null || after.nextTransaction === null) return null;
  return share(after.nextTransaction - before.nextTransaction, calls);
}

function told({ perSecond, cpuMicros }: Figures): string {
  const rate = perSecond == null ? '' : `${perSecond.toFixed(0)}/s, `;
  return `${rate}${cpuMicros?.toFixed(1) ?? '-'} µs`;
}
