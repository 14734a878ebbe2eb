import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database, Queryable } from '../../src/db/database.ts';
import type { CodingVerdict } from '../../src/plans/coding-call.ts';
import type { PlanTerms } from '../../src/plans/plan.ts';
import { createPlanStore } from '../../src/plans/store.ts';
import { createSubscriptionStore } from '../../src/plans/subscriptions-store.ts';
import { openAccount } from '../support/books.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/**
 * What an admission costs does not grow with the limit of its plan (design 8): in pages that the database looks at and in
 * rows that any step of the statement deals with, not in time, which says more about the machine.
 */

/** More than an admission looks at of what is over. */
const FEW = 100;
const MANY = 100_000;
const HOUR_MS = 3_600_000;
const NOW = new Date('2026-11-20T04:00:00Z');

const planOf = (id: string, fiveHourCalls: number): PlanTerms => ({
  id,
  name: id,
  fiveHourCalls,
  weeklyCalls: 10_000_000,
  concurrency: 10_000_000,
  quotaTokens: 1_000_000,
  periodDays: 30,
  models: new Set(['m']),
  inputBytesMax: 10,
  outputTokensMax: 10,
  queue: { length: 0, waitMs: 0 },
});

/** How old the slots are, how many more the plan allows, and what an admission answers then. */
const SITUATIONS: readonly { what: string; ageHours: number; room: number; verdict: CodingVerdict['code'] }[] = [
  { what: 'with room for more', ageHours: 1, room: 5, verdict: 'admitted' },
  { what: 'used up', ageHours: 1, room: 0, verdict: 'package_5h_quota_exhausted' },
  { what: 'used up by calls that are all over by now', ageHours: 6, room: 0, verdict: 'admitted' },
];

interface Cost {
  /** Pages, over all steps of the statement. */
  readonly pages: number;
  /** The most rows that a step of the statement gave or threw away, over all its repetitions. */
  readonly rowsMost: number;
}

interface PlanNode {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

describe('the cost of an admission on PostgreSQL', { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let costs: Cost[];
  let measured: Database;
  before(async () => {
    stored = await createTestDatabase('postgresql');
    costs = [];
    measured = { ...stored.database, transaction: (work) => stored.database.transaction((t) => work(explained(t))) };
  });
  after(() => stored.remove());

  /** Carries statements out as they are, and notes beforehand what admissions cost. */
  function explained(transaction: Queryable): Queryable {
    return {
      async query(statement, parameters) {
        if (statement.name === 'reservations.admit') {
          await transaction.query({ name: 'test.savepoint', text: 'savepoint explained' });
          const [row] = await transaction.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
            { name: 'test.explain', text: `explain (analyze, buffers, timing off, format json) ${statement.text}` },
            parameters,
          );
          await transaction.query({ name: 'test.rollback', text: 'rollback to savepoint explained' });
          const nodes = nodesOf(row!['QUERY PLAN'][0].Plan);
          costs.push({
            pages: nodes.reduce((sum, node) => sum + node['Shared Hit Blocks'] + node['Shared Read Blocks'], 0),
            rowsMost: Math.max(
              ...nodes.map(
                (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
              ),
            ),
          });
        }
        return transaction.query(statement, parameters);
      },
    };
  }

  /** An account whose plan has that many slots in use, put there by hand. */
  async function openWith(id: string, slots: number, ageHours: number): Promise<string> {
    const accountId = `acct_${id}`;
    const startsAt = new Date(NOW.getTime() - 24 * HOUR_MS);
    await openAccount(stored.database, accountId, 0n);
    await createSubscriptionStore(stored.database).grant({
      accountId,
      id: `sub_${id}`,
      planId: id,
      startsAt,
      endsAt: new Date(startsAt.getTime() + 720 * HOUR_MS),
      at: startsAt,
    });
    await stored.database.script(`
insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select '${accountId}', 'sub_${id}', 'call_${id}_' || n,
  timestamptz '${NOW.toISOString()}' - interval '${ageHours} hours' + n * interval '1 microsecond'
from generate_series(1, ${slots}) n;
update subscriptions set slots = ${slots} where id = 'sub_${id}'`);
    return accountId;
  }

  for (const { what, ageHours, room, verdict } of SITUATIONS) {
    it(`is the same for ${FEW} and for ${MANY} calls in five hours, ${what}`, async () => {
      const plans = [FEW, MANY].map((slots) => planOf(`${verdict}_${ageHours}_${slots}`, slots + room));
      const accounts: string[] = [];
      for (const [index, slots] of [FEW, MANY].entries()) {
        accounts.push(await openWith(plans[index]!.id, slots, ageHours));
      }
      await stored.database.script('analyze plan_slots; analyze subscriptions');
      costs.length = 0;
      const store = createPlanStore(measured);
      for (const accountId of accounts) {
        const calls = [0, 1, 2].map((n) => ({
          accountId,
          callId: `call_${accountId}_asking_${n}`,
          keyId: 'key_test',
          model: 'm',
          inputBytes: 1,
          outputTokensRequested: 1,
          reservedTokens: 1,
          innerModels: [],
          facts: '[]',
        }));
        const verdicts = await store.admitCalls(calls, { plans, now: NOW, nodeId: 'node_test' });
        assert.deepEqual(
          verdicts.map(({ code }) => code),
          [verdict, verdict, verdict],
        );
      }
      const [few, many] = costs as [Cost, Cost];
      assert.equal(many.rowsMost, few.rowsMost);
      // The index is a level deeper at most; to look at the slots themselves would take a thousand pages.
      assert.ok(many.pages < 2 * few.pages, `${few.pages} pages, ${many.pages} pages`);
    });
  }
});
