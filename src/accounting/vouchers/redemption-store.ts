import type { Lane, Queryable, Statement } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { NUMERIC_OUT_OF_RANGE, postEntry } from '../ledger/ledger-store.ts';
import { grantPeriod } from '../plans/subscriptions-store.ts';
import type { RedeemRefusal, RedeemResult, Redemption, RedemptionRequest } from './voucher.ts';
import { type GiftColumns, toGift } from './vouchers-store.ts';

/** The SQL of codes that are redeemed. */

interface VoucherRow extends GiftColumns {
  batch_id: string;
  code_end: string;
  expires_at: Date | null;
  canceled_at: Date | null;
}

interface RedemptionRow extends GiftColumns {
  id: string;
  batch_id: string;
  code_end: string;
  account_id: string;
  redeemed_at: Date;
  redeemed_by: string;
  entry_no: bigint | null;
  subscription_id: string | null;
  ends_at: Date | null;
}

/**
 * The voucher of a code. Whoever redeems it at the same time waits here, and so does a cancellation of its batch. Plan: primary
 * keys.
 */
const lockVoucher: Statement = {
  name: 'vouchers.lock-voucher',
  text: `select v.batch_id, v.code_end, b.amount_nano, b.plan_id, b.expires_at, b.canceled_at
from vouchers v join voucher_batches b on b.id = v.batch_id
where v.code_hash = $1::bytea
for update of v for share of b`,
};

const REDEMPTIONS = `select r.id, r.batch_id, r.code_end, r.account_id, r.redeemed_at, r.redeemed_by, r.entry_no, r.subscription_id,
  b.amount_nano, b.plan_id, s.ends_at
from voucher_redemptions r join voucher_batches b on b.id = r.batch_id
left join subscriptions s on s.account_id = r.account_id and s.id = r.subscription_id`;

/** Plan: primary keys. */
const selectRedemption: Statement = {
  name: 'vouchers.select-redemption',
  text: `${REDEMPTIONS} where r.code_hash = $1::bytea`,
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
  text: `${REDEMPTIONS} where r.batch_id = $1 and ($2::text is null or r.id < $2) order by r.id desc limit $3::int`,
};

export interface RedemptionStore {
  /** Newest first. */
  list(batchId: string, beforeId: string | null, limit: number): Promise<Redemption[]>;
  /** Redemption and what it gives are one transaction. A repeat by the same account changes nothing. */
  redeem(request: RedemptionRequest): Promise<RedeemResult>;
}

export function createRedemptionStore(database: Lane): RedemptionStore {
  return {
    async list(batchId, beforeId, limit) {
      const rows = await database.query<RedemptionRow>(listRedemptions, [batchId, beforeId, limit]);
      return rows.map(toRedemption);
    },
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
  const [voucher] = await transaction.query<VoucherRow>(lockVoucher, [codeHash]);
  if (voucher === undefined) return { outcome: 'unknown_code' };
  const [earlier] = await transaction.query<RedemptionRow>(selectRedemption, [codeHash]);
  if (earlier !== undefined) {
    if (earlier.account_id !== accountId) return { outcome: 'unknown_code' };
    return { outcome: 'repeated', redemption: toRedemption(earlier) };
  }
  if (voucher.canceled_at !== null) return { outcome: 'canceled' };
  if (voucher.expires_at !== null && voucher.expires_at <= at) return { outcome: 'expired' };
  const given = await give(transaction, voucher, request);
  if (typeof given === 'string') return { outcome: given };
  const { batch_id: batchId, code_end: codeEnd } = voucher;
  const values = [codeHash, redemptionId, batchId, codeEnd, accountId, at, by, given.entryNo, given.subscriptionId];
  await transaction.query(insertRedemption, values);
  const [row] = await transaction.query<RedemptionRow>(selectRedemption, [codeHash]);
  return { outcome: 'redeemed', redemption: toRedemption(row!) };
}

async function give(
  transaction: Queryable,
  voucher: VoucherRow,
  { accountId, codeHash, subscriptionId, at, periodMsOf }: RedemptionRequest,
): Promise<Pick<Redemption, 'entryNo' | 'subscriptionId'> | RedeemRefusal> {
  const gift = toGift(voucher);
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
    memo: `voucher …${voucher.code_end} of ${voucher.batch_id}`,
    // By the blank no client's key is like it; the audit finds entries of vouchers by it.
    idempotencyKey: `voucher ${codeHash.toString('hex')}`,
    at,
  });
  if (posted.outcome !== 'posted') throw new Error(`the entry of a voucher was ${posted.outcome}`);
  return { entryNo: posted.entry.entryNo, subscriptionId: null };
}

function toRedemption(row: RedemptionRow): Redemption {
  return {
    id: row.id,
    batchId: row.batch_id,
    codeEnd: row.code_end,
    gift: toGift(row),
    accountId: row.account_id,
    redeemedAt: row.redeemed_at,
    redeemedBy: row.redeemed_by,
    entryNo: row.entry_no,
    subscriptionId: row.subscription_id,
    subscriptionEndsAt: row.ends_at,
  };
}
