import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AUDIT_WITH_PROGRESS, type AuditLine } from '../../src/api/audit/admin.ts';
import { remoteAdminClient } from '../../src/api/management/admin-client.ts';
import { call, startCall } from '../support/client.ts';
import { gatewayEngines } from '../support/database.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { liveResponse } from '../support/provider.ts';

/** What the audit says of plans and limited keys, while their calls are in flight and have ended. */

const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 10, weeklyCalls: 50, concurrency: 3, quotaTokens: 1000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;

interface Broken {
  readonly invariant: string;
  /** What makes the database wrong, and right again. */
  readonly sql: readonly [string, string];
  readonly detail: RegExp;
}

/** One call is in flight, one has ended. */
const planted: readonly Broken[] = [
  {
    invariant: 'a subscription counts its coding calls in flight',
    sql: ['update subscriptions set in_flight = 2', 'update subscriptions set in_flight = 1'],
    detail: /^sub_\w+ counts 2, reservations 1$/,
  },
  {
    invariant: 'a subscription counts the slots of its five-hour window',
    sql: ['update subscriptions set slots = 1', 'update subscriptions set slots = 2'],
    detail: /^sub_\w+ counts 1, slots 2$/,
  },
  {
    invariant: 'a limited key counts its calls in flight and what they have reserved',
    sql: ['update key_limits set in_flight = 0', 'update key_limits set in_flight = 1'],
    detail: /^key_\w+ counts 0, reservations 1$/,
  },
  {
    invariant: 'a limited key counts its calls in flight and what they have reserved',
    sql: [
      'update key_limits set reserved_nano = reserved_nano + 1',
      'update key_limits set reserved_nano = reserved_nano - 1',
    ],
    detail: /^key_\w+ counts 1, reservations 1$/,
  },
  {
    invariant: 'a limited key counts what it was charged in its day, its week, its month, and in all',
    sql: [
      'update key_limits set week_spent_nano = week_spent_nano + 1',
      'update key_limits set week_spent_nano = week_spent_nano - 1',
    ],
    detail: /^key_\w+ counts 1 spent in the week since \S+, records 0$/,
  },
  {
    invariant: 'a coding call has no charge',
    sql: [
      `update calls set charge_nano = 0 where context = 'coding'`,
      `update calls set charge_nano = null where context = 'coding'`,
    ],
    detail: /^call call_\w+$/,
  },
];

for (const engine of gatewayEngines) {
  describe(`the audit of plans and limited keys on ${engine}`, { timeout: 300_000 }, () => {
    let g: TestGateway;
    let account: TestAccount;
    const live = liveResponse();
    let running: ReturnType<typeof startCall>;
    before(async () => {
      g = await startGateway({ engine, plans: PLANS });
      account = await g.createAccount();
      await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'coder' });
      await g.admin('PATCH', `/keys/${account.keyId}`, { concurrency: 5 });
      const url = `${g.url}/v1/coding/chat/completions`;
      const body = { model: 'test-chat', messages: [] };
      assert.equal((await call(url, account.key, body)).status, 200);
      g.provider.respond = live.respond;
      running = startCall(url, account.key, { ...body, stream: true });
      await live.opened;
    });
    after(async () => {
      live.end();
      await (await running.response).ended();
      await g.stop();
    });

    const audit = async (): Promise<{
      isSound: boolean;
      invariants: { invariant: string; breaches: { accountId: string; detail: string }[] }[];
    }> => (await g.admin('GET', '/audit')).body;

    it('is sound while a call is in flight', async () => {
      const { isSound, invariants } = await audit();
      assert.equal(isSound, true, JSON.stringify(invariants));
      const names = invariants.map(({ invariant }) => invariant);
      assert.equal(new Set(names).size, names.length);
      for (const { invariant } of planted) assert.ok(names.includes(invariant), invariant);
    });

    it('says how far it has got, line by line, and the result last', async () => {
      const client = remoteAdminClient(g.url, ADMIN_TOKEN);
      const lines: AuditLine[] = [];
      for await (const line of client.lines<AuditLine>(AUDIT_WITH_PROGRESS)) lines.push(line);
      assert.deepEqual(lines.at(-1), { result: await audit() });
      if (engine === 'postgresql') {
        // While somebody has locked a table, it gets no further.
        await g.database.transaction(async (transaction) => {
          await transaction.query({ name: 'test.lock', text: 'lock table plan_slots in access exclusive mode' });
          for await (const line of client.lines<AuditLine>(AUDIT_WITH_PROGRESS)) {
            assert.deepEqual(line, { progress: { accounts: 0, accountsTotal: 1, entries: 1, calls: 0 } });
            break;
          }
        });
      }
      assert.equal((await g.admin('GET', '/audit?progress=maybe')).status, 400);
    });

    for (const { invariant, sql, detail } of planted) {
      it(`finds a breach of: ${invariant} (${sql[0]})`, async () => {
        await g.database.script(sql[0]);
        const broken = await audit();
        await g.database.script(sql[1]);
        assert.equal(broken.isSound, false);
        const found = broken.invariants.find((result) => result.invariant === invariant)!.breaches;
        assert.deepEqual(
          found.map(({ accountId }) => accountId),
          [account.id],
        );
        assert.match(found[0]!.detail, detail);
        // A charge without an entry breaks an invariant of the ledger too; nothing else is blamed for anything.
        const others = broken.invariants.filter(
          (result) => result.invariant !== invariant && result.breaches.length > 0,
        );
        assert.deepEqual(
          others.map((result) => result.invariant),
          invariant === 'a coding call has no charge' ? ['every settled call has its entry with its charge'] : [],
        );
        assert.equal((await audit()).isSound, true);
      });
    }
  });
}
