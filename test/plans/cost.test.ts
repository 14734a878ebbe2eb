import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { PlanTerms } from '../../src/accounting/plans/plan.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import type { Database, Query, Queryable } from '../../src/db/database.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  createTestNode,
  openAccount,
  outcomeOf,
  recordOf,
  requestOf,
  TIME,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/**
 * The cost of an admission and of an end does not grow with the limit of the plan: measured in pages that the database reads and in rows
 * that any step of the statements processes, because times depend on the machine.
 */

/** More than one admission removes of expired slots. */
const FEW = 100;
const MANY = 100_000;
const HOUR_MS = 3_600_000;
const NOW = new Date(CONTEXT.nowMs);

const planWith = (id: string, fiveHourCalls: number): PlanTerms =>
  planOf({ id, fiveHourCalls, weeklyCalls: 10_000_000, concurrency: 10_000_000, models: new Set(['m']) });

/** How old the slots are, how many more the plan allows, and the expected outcome of an admission. */
const SITUATIONS: readonly { what: string; ageHours: number; room: number; verdict: string }[] = [
  { what: 'with room for more', ageHours: 1, room: 5, verdict: 'admitted' },
  { what: 'used up', ageHours: 1, room: 0, verdict: 'packageFiveHourQuotaExhausted' },
  { what: 'used up by calls that are all over by now', ageHours: 6, room: 0, verdict: 'admitted' },
];

interface Cost {
  /** Pages, over all steps of the transaction's statements. */
  readonly pages: number;
  /** The most rows that a step of a statement returned or discarded, over all its repetitions. */
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

describe('the cost of a coding call on PostgreSQL', { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let costs: Cost[];
  let measured: Database;
  before(async () => {
    stored = await createTestDatabase();
    costs = [];
    measured = {
      ...stored.database,
      readThenWrite: ({ reads, decide }) =>
        stored.database.transaction(async (transaction) => {
          const nodes: PlanNode[] = [];
          const rows = [];
          for (const read of reads) {
            nodes.push(...(await explain(transaction, read)));
            rows.push(await transaction.query<unknown>(read.statement, read.parameters));
          }
          const { writes, result } = decide(rows);
          // Explaining these executes them.
          for (const write of writes) nodes.push(...(await explain(transaction, write)));
          costs.push({
            pages: nodes.reduce((sum, node) => sum + node['Shared Hit Blocks'] + node['Shared Read Blocks'], 0),
            rowsMost: Math.max(
              ...nodes.map(
                (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
              ),
            ),
          });
          return result;
        }),
    };
  });
  after(() => stored.remove());

  async function explain(transaction: Queryable, { statement, parameters }: Query): Promise<PlanNode[]> {
    const [row] = await transaction.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      {
        name: `explain ${statement.name}`,
        text: `explain (analyze, buffers, timing off, format json) ${statement.text}`,
      },
      parameters,
    );
    return nodesOf(row!['QUERY PLAN'][0].Plan);
  }

  /** An account whose plan has that many slots in use, inserted directly. */
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
    it(`is the same for a plan of ${FEW} and of ${MANY} calls in five hours, ${what}`, async () => {
      const plans = [FEW, MANY].map((slots) => planWith(`${verdict}_${ageHours}_${slots}`, slots + room));
      const accounts: string[] = [];
      for (const [index, slots] of [FEW, MANY].entries()) {
        accounts.push(await openWith(plans[index]!.id, slots, ageHours));
      }
      await stored.database.script('analyze plan_slots; analyze subscriptions');
      costs.length = 0;
      const context = { ...CONTEXT, plans: new Map(plans.map((plan) => [plan.id, plan])) };
      const { reservations, settlement } = createTestNode(measured).stores;
      const ends: Cost[] = [];
      for (const accountId of accounts) {
        const calls = [0, 1, 2].map((n) => `call_${accountId}_asking_${n}`);
        const plan = { inputBytes: 1, outputTokensRequested: 1, tokens: 1, innerModels: [] };
        const requests = calls.map((callId) => requestOf(accountId, callId, null, { model: 'm', plan }));
        assert.deepEqual(await verdictsOn(reservations, requests, context), [verdict, verdict, verdict]);
        const outcomes = calls.map((callId) => ({ ...outcomeOf(accountId, callId, null), context: 'coding' }));
        const records = outcomes.map((outcome) => recordOf(outcome, { plan: { counts: false, tokens: 0 } }));
        await settlement.end(records, TIME);
        ends.push(costs.pop()!);
      }
      for (const [few, many] of [costs, ends] as [Cost, Cost][]) {
        assert.equal(many.rowsMost, few.rowsMost);
        // The index is a level deeper at most; reading the slots themselves would take a thousand pages.
        assert.ok(many.pages < 2 * few.pages, `${few.pages} pages, ${many.pages} pages`);
      }
    });
  }
});
