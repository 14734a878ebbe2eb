import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKeyLimitStore } from '../../src/accounting/accounts/key-limit-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { type AuditedDatabases, type AuditOptions, auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  createTestNode,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsAt,
  recordOf,
  requestOf,
  type TestNode,
  termsOf,
  timeAt,
} from '../support/accounting-builders.ts';
import { aroundStatements } from '../support/audit-statements.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';

/** The audit of the counters of plans and limited keys, while calls are admitted and end and days begin. */

const PLAN = planOf({ id: 'plan', periodDays: 3 });
const ACCOUNTS = ['acct_a', 'acct_b', 'acct_c'];
const SIZES: readonly AuditOptions[] = [{}, { accountsMax: 1 }, { accountsMax: 2 }];
/** The changes that are made during an audit. */
const CHANGES_MAX = 20;
const HALF_A_DAY_MS = 12 * 3_600_000;

describe(`the audit of counters while calls run`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let node: TestNode;
  let nowMs = NOW_MS;
  let made = 0;

  before(async () => {
    stored = await createTestDatabase();
    node = createTestNode(stored.database);
    for (const accountId of ACCOUNTS) {
      await openAccount(stored.database, accountId, 1_000_000n);
      const at = new Date(NOW_MS);
      const id = `key_${accountId}`;
      const key = { accountId, id, name: id, keyHash: Buffer.from(id), prefix: id, expiresAt: null, at };
      await createAccountStore(stored.database).insertKey(key);
      await createKeyLimitStore(stored.database).change(accountId, id, { dailyCallsMax: 1_000_000 });
      const endsAt = new Date(NOW_MS + 10_000 * HALF_A_DAY_MS);
      const subscription = { accountId, id: `sub_${accountId}`, planId: PLAN.id, startsAt: at, endsAt, at };
      await createSubscriptionStore(stored.database).grant(subscription);
    }
  });
  after(() => stored.remove());

  /** A call of the limited key, on the balance or on the plan. */
  async function admit(accountId: string, callId: string, isOnPlan: boolean): Promise<void> {
    const plan = isOnPlan ? { inputBytes: 1, outputTokensRequested: 0, tokens: 9, innerModels: [] } : null;
    const request = requestOf(accountId, callId, isOnPlan ? null : 50n, {
      keyId: `key_${accountId}`,
      isKeyLimited: true,
      plan,
    });
    const context = { ...CONTEXT, ...periodsAt(nowMs), plans: new Map([[PLAN.id, PLAN]]) };
    const [admission] = await node.stores.reservations.admit([request], termsOf(context));
    assert.ok(admission!.isAdmitted, callId);
  }

  async function end(accountId: string, callId: string, isOnPlan: boolean, counts = true): Promise<void> {
    const chargeNano = isOnPlan || !counts ? null : 7n;
    const outcome = { ...outcomeOf(accountId, callId, chargeNano), keyId: `key_${accountId}` };
    const record = recordOf(isOnPlan ? { ...outcome, context: 'coding' } : outcome, {
      plan: isOnPlan ? { counts, tokens: counts ? 5 : 0 } : null,
      key: { counts, chargeNano: chargeNano ?? 0n },
    });
    await node.stores.settlement.end([record], timeAt(nowMs));
  }

  async function findings(
    options: AuditOptions,
    databases: AuditedDatabases = inOneDatabase(stored.database),
  ): Promise<string[]> {
    const results = await auditLedger(databases, options);
    return results.flatMap(({ invariant, breaches }) =>
      breaches.map(({ accountId, detail }) => `${accountId}: ${invariant}: ${detail}`),
    );
  }

  it('reports no violation for calls that are admitted or end between two statements, nor for a day that begins', async () => {
    const inFlight: [accountId: string, callId: string, isOnPlan: boolean][] = [];
    for (const options of SIZES) {
      let statements = 0;
      const change = async (): Promise<void> => {
        const no = statements++;
        const accountId = ACCOUNTS[no % ACCOUNTS.length]!;
        // Ids before those of earlier calls, after them, and among them.
        const callId = `call_${no % 7}_${made++}`;
        const isOnPlan = made % 2 === 0;
        await admit(accountId, callId, isOnPlan);
        inFlight.push([accountId, callId, isOnPlan]);
        if (no % 3 > 0) await end(...inFlight.splice(made % inFlight.length, 1)[0]!, no % 5 > 0);
        if (no % 6 === 5) nowMs += HALF_A_DAY_MS;
      };
      const databases = aroundStatements(inOneDatabase(stored.database), async (_, run) => {
        if (statements >= CHANGES_MAX) return run();
        if (statements % 2 === 0) await change();
        const result = await run();
        await change();
        return result;
      });
      assert.deepEqual(await findings(options, databases), [], JSON.stringify(options));
      assert.deepEqual(await findings(options), [], JSON.stringify(options));
    }
    for (const call of inFlight) await end(...call);
    assert.deepEqual(await findings({}), []);
  });

  it('finds a deleted record and a wrong counter in ranges of any size', async () => {
    for (const [accountId, isOnPlan] of [
      ['acct_b', true],
      ['acct_c', false],
    ] as const) {
      await admit(accountId, 'call_last', isOnPlan);
      await end(accountId, 'call_last', isOnPlan);
    }
    await stored.database.script(`
        delete from calls where account_id = 'acct_b' and id = 'call_last';
        update balances set spent_nano = 0 where account_id = 'acct_c';`);
    for (const options of SIZES) {
      const found = (await findings(options)).map((finding) => finding.replace(/counts \d+ .*/, '')).sort();
      assert.deepEqual(
        found,
        [
          'acct_b: keys with limits correctly count the calls of the current day: key_acct_b ',
          'acct_b: subscriptions correctly count the calls of the current week: sub_acct_b ',
          'acct_b: subscriptions correctly count the tokens of the current period: sub_acct_b ',
          'acct_b: the call records agree with the counters of subscriptions and keys with limits: key_acct_b ',
          'acct_b: the call records agree with the counters of subscriptions and keys with limits: sub_acct_b ',
          'acct_c: accounts correctly count their charges of the current day: the account ',
        ],
        JSON.stringify(options),
      );
    }
  });
});
