import type { LoadOrder, LoadResult } from './load/order.ts';
import { nameOf } from './report.ts';
import type { Scenario } from './scenarios.ts';
import { type Warmed, workUntilSteady } from './steady.ts';
import { callOf, type Target } from './targets.ts';

/** How long a target is warmed up. */
export interface WarmUp {
  /** Seconds of its own CPU; `null`: until the cost of a call is steady. */
  readonly seconds: number | null;
  /** The limit if it is not steady, in seconds. */
  readonly atMostSeconds: number;
}

/** Number of streams for a warm-up: few, so that the memory of further streams is still new. */
const WARM_UP_STREAMS = 20;
/** Also for scenarios at a fixed rate, which would take long to warm a target up. */
const WARM_UP_CONNECTIONS = 16;
const FIXED_SLICE_S = 0.5;
/** Maximum elapsed time as a multiple of the CPU time, because a fast target is never busy. */
const FIXED_AT_MOST = 2;
const SLICE_S = 1;
/**
 * Minimum duration, as a share of the limit. The cost of a call is steady for seconds while one thread compiles, and falls once that is
 * complete.
 */
const LEAST_SHARE = 0.4;

/**
 * The load for a warm-up. Chunks follow calls, so that memory allocated during the first hundreds of calls does not count as memory of
 * streams.
 */
export type WarmUpWork = 'calls' | 'chunks';

/** Until V8 has optimised the code, a call costs half as much again or more. */
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
  // Streams have two phases.
  const mostMs = (atMostSeconds * 1_000) / (isStream ? 2 : 1);
  const work = async (unit: string, workSlice: typeof workOnCalls): Promise<void> => {
    if (seconds !== null) return workFor(target, seconds, workSlice, nowMs);
    const limits = { leastMs: mostMs * LEAST_SHARE, mostMs };
    const warmed = await workUntilSteady(() => cpuOfOne(target, workSlice), limits, nowMs);
    tell(`${scenario.name}: ${nameOf(target)} ${warmedText(unit, warmed)}`);
  };
  if (what === 'calls') return work('a call', workOnCalls);
  await carryOut({ kind: 'begin streams', call, streams: WARM_UP_STREAMS });
  await work('a chunk', workOnStreams);
  await carryOut({ kind: 'end streams' });
}

/** The target's CPU time counts, which on a busy machine is less than the elapsed time. */
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

function warmedText(what: string, { isSteady, tookMs, slices }: Warmed): string {
  const took = `${(tookMs / 1_000).toFixed(0)} s`;
  const last = slices.slice(-3).map((slice) => slice?.toFixed(0) ?? '-');
  return isSteady
    ? `is warm after ${took}, ${last.at(-1)} µs ${what}`
    : `may not be warm: its limit of ${took} is over, and the last seconds took ${last.join(', ')} µs ${what}`;
}
