import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import type { UnitPrices } from '../../src/accounting/pricing/charge.ts';
import type { Database } from '../../src/db/database.ts';
import { endCalls, NOW_MS, openAccount, outcomeOf, PRICES } from '../support/accounting-builders.ts';
import { createTestSettlementStore, type TestSettlementStore } from '../support/call-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';

/** The prices that applied to a call, as recorded. */
describe(`price lists on record`, () => {
  let stored: TestDatabase;
  let observed: ObservedDatabase;
  let settlement: TestSettlementStore;

  before(async () => {
    stored = await createTestDatabase();
    observed = observeDatabase(stored.database);
    settlement = createTestSettlementStore(observed.database);
    await openAccount(stored.database, 'acct_prices', 1_000n);
  });
  after(() => stored.remove());

  const end = (store: TestSettlementStore, callId: string, prices: UnitPrices) =>
    endCalls(store, [{ ...outcomeOf('acct_prices', callId, 1n), price: { rule: 'base', prices } }]);
  const pricesOf = async (callId: string) => (await createCallsStore(stored.database).find(callId))!.prices;

  it('are stored once for all calls and nodes, whichever object they are, and read with every record', async () => {
    const before = await countLists(stored.database);
    const tables = { low: { '1024x1024': 5n, default: 6n }, default: 7n };
    const prices: UnitPrices = { ...PRICES, perCallNano: 3n, perImageNano: tables as never };
    const other: UnitPrices = { ...PRICES, perCallNano: 4n };
    await end(settlement, 'call_first', prices);
    await end(settlement, 'call_again', prices);
    await end(settlement, 'call_other', other);
    const inAnotherOrder = Object.fromEntries(Object.entries(prices).reverse()) as unknown as UnitPrices;
    await end(createTestSettlementStore(stored.database), 'call_elsewhere', inAnotherOrder);
    assert.equal((await countLists(stored.database)) - before, 2);
    const recorded = await pricesOf('call_first');
    assert.equal(recorded?.perCallNano, '3');
    assert.deepEqual(recorded?.perImageNano, { low: { '1024x1024': '5', default: '6' }, default: '7' });
    assert.deepEqual(await pricesOf('call_again'), recorded);
    assert.deepEqual(await pricesOf('call_elsewhere'), recorded);
    assert.equal((await pricesOf('call_other'))?.perCallNano, '4');
  });

  it('are written again if the transaction that wrote them failed', async () => {
    const prices: UnitPrices = { ...PRICES, perCallNano: 5n };
    const ends = observed.statement('settlement.end');
    ends.fail('before');
    await assert.rejects(end(settlement, 'call_lost', prices), { code: 'ECONNRESET' });
    ends.recover();
    await end(settlement, 'call_lost', prices);
    assert.equal((await pricesOf('call_lost'))?.perCallNano, '5');
  });

  it('that are in the record itself, because it is older than price lists, are read', async () => {
    await end(settlement, 'call_old', { ...PRICES, perCallNano: 6n });
    await stored.database.script(`update calls c set prices = l.prices, price_list = null
from price_lists l where l.id = c.price_list and c.id = 'call_old'`);
    assert.equal((await pricesOf('call_old'))?.perCallNano, '6');
    const filter = { accountId: 'acct_prices', keyId: null, model: null, status: null, from: null, to: null };
    const { items: listed } = await createCallsStore(stored.database).list(filter, null, 10);
    assert.equal(listed.find(({ id }) => id === 'call_old')?.prices?.perCallNano, '6');
    assert.ok(listed.every(({ prices, startedAt }) => prices !== null && startedAt.getTime() === NOW_MS));
  });
});

async function countLists(database: Database): Promise<number> {
  const text = 'select count(*)::int as n from price_lists';
  const [row] = await database.query<{ n: number }>({ name: 'test.count-price-lists', text });
  return row!.n;
}
