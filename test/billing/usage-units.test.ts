import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { noUsage, type UsageFacts } from '../../src/protocols/metering/usage-facts.ts';
import { byUnit, otherUnits, unitNames } from '../../src/protocols/metering/usage-units.ts';
import { createTestNode, endCalls, openAccount, outcomeOf, type TestNode } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** The counts of a record, in columns and in JSON. */
describe(`usage units on record`, () => {
  let stored: TestDatabase;
  let settlement: TestNode['stores']['settlement'];

  before(async () => {
    stored = await createTestDatabase();
    ({ settlement } = createTestNode(stored.database).stores);
    await openAccount(stored.database, 'acct_units', 1_000n);
  });
  after(() => stored.remove());

  async function recorded(callId: string, usage: UsageFacts | null) {
    await endCalls(settlement, [{ ...outcomeOf('acct_units', callId, 1n), usage }]);
    const { units, images } = (await createCallsStore(stored.database).find(callId))!;
    const text = 'select other_units from calls where id = $1';
    const [row] = await stored.database.query<{ other_units: unknown }>({ name: 'test.units', text }, [callId]);
    return { units, images, otherUnits: row!.other_units };
  }

  it('are read as they were stored, whether they have a column or not', async () => {
    const counts = byUnit((name) => 1_000 + unitNames.indexOf(name));
    const image = { quality: null, size: null, count: 3 };
    const record = await recorded('call_all', { ...counts, images: [image, image], source: 'observed' });
    assert.deepEqual([record.units, record.images], [counts, 6]);
    assert.deepEqual(record.otherUnits, Object.fromEntries(otherUnits.map((name) => [name, counts[name]])));
  });

  it('take no space if a call has no unit without a column', async () => {
    const usage: UsageFacts = { ...noUsage, inputTokens: 7, source: 'observed' };
    const record = await recorded('call_usual', usage);
    assert.deepEqual([record.units.inputTokens, record.otherUnits], [7, null]);
    assert.deepEqual(await recorded('call_none', null), {
      units: byUnit(() => 0),
      images: 0,
      otherUnits: null,
    });
  });

  it('are zero if the end was journaled by a version that did not know them', async () => {
    const { serverToolUses: _, ...known } = noUsage;
    const usage = { ...known, compactions: 2, source: 'observed' } as UsageFacts;
    const record = await recorded('call_journaled', usage);
    assert.deepEqual(record.otherUnits, { compactions: 2 });
    assert.equal(record.units.serverToolUses, 0);
  });
});
