import type { LoadOrder, LoadResult } from './load/order.ts';
import { nameOf } from './report.ts';
import type { Scenario } from './scenarios.ts';
import { type Warmed, workUntilSteady } from './steady.ts';
import { callOf, type Target } from './targets.ts';

/** How long a target works before it is measured. */
export interface WarmUp {
  /** Seconds of its own CPU; `null`: until what a call takes does not change any more. */
  readonly seconds: number | null;
  /** The limit of the latter, in seconds. */
  readonly atMostSeconds: number;
}

/** Streams by which a target is warmed up: few, so that what the rest of them take is new to it. */
const WARM_UP_STREAMS = 20;
/** Of calls at a fixed rate too, which would take long to warm a target up. */
const WARM_UP_CONNECTIONS = 16;
const FIXED_SLICE_S = 0.5;
/** How many times as long as it has to work a target is warmed up at most: a fast one is never busy. */
const FIXED_AT_MOST = 2;
const SLICE_S = 1;
/**
 * The least, as a share of the limit. What a call takes is level for seconds while one thread compiles, whose time is in it, and
 * falls once that thread has nothing left to do.
 */
const LEAST_SHARE = 0.4;

/**
 * What a target is warmed up by. Chunks come after calls, so that memory which the first hundreds of calls take or free is not
 * said to be that of streams.
 */
export type WarmUpWork = 'calls' | 'chunks';

/** Until code that is run often has been compiled, a call costs half as much again and more. */
export async function warmUp(
  scenario: Scenario,
  what: WarmUpWork,
  target: Target,
  { seconds, atMostSeconds }: WarmUp,
  carryOut: (order: LoadOrder) => Promise<LoadResult>,
  tell: (line: string) => void,
  nowMs: () => number,
): Promise<void> {
  const call = callOf(target, scenario);
  const isStream = scenario.unit === 'streams';
  const warming = isStream ? ({ ...call, request: 'chat', response: 'chat' } as const) : call;
  const connections = Math.max(scenario.unit === 'connections' ? scenario.size : 0, WARM_UP_CONNECTIONS);
  const workOnCalls = (sliceSeconds: number): Promise<LoadResult> =>
    carryOut({ kind: 'closed', call: warming, connections, seconds: sliceSeconds });
  const workOnStreams = (sliceSeconds: number): Promise<LoadResult> =>
    carryOut({ kind: 'watch streams', seconds: sliceSeconds });
  // Each phase of two has half of the time.
  const mostMs = (atMostSeconds * 1_000) / (isStream ? 2 : 1);
  const work = async (unit: string, workSlice: typeof workOnCalls): Promise<void> => {
    if (seconds !== null) return workFor(target, seconds, workSlice, nowMs);
    const limits = { leastMs: mostMs * LEAST_SHARE, mostMs };
    const warmed = await workUntilSteady(() => cpuOfOne(target, workSlice), limits, nowMs);
    tell(`${scenario.name}: ${nameOf(target)} ${told(unit, warmed)}`);
  };
  if (what === 'calls') return work('a call', workOnCalls);
  await carryOut({ kind: 'begin streams', call, streams: WARM_UP_STREAMS });
  await work('a chunk', workOnStreams);
  await carryOut({ kind: 'end streams' });
}

/** What counts is how long the target has worked, which on a busy machine is less than the time that has gone by. */
async function workFor(
  target: Target,
  seconds: number,
  workSlice: (sliceSeconds: number) => Promise<LoadResult>,
  nowMs: () => number,
): Promise<void> {
  const begin = await target.read({});
  const endMs = nowMs() + FIXED_AT_MOST * seconds * 1_000;
  do {
    await workSlice(FIXED_SLICE_S);
  } while (nowMs() < endMs && (await target.read({})).cpuMicros - begin.cpuMicros < seconds * 1e6);
}

/** µs of CPU; `null` if nothing was done. */
async function cpuOfOne(
  target: Target,
  workSlice: (sliceSeconds: number) => Promise<LoadResult>,
): Promise<number | null> {
  const before = await target.read({});
  const { done } = await workSlice(SLICE_S);
  const after = await target.read({});
  return done === 0 ? null : (after.cpuMicros - before.cpuMicros) / done;
}

function told(what: string, { isSteady, tookMs, slices }: Warmed): string {
  const took = `${(tookMs / 1_000).toFixed(0)} s`;
  const last = slices.slice(-3).map((slice) => slice?.toFixed(0) ?? '-');
  return isSteady
    ? `is warm after ${took}, ${last.at(-1)} µs ${what}`
    : `may not be warm: its limit of ${took} is over, and the last seconds took ${last.join(', ')} µs ${what}`;
}
