import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import { createUsageStore } from '../../src/accounting/usage/usage-store.ts';
import type { Database } from '../../src/db/database.ts';
import { noUsage } from '../../src/protocols/metering/usage-facts.ts';
import { createTestNode, openAccount, outcomeOf, type TestNode } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';

/** Sums of usage use the days of the gateway, also in time zones that the database interprets differently. */

/** A summer night in Europe, a morning in Asia. */
const AT_MS = Date.UTC(2026, 6, 14, 22, 30);
const EVERYTHING = { accountId: null, keyId: null, provider: null, status: null, context: null, from: null, to: null };
/** Offsets have the opposite sign in POSIX; to the database, CET is an abbreviation without summer time. */
const TIMEZONES = ['Asia/Shanghai', 'Europe/Berlin', '+08:00', '-0530', '+14', 'CET', 'EST', 'PRC', 'UTC'];

describe(`days of usage`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let node: TestNode;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    node = createTestNode(database, { clock: { nowMs: () => AT_MS } });
    await openAccount(database, 'acct_1', 1_000_000_000n);
  });
  after(async () => {
    await node.drain();
    await stored.remove();
  });

  for (const [n, timezone] of TIMEZONES.entries()) {
    it(`are those of ${timezone}, for summed and unresolved calls`, async () => {
      const model = `model-${n}`;
      const usage = { ...noUsage, source: 'observed' as const };
      await node.end({ ...outcomeOf('acct_1', `call_${n}`, 7n), model, usage, startedAtMs: AT_MS, endedAtMs: AT_MS });
      assert.equal(await createRollupStore(database).sumSlice(timezone), 'more');
      const query = { groupBy: ['day', 'status'] as const, filter: { ...EVERYTHING, model }, timezone };
      const days = async () =>
        (await createUsageStore(placedInOne(inOneDatabase(database))).sum(query, { kind: 'all' }, null, 9)).map(
          ({ group }) => group.join(' '),
        );
      const day = createLocalTime(timezone).day(AT_MS);
      assert.deepEqual(await days(), [`${day} succeeded`]);
      await database.script(`update calls set status = 'unresolved', charge_nano = null where model = '${model}'`);
      assert.deepEqual(await days(), [`${day} succeeded`, `${day} unresolved`]);
    });
  }
});
