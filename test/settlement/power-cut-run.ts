import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import type { Database } from '../../src/db/database.ts';
import { plansText } from '../plans/coding.ts';
import { adminClient } from '../support/admin-client.ts';
import { copyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { ADMIN_TOKEN, startGateway } from '../support/gateway.ts';
import { type CutOptions, PowerCutDisk } from '../support/power-cut-disk.ts';
import { recordedDisk } from '../support/recorded-disk.ts';
import { until } from '../support/until.ts';
import { leftHeld } from './crash-books.ts';
import { CRASH_PLAN, CrashLoad, CrashProvider, costOf, createPurses } from './crash-load.ts';
import { createOutage } from './outage.ts';

/**
 * One gateway under load, whose database is down at times. Every change and sync of its journal is recorded, so that a power cut can be
 * simulated afterwards at any moment of these outages. The database is a server that keeps what it has acknowledged; there is a copy of it
 * for each outage. Time is counted in changes of the disk.
 */

const PLANS = plansText({ coder: CRASH_PLAN });

/** Attempts between the beginning and the end of an outage. */
const PACE = 25;

export interface PowerCutRun {
  /** The periods in which only the journal was available. */
  readonly outages: readonly OutageSpan[];
  readonly attempts: number;
  /** Cuts the power at a moment of an outage, starts a gateway on what remains, and asserts what has to be there. */
  readonly cut: (outage: OutageSpan, options: CutOptions & { readonly changes: number }) => Promise<Survivors>;
  readonly clear: () => Promise<void>;
}

export interface OutageSpan {
  readonly from: number;
  readonly to: number;
  /** What the database has meanwhile. */
  readonly stored: TestDatabase;
}

/** What was found, by what clients and the provider knew before the cut. */
export interface Survivors {
  readonly successes: number;
  readonly admissions: number;
  /** Those of the admissions whose outcome was lost with the machine. */
  readonly unresolved: number;
}

/** @param rounds how often the database is down three times. */
export async function runUnderLoad({ seed, rounds }: { seed: number; rounds: number }): Promise<PowerCutRun> {
  const dataDir = makeFastDirectory('faregate-power-');
  const stored = await createTestDatabase();
  const disk = new PowerCutDisk(dataDir);
  const { database } = stored;
  const outage = createOutage(database);
  const gateway = await startGateway({
    stored,
    database: outage.database,
    dataDir,
    disk: recordedDisk(disk),
    plans: PLANS,
    timing: { retryDelayMs: 1 },
  });
  /** Calls that have reached the provider, so they were admitted, and since when. */
  const admissions: { readonly number: number; readonly at: number }[] = [];
  const provider = new CrashProvider(seed);
  gateway.provider.respond = (request, response) => {
    admissions.push({ number: JSON.parse(request.body.toString()).number, at: disk.changes });
    return provider.respond(request, response);
  };
  const purses = await createPurses(adminClient(gateway.url, ADMIN_TOKEN));
  const load = new CrashLoad(purses, seed, () => disk.changes);
  const outages: OutageSpan[] = [];
  let isOver = false;
  const calling = load.run([gateway.url], () => isOver);
  for (let i = 0; i < 3 * rounds; i++) {
    await load.ended(PACE);
    outage.begin();
    const from = disk.changes;
    await load.ended(PACE);
    const to = disk.changes;
    outages.push({ from, to, stored: await copyDatabase(stored) });
    disk.tick();
    outage.end();
  }
  isOver = true;
  await calling;
  await load.finish([gateway.url]);
  // Calls whose clients have left end later.
  await until(async () => (await leftHeld(database)).reservations === 0);
  await gateway.stop();

  const callIds = new Map(
    load.attempts.flatMap(({ number, callId }) => (callId === undefined ? [] : [[number, callId]])),
  );
  const isKeyed = new Set(
    load.attempts.filter(({ callKind }) => callKind.purse === 'idempotency key').map(({ number }) => number),
  );

  async function assertSurvived(found: Database, changes: number): Promise<Survivors> {
    const records = new Map(
      (await createCallsStore(found).list(ALL, null, 1_000_000)).items.map((each) => [each.id, each]),
    );
    const known = load.attempts.filter(({ endedAt }) => endedAt <= changes);
    const successes = known.filter(({ belief }) => belief === 'success');
    for (const { callId, number, callKind } of successes) {
      const record = records.get(callId!);
      const said = `call ${number} (${callKind.name}) was acknowledged`;
      assert.ok(record !== undefined, `${said}, and there is no record of it`);
      const charge = callKind.purse === 'plan' ? null : costOf(number);
      assert.deepEqual([record.status, record.chargeNano, record.errorCode], ['succeeded', charge, null], said);
    }
    for (const { callId, number } of known.filter(({ belief }) => belief === 'free')) {
      assert.equal(records.get(callId ?? '')?.chargeNano ?? null, null, `call ${number} was free of charge`);
    }
    // A call with a key may be run by a repeat of it, which has another id.
    const admitted = admissions.filter(
      ({ number, at }) => at <= changes && !isKeyed.has(number) && callIds.has(number),
    );
    for (const { number } of admitted) {
      assert.ok(records.has(callIds.get(number)!), `call ${number} was admitted, and there is no record of it`);
    }
    const charged = [...records.values()].filter(({ chargeNano }) => chargeNano !== null);
    const responses = charged.map(({ requestId }) => requestId);
    assert.equal(new Set(responses).size, responses.length, 'a call was charged twice');
    return {
      successes: successes.length,
      admissions: admitted.length,
      unresolved: [...records.values()].filter(({ status }) => status === 'unresolved').length,
    };
  }

  return {
    outages,
    attempts: load.attempts.length,
    async cut(span, options) {
      const directory = makeFastDirectory('faregate-power-');
      const left = join(directory, 'data');
      const survived = await copyDatabase(span.stored);
      try {
        disk.cut(left, options);
        const next = await startGateway({ stored: survived, dataDir: left, plans: PLANS, isOnlyNode: true });
        try {
          return await assertSurvived(survived.database, options.changes);
        } finally {
          // Fails if the audit finds a broken invariant, or something is still reserved.
          await next.stop();
        }
      } finally {
        await survived.remove();
        rmSync(directory, { recursive: true, force: true });
      }
    },
    async clear() {
      await Promise.all(outages.map((each) => each.stored.remove()));
      await stored.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const ALL = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };
