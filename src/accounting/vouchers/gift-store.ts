import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionLane, PartitionQueryable } from '../../db/home-lanes.ts';
import { dateColumn, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { NUMERIC_OUT_OF_RANGE, postEntry, selectKeyedEntry } from '../ledger/ledger-store.ts';
import { accountIdOf, mapByPartition, type Routes, routedByAccount } from '../partitions/routes.ts';
import type { PlanSale } from '../plans/plan.ts';
import { findKeyedSubscription, grantPeriod } from '../plans/subscriptions-store.ts';
import type { StoredRedemption } from './redemption-store.ts';
import type { GiftRefusal, OpenRedemption } from './voucher.ts';

/**
 * The SQL of what redeemed vouchers give, in the partition of the account. Each redemption gives once, or is refused for good: an entry and
 * a period have a key made of the code, and a refusal has a row. All of it is decided under the lock of the account.
 */

const selectRefused: Statement = {
  name: 'vouchers.select-refused',
  text: 'select refusal from refused_redemptions where account_id = $1 and redemption_id = $2',
};

const insertRefused: Statement = {
  name: 'vouchers.insert-refused',
  text: `insert into refused_redemptions (account_id, redemption_id, refusal) values ($1, $2, $3)
on conflict (account_id, redemption_id) do nothing`,
};

const ENDS = selection({ id: textColumn('s.id'), endsAt: dateColumn('s.ends_at') });

/** When subscriptions end. Plan: primary key. */
const selectEnds: Statement = {
  name: 'vouchers.select-subscription-ends',
  text: `select ${ENDS.list}
from unnest($1::text[], $2::text[]) as v (account_id, id) join subscriptions s on s.account_id = v.account_id and s.id = v.id`,
};

/** What a redemption has given. */
export type Given = Pick<StoredRedemption, 'entryNo' | 'subscriptionId'>;

/** A period of a plan that is offered. */
export interface OfferedPeriod {
  readonly periodMs: number;
  readonly sale: PlanSale | null;
}

export interface GiftStore {
  /** Why it would be refused now; `null`: it would be given. Changes nothing. `period`: of a plan that is offered, else `null`. */
  foresee(open: OpenRedemption, period: OfferedPeriod | null): Promise<GiftRefusal | null>;
  /** Gives what the voucher gives, or refuses it. Whatever comes of it first comes of it each time. */
  give(open: OpenRedemption, period: OfferedPeriod | null): Promise<Given | GiftRefusal>;
  /** When the subscriptions of redemptions end now, by their ids. */
  findEnds(redemptions: readonly Pick<StoredRedemption, 'accountId' | 'subscriptionId'>[]): Promise<Map<string, Date>>;
}

export function createGiftStore(partition: PartitionLane): GiftStore {
  return {
    async foresee(open, period) {
      try {
        return await partition.transaction(async (transaction): Promise<GiftRefusal> => {
          await lockAccount(transaction, open.accountId);
          // Another request of the account may have redeemed it since the code was found free.
          const given = (await findGiven(transaction, open)) ?? (await giveAnew(transaction, open, period));
          if (typeof given === 'string') return given;
          throw new TakenBack();
        });
      } catch (error) {
        if (error instanceof TakenBack) return null;
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return 'out_of_range';
        throw error;
      }
    },
    async give(open, period) {
      try {
        return await decideOnce(partition, open, (transaction) => giveAnew(transaction, open, period));
      } catch (error) {
        if (sqlState(error) !== NUMERIC_OUT_OF_RANGE) throw error;
        return decideOnce(partition, open, async () => 'out_of_range');
      }
    },
    async findEnds(redemptions) {
      const ofPlans = redemptions.filter(({ subscriptionId }) => subscriptionId !== null);
      if (ofPlans.length === 0) return new Map();
      const names = fieldsOf(ofPlans, 'accountId', 'subscriptionId');
      return new Map(ENDS.all(await partition.query(selectEnds, names)).map(({ id, endsAt }) => [id, endsAt]));
    },
  };
}

/** Of all partitions. */
export function routedGifts(routes: Routes<GiftStore>): GiftStore {
  return {
    ...routedByAccount<Pick<GiftStore, 'foresee' | 'give'>>(routes, { foresee: accountIdOf, give: accountIdOf }),
    findEnds: (redemptions) =>
      mapByPartition(routes, redemptions, accountIdOf, (gifts, those) => gifts.findEnds(those)),
  };
}

/** It would be given, and nothing is to be changed. */
class TakenBack extends Error {}

/** Returns what was decided, if it was; else decides it, and writes a refusal down. */
function decideOnce(
  partition: PartitionLane,
  open: OpenRedemption,
  decide: (transaction: PartitionQueryable) => Promise<Given | GiftRefusal>,
): Promise<Given | GiftRefusal> {
  const { accountId, id } = open;
  return partition.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const [refused] = await transaction.query<{ refusal: GiftRefusal }>(selectRefused, [accountId, id]);
    if (refused !== undefined) return refused.refusal;
    const given = (await findGiven(transaction, open)) ?? (await decide(transaction));
    // Its balance was there before the code was taken, and is never deleted: whoever gives here has to look elsewhere, and the code stays taken.
    if (given === 'unknown_account') throw new Error(`the account ${accountId} has no balance in this partition`);
    if (typeof given === 'string') await transaction.query(insertRefused, [accountId, id, given]);
    return given;
  });
}

async function findGiven(transaction: PartitionQueryable, open: OpenRedemption): Promise<Given | null> {
  const { accountId, gift } = open;
  if (gift.kind === 'plan') {
    const granted = await findKeyedSubscription(transaction, accountId, requestOf(open, gift.planId));
    return granted && { entryNo: null, subscriptionId: granted.id };
  }
  const entry = await selectKeyedEntry(transaction, accountId, keyOf(open));
  return entry && { entryNo: entry.entryNo, subscriptionId: null };
}

async function giveAnew(
  transaction: PartitionQueryable,
  open: OpenRedemption,
  period: OfferedPeriod | null,
): Promise<Given | GiftRefusal> {
  const { accountId, batchId, codeEnd, gift, redeemedAt: at } = open;
  if (!(await lockAccount(transaction, accountId))) return 'unknown_account';
  if (gift.kind === 'plan') {
    const { planId } = gift;
    if (period === null) return 'unknown_plan';
    const granted = await grantPeriod(
      transaction,
      { accountId, id: open.subscriptionId!, planId, at, ...period },
      requestOf(open, planId),
    );
    return typeof granted === 'string' ? granted : { entryNo: null, subscriptionId: granted.id };
  }
  const posted = await postEntry(transaction, {
    accountId,
    kind: 'top_up',
    amountNano: gift.amountNano,
    memo: `voucher …${codeEnd} of ${batchId}`,
    idempotencyKey: keyOf(open),
    at,
  });
  if (posted.outcome !== 'posted') throw new Error(`the entry of a voucher was ${posted.outcome}`);
  return { entryNo: posted.entry.entryNo, subscriptionId: null };
}

/** By the blank no client's key is like it; the audit finds what vouchers have given by it. */
const keyOf = ({ codeHash }: OpenRedemption): string => `voucher ${codeHash.toString('hex')}`;

const requestOf = (open: OpenRedemption, planId: string) => ({
  idempotencyKey: keyOf(open),
  request: JSON.stringify(['voucher', planId]),
});
