import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { CallOutcome } from '../../src/accounting/calls/call-outcome.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import { LIMITS_MS } from '../../src/accounting/usage/latency-buckets.ts';
import { createLatencyStore, joinedLatency, type LatencySums } from '../../src/accounting/usage/latency-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import type { Database } from '../../src/db/database.ts';
import { noUsage } from '../../src/protocols/metering/usage-facts.ts';
import { createTestNode, NOW_MS, openAccount, outcomeOf, type TestNode } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** Attempts by the hour: the last attempt of each record, and those that another route replaced. */

const TIMEZONE = 'Asia/Shanghai';
const HOUR_MS = 3_600_000;
const HOUR_STARTS_MS = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;

interface Ended {
  readonly model: string;
  readonly provider: string;
  readonly kind: 'succeeded' | 'down' | 'rejected' | 'left' | 'broken' | 'no route';
  readonly isStream: boolean;
  readonly startsMs: number;
  /** The duration of a first attempt, at another provider, that failed; `null`: there was one attempt. */
  readonly replacedMs: number | null;
  readonly firstByteMs: number;
  readonly restMs: number;
  readonly outputTokens: number;
}

const anyEnd: fc.Arbitrary<Ended> = fc.record({
  model: fc.constantFrom('large', 'small'),
  provider: fc.constantFrom('a', 'b'),
  kind: fc.constantFrom('succeeded', 'succeeded', 'down', 'rejected', 'left', 'broken', 'no route'),
  isStream: fc.boolean(),
  startsMs: fc.integer({ min: 0, max: 3 * HOUR_MS }),
  replacedMs: fc.option(fc.integer({ min: 0, max: 20_000 })),
  firstByteMs: fc.integer({ min: 0, max: 30_000 }),
  restMs: fc.oneof(fc.integer({ min: 0, max: 900_000 }), fc.integer({ min: 0, max: 200 })),
  outputTokens: fc.integer({ min: 0, max: 5_000 }),
});

const ENDS = {
  succeeded: { status: 'succeeded', httpStatus: 200, errorCode: null },
  down: { status: 'failed', httpStatus: 502, errorCode: 'upstream_error' },
  rejected: { status: 'failed', httpStatus: 400, errorCode: 'invalid_request_error' },
  left: { status: 'aborted', httpStatus: 200, errorCode: null },
  broken: { status: 'aborted', httpStatus: 200, errorCode: 'upstream_error' },
  'no route': { status: 'failed', httpStatus: 503, errorCode: 'MODEL_ROUTING_NO_HEALTHY_ROUTE' },
} as const;

const isFailed = ({ kind }: Ended): boolean => ENDS[kind].status === 'failed';

function outcomeOfEnd(end: Ended, n: number): CallOutcome {
  const replacedMs = end.replacedMs ?? 0;
  const startedAtMs = HOUR_STARTS_MS + end.startsMs;
  return {
    ...outcomeOf('acct_0', `call_${String(n).padStart(6, '0')}`, isFailed(end) ? null : 1n),
    ...ENDS[end.kind],
    model: end.model,
    provider: end.provider,
    failedRoutes:
      end.replacedMs === null
        ? []
        : [{ provider: 'c', model: 'upstream', error: 'upstream_error', afterMs: replacedMs }],
    isStream: end.isStream,
    startedAtMs,
    firstByteMs: isFailed(end) ? null : replacedMs + end.firstByteMs,
    endedAtMs: startedAtMs + replacedMs + end.firstByteMs + end.restMs,
    usage: isFailed(end) ? null : { ...noUsage, source: 'observed', outputTokens: end.outputTokens },
  };
}

const bucketOf = (ms: number): number => {
  const above = LIMITS_MS.findIndex((limit) => ms < limit);
  return above < 0 ? LIMITS_MS.length : above;
};

/** The expected sums of some ends, by hour, model and provider. */
function expectedOf(ends: readonly Ended[]): LatencySums[] {
  const groups = new Map<string, LatencySums>();
  const group = (end: Ended, provider: string) => {
    const hour = new Date(Math.floor(outcomeOfEnd(end, 0).endedAtMs / HOUR_MS) * HOUR_MS).toISOString();
    const names = [hour.replace('.000', ''), end.model, provider];
    const empty = () => new Array<number>(LIMITS_MS.length + 1).fill(0);
    const made = { attempts: 0, errors: 0, refused: 0, outputTokens: 0, generationMs: 0 };
    const found = groups.get(names.join()) ?? { group: names, ...made, durations: empty(), firstBytes: empty() };
    groups.set(names.join(), found);
    return found as { -readonly [Name in keyof LatencySums]: LatencySums[Name] } & {
      durations: number[];
      firstBytes: number[];
    };
  };
  for (const end of ends) {
    if (end.replacedMs !== null) {
      const replaced = group(end, 'c');
      replaced.attempts++;
      replaced.errors++;
    }
    if (end.kind === 'no route') continue;
    const sums = group(end, end.provider);
    sums.attempts++;
    if (end.kind === 'down' || end.kind === 'broken') sums.errors++;
    if (end.kind === 'rejected') sums.refused++;
    if (end.kind === 'succeeded') sums.durations[bucketOf(end.firstByteMs + end.restMs)]! += 1;
    if (!isFailed(end)) sums.firstBytes[bucketOf(end.firstByteMs)]! += 1;
    if (end.kind === 'succeeded' && end.isStream && end.outputTokens > 0 && end.restMs >= 100) {
      sums.outputTokens += end.outputTokens;
      sums.generationMs += end.restMs;
    }
  }
  return [...groups.values()].sort((a, b) => (a.group.join() < b.group.join() ? -1 : 1));
}

describe(`attempts by the hour`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let node: TestNode;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    node = createTestNode(database, { clock: { nowMs: () => NOW_MS } });
    await openAccount(database, 'acct_0', 1_000_000_000n);
  });
  after(async () => {
    await node.drain();
    await stored.remove();
  });

  async function sumAll(): Promise<void> {
    const rollups = createRollupStore(database.pool('housekeeping'));
    while ((await rollups.sumSlice(TIMEZONE)) === 'more');
  }
  const query = {
    groupBy: ['hour', 'model', 'provider'] as const,
    fromMs: HOUR_STARTS_MS,
    toMs: HOUR_STARTS_MS + 24 * HOUR_MS,
    model: null,
    provider: null,
    timezone: TIMEZONE,
  };

  it('equal those of the records, queued or imported, and add up over partitions', async () => {
    const ends: Ended[] = [];
    const latency = createLatencyStore(database);
    for (const more of fc.sample(fc.array(anyEnd, { minLength: 20, maxLength: 60 }), { numRuns: 3, seed: 34 })) {
      await Promise.all(more.map((end, i) => node.end(outcomeOfEnd(end, ends.length + i))));
      ends.push(...more);
      await sumAll();
      assert.deepEqual(await latency.sum(query, 1_000), expectedOf(ends));
    }
    await database.script(`update calls set is_queued = null; truncate usage_rollups, usage_totals, route_hours;
        update usage_backfill set last_call_id = '', is_done = false`);
    await sumAll();
    assert.deepEqual(await latency.sum(query, 1_000), expectedOf(ends));
    const joined = joinedLatency(createRoutes([latency, latency], { find: () => 0 }));
    assert.deepEqual(await joined.sum(query, 1_000), expectedOf([...ends, ...ends]));
    const all = expectedOf(ends).filter(({ group }) => group[1] === 'large');
    const [one] = await latency.sum({ ...query, groupBy: [], model: 'large' }, 1_000);
    assert.equal(
      one!.attempts,
      all.reduce((sum, { attempts }) => sum + attempts, 0),
    );
  });

  it('count attempts of records without durations, and no durations', async () => {
    const afterwards = { ...query, fromMs: query.toMs, toMs: query.toMs + HOUR_MS };
    const outcome = outcomeOfEnd(
      {
        model: 'old',
        provider: 'a',
        kind: 'succeeded',
        isStream: true,
        startsMs: 24 * HOUR_MS,
        replacedMs: null,
        firstByteMs: 10,
        restMs: 10,
        outputTokens: 0,
      },
      900_000,
    );
    await node.end({ ...outcome, failedRoutes: [{ provider: 'c', model: 'upstream', error: 'upstream_error' }] });
    await sumAll();
    const found = await createLatencyStore(database).sum({ ...afterwards, groupBy: ['provider'] }, 10);
    assert.deepEqual(
      found.map(({ group, attempts, errors, durations }) => [group[0], attempts, errors, Math.max(...durations)]),
      [
        ['a', 1, 0, 0],
        ['c', 1, 1, 0],
      ],
    );
  });

  it('are deleted after their retention', async () => {
    const latency = createLatencyStore(database);
    await latency.deleteBefore(query.toMs, new AbortController().signal);
    assert.deepEqual(await latency.sum(query, 10), []);
    assert.equal((await latency.sum({ ...query, groupBy: [], toMs: query.toMs + HOUR_MS }, 10)).length, 1);
  });
});
