import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertError, families, requestOf } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { createTestTimers, type TestTimers } from '../support/timers.ts';
import { until } from '../support/until.ts';
import {
  afterwards,
  countCharges,
  countReservations,
  journalEmptied,
  journalEntries,
  success,
  temporaryDataDir,
} from './outage.ts';

/** A row of `balances` that another transaction has locked, such as an operator's. */

const [chat] = families;

describe('an account whose row another transaction has locked', { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let operator: Database;
  let timers: TestTimers;
  let gateway: TestGateway;
  let unlock: () => Promise<void> = async () => undefined;
  const dataDir = temporaryDataDir();
  before(async () => {
    stored = await createTestDatabase(partitionsOfFile);
    operator = stored.openAnother();
    timers = createTestTimers();
    gateway = await startGateway({
      stored,
      dataDir,
      timing: { timers, questionMs: 2_000, patienceMs: 50, retryDelayMs: 1 },
    });
    gateway.provider.respond = success(chat!, false);
  });
  afterEach(async () => {
    await unlock();
    gateway.provider.respond = success(chat!, false);
    await journalEmptied(dataDir);
  });
  after(async () => {
    await gateway?.stop();
    await operator?.close();
    await stored?.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const send = (account: TestAccount): Promise<ClientResponse> =>
    call(gateway.url + chat!.path, account.key, requestOf(false));

  /** Two accounts of one partition: accounts of other partitions would not wait anyway. */
  async function twoBesideEachOther(): Promise<[TestAccount, TestAccount]> {
    const byPlace = new Map<number, TestAccount>();
    for (;;) {
      const account = await gateway.createAccount();
      const [placed] = await stored.database.query<{ place: number }>(
        { name: 'test.place', text: 'select partition_no as place from accounts where id = $1' },
        [account.id],
      );
      const beside = byPlace.get(placed!.place);
      if (beside !== undefined) return [beside, account];
      byPlace.set(placed!.place, account);
    }
  }

  /** Locks the row of an account until `unlock`. */
  async function lock({ id }: TestAccount): Promise<void> {
    const locked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const done = operator.transaction(async (transaction) => {
      await transaction.query(
        { name: 'test.lock-balance', text: 'select from balances where account_id = $1::text for update' },
        [id],
      );
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    unlock = async () => {
      released.resolve();
      await done;
      unlock = async () => undefined;
    };
  }

  it('calls of other accounts are served meanwhile; its own wait, and are served once the row is free', async () => {
    const [held, other] = await twoBesideEachOther();
    for (const account of [held, other]) assert.equal((await send(account)).status, 200);
    await other.endedCall();
    await lock(held);
    const own = [send(held), send(held)];
    const served = await Promise.all([send(other), send(other)]);
    assert.deepEqual(
      served.map(({ status }) => status),
      [200, 200],
    );
    assert.equal((await send(other)).status, 200, 'also while it waits apart');
    await other.endedCall(4);
    await locksAwaited(operator, 1);
    await unlock();
    for (const response of await Promise.all(own)) assert.equal(response.status, 200);
    await journalEmptied(dataDir);
    await assertSpent(held, 3n * chat!.cost);
    await assertSpent(other, 4n * chat!.cost);
  });

  it('its calls fail after two seconds and may be retried, with nothing reserved or charged; other accounts are not affected', async () => {
    const [held, other] = await twoBesideEachOther();
    for (const account of [held, other]) assert.equal((await send(account)).status, 200);
    await held.endedCall();
    const { length } = gateway.provider.requests;
    await lock(held);
    const own = send(held);
    await locksAwaited(operator, 1);
    assert.equal((await send(other)).status, 200);
    assert.equal(gateway.provider.requests.length, length + 1);
    timers.advance(2_000);
    const response = await own;
    assertError(response, chat!, { status: 500, code: 'internal_error', retry: 'true' });
    assert.equal(response.headers['retry-after'], '2');
    assert.equal((await send(other)).status, 200, 'the database is not taken for down');
    await unlock();
    assert.equal((await send(held)).status, 200);
    await until(async () => (await countReservations(stored, held.id)) === 0);
    await journalEmptied(dataDir);
    await assertSpent(held, 2n * chat!.cost);
  });

  it('the end of its call waits in the journal, and is charged once; ends of other calls reach the database meanwhile', async () => {
    const [held, other] = await twoBesideEachOther();
    for (const account of [held, other]) assert.equal((await send(account)).status, 200);
    for (const account of [held, other]) await account.endedCall();
    gateway.provider.respond = afterwards(() => lock(held), success(chat!, false));
    const response = await send(held);
    assert.equal(response.status, 200, response.text);
    gateway.provider.respond = success(chat!, false);
    for (let i = 0; i < 3; i++) assert.equal((await send(other)).status, 200);
    await other.endedCall(4);
    assert.equal(await countCharges(stored, held.id), 1);
    assert.ok(journalEntries(dataDir).some(({ outcome }) => outcome.accountId === held.id));
    await unlock();
    timers.advance(2_000);
    await journalEmptied(dataDir);
    assert.equal(await countCharges(stored, held.id), 2);
    await assertSpent(held, 2n * chat!.cost);
    await assertSpent(other, 4n * chat!.cost);
  });

  it('reservations of others are released meanwhile, if the responses to their admissions were lost', async () => {
    const [held, other] = await twoBesideEachOther();
    for (const account of [held, other]) assert.equal((await send(account)).status, 200);
    for (const account of [held, other]) await account.endedCall();
    const admissions = gateway.observed.statement('reservations.admit');
    const releases = gateway.observed.statement('reservations.release');
    releases.hold();
    admissions.fail('after');
    for (const account of [held, other]) assert.equal((await send(account)).status, 500);
    admissions.recover();
    assert.equal(await countReservations(stored, held.id), 1);
    assert.equal(await countReservations(stored, other.id), 1);
    await lock(held);
    releases.release();
    await until(async () => (await countReservations(stored, other.id)) === 0);
    assert.equal(await countReservations(stored, held.id), 1);
    await unlock();
    await until(async () => (await countReservations(stored, held.id)) === 0);
    await assertSpent(held, chat!.cost);
  });
});
