import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { checkDemoMark } from '../../src/db/demo-mark.ts';
import { formatYuan } from '../../src/lib/yuan.ts';
import { exportOf, RELEASES, type RestoredRelease, restoreRelease } from '../fixtures/releases/restore.ts';
import {
  ACCOUNTS,
  type AccountName,
  CALLS,
  callsIn,
  continuedModel,
  countsInLimits,
  expectedChargeNano,
  expectedFacts,
  expectedStatus,
  type FixtureCall,
  PERSON,
  PLANS,
  requestOf,
  responseIdOf,
  responseOf,
  UNDELIVERED,
} from '../fixtures/releases/scenario.ts';
import { catalogOf } from '../support/catalog.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ask as askAccountApi } from '../support/people.ts';
import { chatResponse, json, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/**
 * This version takes over what each release left when it was killed (`test/fixtures/releases/README.md`): calls in the journal are charged
 * once, calls without a known end are unresolved and free, limits and sessions continue, nothing stays reserved, and notices are delivered.
 * Uses only public interfaces, so that it does not depend on tables.
 */

const OPENING_NANO = 100_000_000_000n;
/** A call with a charge that differs from all calls of the fixture. */
const NEW_CALL = { model: 'test-chat', messages: [{ role: 'user', content: 'new' }] };

interface CallRecord {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly context: string;
  readonly operation: string;
  readonly isStream: boolean;
  readonly route: { readonly provider: string };
  readonly status: string;
  readonly chargeYuan: string | null;
  readonly heldYuan: string | null;
}

for (const release of RELEASES)
  describe(`what release ${release} left`, { timeout: 300_000 }, () => {
    let fixture: RestoredRelease;
    let clock: TestClock;
    let second: ScriptedProvider;
    let gateway: TestGateway;

    before(async () => {
      fixture = await restoreRelease(release);
      // So that daily counters belong to this day, and claims of the killed process have expired.
      clock = createTestClock(new Date(Date.parse(fixture.made.madeAt) + 120_000).toISOString());
      second = await startProvider();
      gateway = await start();
      await untilRecovered();
    });
    after(async () => {
      await gateway?.stop();
      await second?.close();
      await fixture?.remove();
    });

    async function start(): Promise<TestGateway> {
      return startGateway({
        stored: await fixture.open(),
        dataDir: fixture.dataDir,
        clock,
        noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }',
        providers: `  second: { protocol: chat, baseUrl: ${second.url}/v1, apiKey: provider-secret-key-3 }`,
        models: continuedModel('chatty'),
        plans: PLANS,
      });
    }

    async function allRecords(): Promise<CallRecord[]> {
      const { status, body } = await gateway.admin('GET', '/calls?limit=500');
      assert.equal(status, 200);
      return body.data;
    }

    /** The gateway waits until the old nodes are dead. */
    async function untilRecovered(): Promise<void> {
      const dead = callsIn('inFlight').map(({ name }) => fixture.made.calls[name]);
      for (;;) {
        const records = await allRecords();
        const plans = await Promise.all(codingNames.map(planOf));
        const areReleased = plans.every(({ concurrency }) => concurrency.inFlight === 0);
        if (areReleased && dead.every((id) => records.some((record) => record.id === id))) return;
        await pauseBetweenLooks();
      }
    }

    const accountOf = (name: AccountName) => fixture.made.accounts[name];
    const callsOf = (name: AccountName) => CALLS.filter(({ account }) => account === name);
    const chargesOf = (calls: readonly FixtureCall[]): bigint =>
      calls.reduce((sum, each) => sum + (expectedChargeNano(each) ?? 0n), 0n);
    const accountNames = Object.keys(ACCOUNTS) as AccountName[];
    const codingNames = accountNames.filter((name) => ACCOUNTS[name].isCoding);

    async function planOf(name: AccountName) {
      const headers = { authorization: `Bearer ${accountOf(name).key}` };
      const response = await fetch(`${gateway.url}/v1/coding/user/balance`, { headers });
      assert.equal(response.status, 200);
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
      return (await response.json()) as any;
    }

    async function ask(name: AccountName, path: string, body: object, headers = {}): Promise<ClientResponse> {
      return call(gateway.url + path, accountOf(name).key, body, { headers });
    }

    /** Everything visible of the fixture's accounts. */
    async function everything() {
      const accounts = accountNames.map(async (name) => {
        const { id } = accountOf(name);
        const [account, ledger, keys, subscriptions] = await Promise.all(
          ['', '/ledger', '/keys', '/subscriptions'].map((part) => gateway.admin('GET', `/accounts/${id}${part}`)),
        );
        // A key's last use is written in the background, also for requests of this test.
        for (const key of keys!.body.data) delete key.lastUsedAt;
        return { account, ledger, keys, subscriptions, plan: await planOf(name) };
      });
      return { accounts: await Promise.all(accounts), calls: await allRecords() };
    }

    it('has one record of every call, with the known facts and its charge', async () => {
      const { calls, heldNano } = fixture.made;
      const expected = CALLS.map((each) => {
        const { id: accountId, keyId } = accountOf(each.account);
        return {
          name: each.name,
          accountId,
          keyId,
          ...expectedFacts(each),
          status: expectedStatus(each),
          chargeYuan: yuanOf(expectedChargeNano(each)),
          heldYuan: yuanOf(heldNano[each.name]),
        };
      });
      const names = new Map(Object.entries(calls).map(([name, id]) => [id, name]));
      const found = (await allRecords()).map((record) => {
        const { id, accountId, keyId, context, operation, isStream, route, status, chargeYuan, heldYuan } = record;
        const { provider } = route;
        const name = names.get(id) ?? id;
        return { name, accountId, keyId, context, operation, isStream, provider, status, chargeYuan, heldYuan };
      });
      assert.deepEqual(found.toSorted(byName), expected.toSorted(byName));
    });

    for (const name of accountNames) {
      it(`${name}: the ledger contains exactly the charges of its calls, and nothing is reserved`, async () => {
        const { id } = accountOf(name);
        const { body: ledger } = await gateway.admin('GET', `/accounts/${id}/ledger?limit=500`);
        const entries = ledger.data.map(({ kind, callId, amountYuan }: { [member: string]: string | null }) => {
          return { kind, callId, amountYuan };
        });
        const charged = callsOf(name).filter((each) => expectedChargeNano(each) !== null);
        const charges = charged.map((each) => ({
          kind: 'charge',
          callId: fixture.made.calls[each.name]!,
          amountYuan: formatYuan(-expectedChargeNano(each)!),
        }));
        const expected = [{ kind: 'top_up', callId: null, amountYuan: '100' }, ...charges];
        assert.deepEqual(entries.toSorted(byCallId), expected.toSorted(byCallId));

        const { body: account } = await gateway.admin('GET', `/accounts/${id}`);
        const spentNano = chargesOf(callsOf(name));
        assert.deepEqual(
          [account.balanceYuan, account.heldYuan, account.spentTodayYuan, account.dailySpendCapYuan],
          [formatYuan(OPENING_NANO - spentNano), '0', formatYuan(spentNano), ACCOUNTS[name].dailySpendCapYuan],
        );
      });
    }

    for (const name of codingNames) {
      it(`${name}: the plan counts the calls that succeeded, and none in flight`, async () => {
        const counted = callsOf(name).filter(countsInLimits);
        const { fiveHour, weekly, concurrency, pkg } = await planOf(name);
        const tokens = counted.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
        assert.deepEqual(
          { fiveHour: fiveHour.used, weekly: weekly.used, inFlight: concurrency.inFlight, tokens: pkg.usedTokens },
          { fiveHour: counted.length, weekly: counted.length, inFlight: 0, tokens },
        );
      });
    }

    it('passes the audit', async () => {
      const { body } = await gateway.admin('POST', '/audit');
      assert.equal(body.isSound, true, JSON.stringify(body.invariants, null, 1));
    });

    it('changes nothing when started again, and the journal is empty', async () => {
      const first = await everything();
      await gateway.stop();
      assert.deepEqual(await journalLines(fixture.dataDir), []);
      gateway = await start();
      assert.deepEqual(await everything(), first);
    });

    for (const state of ['settled', 'inJournal'] as const) {
      it(`a repeat of a keyed call that was ${state} gets its response, without a second charge`, async () => {
        const [keyed] = callsIn(state).filter(({ idempotencyKey }) => idempotencyKey !== undefined);
        const { path, body } = requestOf(keyed!);
        const headers = { 'idempotency-key': keyed!.idempotencyKey! };
        const response = await ask('repeater', path, body, headers);
        assert.deepEqual([response.status, response.json.usage.prompt_tokens], [200, keyed!.inputTokens]);
        assert.deepEqual(
          [response.headers['x-faregate-repeated'], response.headers['x-faregate-call-id']],
          ['true', fixture.made.calls[keyed!.name]],
        );
        assert.equal(gateway.provider.requests.length, 0);
      });
    }

    it('a repeat of a keyed call that was in flight runs, and is charged once', async () => {
      const [keyed] = callsIn('inFlight').filter(({ idempotencyKey }) => idempotencyKey !== undefined);
      const { path, body } = requestOf(keyed!);
      const headers = { 'idempotency-key': keyed!.idempotencyKey! };
      const response = await ask('repeater', path, body, headers);
      assert.deepEqual([response.status, response.headers['x-faregate-repeated']], [200, undefined]);
      const again = await ask('repeater', path, body, headers);
      assert.equal(again.headers['x-faregate-call-id'], response.headers['x-faregate-call-id']);
      assert.equal(gateway.provider.requests.length, 1);
    });

    for (const state of ['settled', 'inJournal'] as const) {
      it(`a call that continues a response that was ${state} goes to the provider that made it`, async () => {
        const [continued] = callsIn(state).filter(({ kind }) => kind === 'responses');
        second.respond = json(200, responseOf(continued!, 'continued'));
        const asked = second.requests.length;
        const body = { model: 'test-continued', input: 'more', previous_response_id: responseIdOf(continued!) };
        assert.equal((await ask('continuer', '/v1/responses', body)).status, 200);
        assert.equal(second.requests.length, asked + 1);
      });
    }

    it('a limited key has the usage of its calls, and none in flight', async () => {
      const { keyId } = accountOf('limited');
      const counted = callsOf('limited').filter(countsInLimits);
      // A late charge counts too, although its call has freed its slot.
      const spentNano = chargesOf(callsOf('limited'));
      const isRefused = async (limits: object, code: string | undefined): Promise<void> => {
        const open = { dailyCalls: null, dailySpendCapYuan: null, concurrency: null };
        const { status } = await gateway.admin('PATCH', `/keys/${keyId}`, { ...open, ...limits });
        assert.equal(status, 200);
        const response = await ask('limited', '/v1/chat/completions', NEW_CALL);
        assert.equal(response.headers['x-error-code'], code, response.text);
      };
      gateway.provider.respond = json(400, { error: { message: 'free of charge' } });
      await isRefused({ dailyCalls: counted.length }, 'key_daily_calls_limit_exceeded');
      await isRefused({ dailySpendCapYuan: formatYuan(spentNano) }, 'key_daily_spend_limit_exceeded');
      gateway.provider.respond = chatResponse();
      await isRefused(
        { dailyCalls: counted.length + 1, dailySpendCapYuan: formatYuan(spentNano + 1n), concurrency: 1 },
        undefined,
      );
    });

    it('a limited key of a plan has the usage of its calls', async () => {
      const { keyId } = accountOf('limitedCoder');
      const { length } = callsOf('limitedCoder').filter(countsInLimits);
      for (const [dailyCalls, code] of [
        [length, 'key_daily_calls_limit_exceeded'],
        [length + 1, undefined],
      ] as const) {
        await gateway.admin('PATCH', `/keys/${keyId}`, { dailyCalls, concurrency: 1 });
        const response = await ask('limitedCoder', '/v1/coding/chat/completions', NEW_CALL);
        assert.equal(response.headers['x-error-code'], code, response.text);
      }
    });

    it('keeps existing sessions', async () => {
      const headers = { cookie: fixture.made.cookie, 'sec-fetch-site': 'same-origin' };
      const session = await askAccountApi(gateway, 'GET', '/session', undefined, headers);
      assert.deepEqual([session.status, session.body.user?.name], [200, PERSON.name]);
      const account = await askAccountApi(gateway, 'GET', '/account', undefined, headers);
      assert.deepEqual([account.status, account.body.id], [200, accountOf(PERSON.owns).id]);
    });

    it('delivers undelivered notices', async () => {
      const receiver = await startReceiver();
      // Calls of the tests before may have made notices of their own, such as of a nearly used budget.
      const left = () => receiver.received.filter(({ body }) => body.type === 'webhook.test');
      try {
        const { id, secret } = fixture.made.webhook;
        const moved = await gateway.admin('PATCH', `/webhooks/${id}`, { url: receiver.url });
        assert.equal(moved.status, 200);
        // Both failed attempts are retried within this time.
        clock.advance(3_600_000);
        await until(async () => {
          await gateway.gateway.notices.settle();
          return left().length === UNDELIVERED;
        });
        for (const notice of left()) {
          // Not `verify`, which uses this machine's clock.
          const at = new Date(Number(notice.headers['webhook-timestamp']) * 1_000);
          assert.equal(notice.headers['webhook-signature'], new Webhook(secret).sign(notice.id, at, notice.text));
        }
        await gateway.gateway.notices.settle();
        assert.equal(left().length, UNDELIVERED);
      } finally {
        await receiver.close();
      }
    });

    it('has the catalog of a new database, and does not belong to the demo', async () => {
      const made = await createTestDatabase();
      try {
        assert.deepEqual(await catalogOf(gateway.database), await catalogOf(made.database));
      } finally {
        await made.remove();
      }
      await assert.rejects(
        checkDemoMark(gateway.database, { isDemo: true, demoAccountId: null }),
        /a gateway with another configuration has used it/,
      );
    });

    it('passes `faregate audit`', async () => {
      await gateway.stop();
      const given = ['audit', '--json', '--data-dir', fixture.dataDir];
      const { code, stdout } = await runCommand(given, { DATABASE_URL: fixture.databaseUrl });
      gateway = await start();
      assert.deepEqual([code, JSON.parse(stdout).isSound], [0, true], stdout);
    });

    it('exported a file that `faregate db import` reads and that passes the audit', async () => {
      await using target = await createTestDatabase();
      const { dataDir } = fixture;
      const run = (...given: string[]) => runCommand([...given, '--data-dir', dataDir], { DATABASE_URL: target.url });
      const imported = await run('db', 'import', exportOf(release), '--json');
      assert.equal(imported.code, 0, imported.stderr);
      assert.equal(JSON.parse(imported.stdout).rows.accounts, accountNames.length);
      const audit = await run('audit', '--json');
      assert.deepEqual([audit.code, JSON.parse(audit.stdout).isSound], [0, true], audit.stdout);
      const shown = await run('account', 'show', accountOf('repeater').id, '--json');
      const spentNano = chargesOf(callsOf('repeater').filter(({ state }) => state === 'settled'));
      assert.equal(JSON.parse(shown.stdout).balanceYuan, formatYuan(OPENING_NANO - spentNano));
    });
  });

function yuanOf(nano: bigint | string | null | undefined): string | null {
  return nano === null || nano === undefined ? null : formatYuan(BigInt(nano));
}

function byName(left: { name: string }, right: { name: string }): number {
  return left.name < right.name ? -1 : 1;
}

function byCallId(left: { callId: string | null }, right: { callId: string | null }): number {
  return (left.callId ?? '') < (right.callId ?? '') ? -1 : 1;
}

/** The contents of the journals in a data directory. */
async function journalLines(dataDir: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const file of glob(join(dataDir, 'journal', '*', '*'))) {
    lines.push(...(await readFile(file, 'utf8')).split('\n').filter((line) => line !== ''));
  }
  return lines;
}

/** A busy loop would slow down what it waits for. */
function pauseBetweenLooks(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
