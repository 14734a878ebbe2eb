import { columnsOf } from '../../db/columns.ts';
import type { Lane, Queryable, Statement, StoredRow } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { bigintColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { NUMERIC_OUT_OF_RANGE, postEntry } from '../ledger/ledger-store.ts';
import { grantPeriod } from '../plans/subscriptions-store.ts';
import type { RedemptionRequest } from './voucher.ts';
import { GIFT } from './vouchers-store.ts';

/** The SQL of codes that are redeemed. */

const VOUCHERS = selection({
  batchId: textColumn('v.batch_id'),
  codeEnd: textColumn('v.code_end'),
  gift: GIFT,
  expiresAt: orNull(dateColumn('b.expires_at')),
  canceledAt: orNull(dateColumn('b.canceled_at')),
});

/**
 * The voucher of a code. Whoever redeems it at the same time waits here, and so does a cancellation of its batch. Plan: primary
 * keys.
 */
const lockVoucher: Statement = {
  name: 'vouchers.lock-voucher',
  text: `select ${VOUCHERS.list}
from vouchers v join voucher_batches b on b.id = v.batch_id
where v.code_hash = $1::bytea
for update of v for share of b`,
};

/** What became of a voucher, once. */
const REDEMPTIONS = selection({
  id: textColumn('r.id'),
  batchId: textColumn('r.batch_id'),
  codeEnd: textColumn('r.code_end'),
  gift: GIFT,
  accountId: textColumn('r.account_id'),
  redeemedAt: dateColumn('r.redeemed_at'),
  redeemedBy: textColumn('r.redeemed_by'),
  /** Of a value. */
  entryNo: orNull(bigintColumn('r.entry_no')),
  /** Of a plan. */
  subscriptionId: orNull(textColumn('r.subscription_id')),
});

export interface Redemption extends RowOf<typeof REDEMPTIONS> {
  /** When the plan ends now. */
  readonly subscriptionEndsAt: Date | null;
}

/** If it is refused, nothing has changed. */
export type RedeemResult =
  | { readonly outcome: 'redeemed' | 'repeated'; readonly redemption: Redemption }
  | { readonly outcome: RedeemRefusal };

export type RedeemRefusal =
  | 'unknown_account'
  /** There is no such code, or another account has redeemed it. */
  | 'unknown_code'
  | 'expired'
  | 'canceled'
  | 'unknown_plan'
  | 'other_plan'
  | 'overlapping'
  | 'out_of_range';

const SELECT_REDEMPTIONS = `select ${REDEMPTIONS.list}
from voucher_redemptions r join voucher_batches b on b.id = r.batch_id`;

/** Plan: primary keys. */
const selectRedemption: Statement = {
  name: 'vouchers.select-redemption',
  text: `${SELECT_REDEMPTIONS} where r.code_hash = $1::bytea`,
};

const ENDS = selection({ id: textColumn('s.id'), endsAt: dateColumn('s.ends_at') });

/** When subscriptions end. Plan: primary key. */
const selectEnds: Statement = {
  name: 'vouchers.select-subscription-ends',
  text: `select ${ENDS.list}
from unnest($1::text[], $2::text[]) as v (account_id, id) join subscriptions s on s.account_id = v.account_id and s.id = v.id`,
};

const insertRedemption: Statement = {
  name: 'vouchers.insert-redemption',
  text: `insert into voucher_redemptions (
  code_hash, id, batch_id, code_end, account_id, redeemed_at, redeemed_by, entry_no, subscription_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

/** Newest first. Walks voucher_redemptions_by_batch backwards. */
const listRedemptions: Statement = {
  name: 'vouchers.list-redemptions',
  text: `${SELECT_REDEMPTIONS} where r.batch_id = $1 and ($2::text is null or r.id < $2) order by r.id desc limit $3::int`,
};

export interface RedemptionStore {
  /** Newest first. */
  list(batchId: string, beforeId: string | null, limit: number): Promise<Redemption[]>;
  /** Redemption and what it gives are one transaction. A repeat by the same account changes nothing. */
  redeem(request: RedemptionRequest): Promise<RedeemResult>;
}

export function createRedemptionStore(database: Lane): RedemptionStore {
  return {
    list: async (batchId, beforeId, limit) =>
      withEnds(database, await database.query(listRedemptions, [batchId, beforeId, limit])),
    async redeem(request) {
      try {
        return await database.transaction((transaction) => redeem(transaction, request));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
  };
}

/** The account's row is locked first, as everywhere, then the voucher. A refusal comes before anything is written. */
async function redeem(transaction: Queryable, request: RedemptionRequest): Promise<RedeemResult> {
  const { accountId, codeHash, redemptionId, by, at } = request;
  if (!(await lockAccount(transaction, accountId))) return { outcome: 'unknown_account' };
  const voucher = VOUCHERS.first(await transaction.query(lockVoucher, [codeHash]));
  if (voucher === null) return { outcome: 'unknown_code' };
  const earlier = await findRedemption(transaction, codeHash);
  if (earlier !== null) {
    return earlier.accountId === accountId ? { outcome: 'repeated', redemption: earlier } : { outcome: 'unknown_code' };
  }
  if (voucher.canceledAt !== null) return { outcome: 'canceled' };
  if (voucher.expiresAt !== null && voucher.expiresAt <= at) return { outcome: 'expired' };
  const given = await give(transaction, voucher, request);
  if (typeof given === 'string') return { outcome: given };
  const { batchId, codeEnd } = voucher;
  const values = [codeHash, redemptionId, batchId, codeEnd, accountId, at, by, given.entryNo, given.subscriptionId];
  await transaction.query(insertRedemption, values);
  return { outcome: 'redeemed', redemption: (await findRedemption(transaction, codeHash))! };
}

async function findRedemption(transaction: Queryable, codeHash: Buffer): Promise<Redemption | null> {
  const [redemption] = await withEnds(transaction, await transaction.query(selectRedemption, [codeHash]));
  return redemption ?? null;
}

/** Redemptions with the ends of the subscriptions that they gave, in the same order. */
async function withEnds(queryable: Pick<Queryable, 'query'>, rows: readonly StoredRow[]): Promise<Redemption[]> {
  const redemptions = REDEMPTIONS.all(rows);
  const ofPlans = redemptions.filter(({ subscriptionId }) => subscriptionId !== null);
  const names = columnsOf(
    ofPlans,
    ({ accountId }) => accountId,
    ({ subscriptionId }) => subscriptionId,
  );
  const ends = ofPlans.length === 0 ? [] : ENDS.all(await queryable.query(selectEnds, names));
  const endOf = new Map(ends.map(({ id, endsAt }) => [id, endsAt]));
  return redemptions.map((each) => ({
    ...each,
    subscriptionEndsAt: each.subscriptionId === null ? null : (endOf.get(each.subscriptionId) ?? null),
  }));
}

async function give(
  transaction: Queryable,
  { gift, batchId, codeEnd }: RowOf<typeof VOUCHERS>,
  { accountId, codeHash, subscriptionId, at, periodMsOf }: RedemptionRequest,
): Promise<Pick<Redemption, 'entryNo' | 'subscriptionId'> | RedeemRefusal> {
  if (gift.kind === 'plan') {
    const { planId } = gift;
    const periodMs = periodMsOf(planId);
    if (periodMs === null) return 'unknown_plan';
    const granted = await grantPeriod(transaction, { accountId, id: subscriptionId, planId, at, periodMs });
    return typeof granted === 'string' ? granted : { entryNo: null, subscriptionId: granted.id };
  }
  const posted = await postEntry(transaction, {
    accountId,
    kind: 'top_up',
    amountNano: gift.amountNano,
    memo: `voucher …${codeEnd} of ${batchId}`,
    // By the blank no client's key is like it; the audit finds entries of vouchers by it.
    idempotencyKey: `voucher ${codeHash.toString('hex')}`,
    at,
  });
  if (posted.outcome !== 'posted') throw new Error(`the entry of a voucher was ${posted.outcome}`);
  return { entryNo: posted.entry.entryNo, subscriptionId: null };
}
