import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { grant, plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { families, requestOf } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { byScope, partitionsOfFile } from '../support/scope.ts';
import { behind } from '../support/spread-database.ts';
import { until } from '../support/until.ts';
import { countCharges, journalEmptied, success, successText, temporaryDataDir } from './outage.ts';

/**
 * A database in which every statement may fail, before or after it is carried out: what the clients were sent has to agree with the
 * database once it works again.
 */

const CALLS = 200;
/** Calls are made until so many statements have failed: how many there are depends on how calls are batched. */
const FAILED_MIN = 20;
const AT_ONCE = 12;
const ACCOUNTS = 3;
const FAILS_OF_HUNDRED = 15;

/** A reproducible source of random numbers. */
function createRandomSource(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function createFlaky(real: Database, randomSource: (below: number) => number) {
  const state = { isFlaky: false, failed: 0 };
  const connectionLost = (): Error => {
    state.failed++;
    return Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
  };
  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    const drawn = state.isFlaky ? randomSource(100) : 100;
    if (drawn < FAILS_OF_HUNDRED / 2) throw connectionLost();
    const result = await work();
    if (drawn < FAILS_OF_HUNDRED) throw connectionLost();
    return result;
  }
  const database = behind(real, (handle) => ({
    ...handle,
    query: (statement, parameters) => run(() => handle.query(statement, parameters)),
    transaction: (work) => run(() => handle.transaction(work)),
    readThenWrite: (transaction) => run(() => handle.readThenWrite(transaction)),
  }));
  return { database, state };
}

/** What every client of an account was sent. */
interface Received {
  paid: number;
  coding: number;
  /** Calls of the limited key. */
  limited: number;
}

interface Tenant extends TestAccount {
  readonly limitedKey: string;
  readonly limitedKeyId: string;
  readonly received: Received;
}

async function createTenant(gateway: TestGateway): Promise<Tenant> {
  const account = await gateway.createAccount();
  await grant(gateway, account.id, 'plan');
  const { body } = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'limited', dailyCalls: 10_000 });
  return { ...account, limitedKey: body.key, limitedKeyId: body.id, received: { paid: 0, coding: 0, limited: 0 } };
}

for (const seed of byScope({ full: [1, 3], quick: [3] })) {
  it(`what clients were sent is what the database says in the end, seed ${seed}`, {
    timeout: 300_000,
  }, async () => {
    const stored = await createTestDatabase(partitionsOfFile);
    const randomSource = createRandomSource(seed);
    const flaky = createFlaky(stored.database, randomSource);
    const dataDir = temporaryDataDir();
    const gateway = await startGateway({
      stored,
      database: flaky.database,
      dataDir,
      plans: plansText({ plan: {} }),
      timing: { retryDelayMs: 1, ...(seed === 3 ? { patienceMs: 1 } : {}) },
    });
    try {
      const tenants = await Promise.all(Array.from({ length: ACCOUNTS }, () => createTenant(gateway)));
      gateway.provider.respond = async (request, response) => {
        const family = families[request.path.endsWith('messages') ? 1 : 0]!;
        const isRefused = randomSource(10) === 0;
        const respond = isRefused
          ? json(429, { error: { message: 'No.', type: 'rate_limit_error' } })
          : success(family, JSON.parse(request.body.toString()).stream === true);
        await respond(request, response);
      };

      let succeeded = 0;
      async function makeCall(i: number): Promise<void> {
        const { received, ...tenant } = tenants[randomSource(ACCOUNTS)]!;
        const family = families[randomSource(2)]!;
        const isStream = randomSource(2) === 0;
        const isCoding = randomSource(3) === 0;
        const isLimited = randomSource(3) === 0;
        const isKeyed = !isStream && randomSource(3) === 0;
        const general = family.path;
        const path = !isCoding
          ? general
          : general.replace('/v1/', family.name === 'chat' ? '/v1/coding/' : '/v1/coding/altproto/');
        const key = isLimited ? tenant.limitedKey : tenant.key;
        const headers: Record<string, string> = isKeyed ? { 'idempotency-key': `${seed}-${i}` } : {};
        const send = () => call(gateway.url + path, key, requestOf(isStream), { headers });
        let response = await send();
        // Like an SDK; a client that got a success does not repeat the call.
        for (let tries = 0; isKeyed && response.headers['x-should-retry'] === 'true' && tries < 3; tries++) {
          response = await send();
        }
        if (response.status !== 200) {
          assert.ok([429, 500].includes(response.status), response.text);
          return;
        }
        assert.equal(response.text, successText(family, isStream));
        succeeded++;
        if (isCoding) received.coding++;
        else received.paid++;
        if (isLimited) received.limited++;
      }

      flaky.state.isFlaky = true;
      let next = 0;
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (next < CALLS || flaky.state.failed <= FAILED_MIN) await makeCall(next++);
        }),
      );
      flaky.state.isFlaky = false;
      assert.ok(flaky.state.failed > FAILED_MIN && succeeded > 50, JSON.stringify({ ...flaky.state, succeeded }));

      await journalEmptied(dataDir);
      await until(async () => (await countReserved(stored.database)) === 0);
      for (const { received, ...account } of tenants) {
        assert.equal(await countCharges(stored, account.id), received.paid);
        await assertSpent(account, BigInt(received.paid) * families[0]!.cost);
        const use = await useOf(stored.database, account.id, account.limitedKeyId);
        assert.deepEqual(use, { coding: received.coding, limited: received.limited });
      }
      // `stop` runs the audit.
    } finally {
      flaky.state.isFlaky = false;
      try {
        await gateway.stop();
      } finally {
        await stored.remove();
        rmSync(dataDir, { recursive: true, force: true });
      }
    }
  });
}

/** Everything that any call has reserved. */
async function countReserved(database: Database): Promise<number> {
  const [row] = await database.query<{ n: number }>({
    name: 'test.count-everything-reserved',
    text: `select count(*)::int as n from reservations`,
  });
  return row!.n;
}

/** Coding calls that were counted, and calls of the limited key. */
async function useOf(database: Database, accountId: string, keyId: string) {
  const [row] = await database.query<{ coding: number; limited: number }>(
    {
      name: 'test.use-of-account',
      text: `select
        (select count(*) from plan_slots where account_id = $1)::int as coding,
        (select calls from key_limits where account_id = $1 and key_id = $2)::int as limited`,
    },
    [accountId, keyId],
  );
  return { coding: row!.coding, limited: row!.limited };
}
