import type { Statement } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { TransactionOverBoth } from '../../db/home-pools.ts';
import { bigintColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { NUMERIC_OUT_OF_RANGE } from '../ledger/ledger-store.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import { accountIdOf, mapByPartition } from '../partitions/routes.ts';
import { type PlanTerms, periodMsOf } from '../plans/plan.ts';
import { findSubscriptionEnds, giveVoucher, type OfferedPeriod } from './gift-store.ts';
import { decideCode, type RedeemRefusal, type RedemptionRequest, type VoucherGift } from './voucher.ts';
import { GIFT } from './vouchers-store.ts';

/** Redemptions are in the directory. The transaction that redeems a code also changes the account's partition. */

const VOUCHERS = selection({
  batchId: textColumn('v.batch_id'),
  codeEnd: textColumn('v.code_end'),
  gift: GIFT,
  expiresAt: orNull(dateColumn('b.expires_at')),
  canceledAt: orNull(dateColumn('b.canceled_at')),
});

/** Locks a voucher against concurrent redemptions of its code, and its batch against a concurrent cancellation. Uses primary keys. */
const lockVoucher: Statement = {
  name: 'vouchers.lock-voucher',
  text: `select ${VOUCHERS.list}
from vouchers v join voucher_batches b on b.id = v.batch_id
where v.code_hash = $1::bytea
for update of v for share of b`,
};

const REDEMPTIONS = selection({
  id: textColumn('r.id'),
  batchId: textColumn('r.batch_id'),
  codeEnd: textColumn('r.code_end'),
  gift: GIFT,
  accountId: textColumn('r.account_id'),
  redeemedAt: dateColumn('r.redeemed_at'),
  redeemedBy: textColumn('r.redeemed_by'),
  /** Ledger entry of the value; `null`: the voucher gives a plan. */
  entryNo: orNull(bigintColumn('r.entry_no')),
  /** Subscription that was given; `null`: the voucher gives money. */
  subscriptionId: orNull(textColumn('r.subscription_id')),
});

type StoredRedemption = RowOf<typeof REDEMPTIONS>;

export interface Redemption extends StoredRedemption {
  readonly subscriptionEndsAt: Date | null;
}

export type RedeemResult =
  | { readonly outcome: 'redeemed' | 'repeated'; readonly redemption: Redemption }
  /** The redemption was refused, and nothing was changed. */
  | { readonly outcome: RedeemRefusal };

export type OfferedPlan = Pick<PlanTerms, 'id' | 'periodDays' | 'sale'>;

const SELECT_REDEMPTIONS = `select ${REDEMPTIONS.list}
from voucher_redemptions r join voucher_batches b on b.id = r.batch_id`;

const selectRedemption: Statement = {
  name: 'vouchers.select-redemption',
  text: `${SELECT_REDEMPTIONS} where r.code_hash = $1::bytea`,
};

const insertRedemption: Statement = {
  name: 'vouchers.insert-redemption',
  text: `insert into voucher_redemptions (
  code_hash, id, batch_id, code_end, account_id, redeemed_at, redeemed_by, entry_no, subscription_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

/** Selects redemptions, newest first. Scans voucher_redemptions_by_batch backwards. */
const listRedemptions: Statement = {
  name: 'vouchers.list-redemptions',
  text: `${SELECT_REDEMPTIONS}
where r.batch_id = $1 and ($2::text is null or r.id < $2)
order by r.id desc limit $3::int`,
};

export type RedemptionStore = ReturnType<typeof createRedemptionStore>;

export function createRedemptionStore({ directory, partitions }: PlacedPools, plans: () => readonly OfferedPlan[]) {
  async function withEnds(redemptions: readonly StoredRedemption[]): Promise<Redemption[]> {
    const ends = await mapByPartition(partitions, redemptions, accountIdOf, findSubscriptionEnds);
    return redemptions.map((each) => withEnd(each, ends));
  }

  return {
    list: async (batchId: string, beforeId: string | null, limit: number): Promise<Redemption[]> =>
      withEnds(REDEMPTIONS.all(await directory.query(listRedemptions, [batchId, beforeId, limit]))),
    /** Finds the redemption of a code; `null`: it is not redeemed. */
    async find(codeHash: Buffer): Promise<Redemption | null> {
      const [found] = await withEnds(REDEMPTIONS.all(await directory.query(selectRedemption, [codeHash])));
      return found ?? null;
    },
    /** Redeems a code. If this account has already redeemed it, returns the first redemption. */
    async redeem(request: RedemptionRequest): Promise<RedeemResult> {
      const partition = await partitions.of(request.accountId);
      try {
        return await partition.transactionWithDirectory((transaction) => redeemIn(transaction, request, plans()));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
  };
}

async function redeemIn(
  transaction: TransactionOverBoth,
  request: RedemptionRequest,
  plans: readonly OfferedPlan[],
): Promise<RedeemResult> {
  const { accountId, codeHash, redemptionId: id, by: redeemedBy, at: redeemedAt } = request;
  if (!(await lockAccount(transaction, accountId))) return { outcome: 'unknown_account' };
  const voucher = VOUCHERS.first(await transaction.query(lockVoucher, [codeHash]));
  const earlier = REDEMPTIONS.first(await transaction.query(selectRedemption, [codeHash]));
  const decided = decideCode({ voucher, redemption: earlier }, request);
  const withEndOf = async (redemption: StoredRedemption): Promise<Redemption> =>
    withEnd(redemption, await findSubscriptionEnds(transaction, [redemption]));
  if (decided === 'redeemed') return { outcome: 'repeated', redemption: await withEndOf(earlier!) };
  if (decided !== 'free') return { outcome: decided };
  const { batchId, codeEnd, gift } = voucher!;
  const given = await giveVoucher(transaction, request, voucher!, periodOf(gift, plans));
  if (typeof given === 'string') return { outcome: given };
  const { entryNo, subscriptionId } = given;
  const values = [codeHash, id, batchId, codeEnd, accountId, redeemedAt, redeemedBy, entryNo, subscriptionId];
  await transaction.query(insertRedemption, values);
  const redemption = { id, batchId, codeEnd, gift, accountId, redeemedAt, redeemedBy, ...given };
  return { outcome: 'redeemed', redemption: await withEndOf(redemption) };
}

/** Returns the period of a plan to grant; `null` if the plan is no longer offered, or the voucher gives money. */
function periodOf(gift: VoucherGift, plans: readonly OfferedPlan[]): OfferedPeriod | null {
  const plan = gift.kind === 'plan' ? plans.find(({ id }) => id === gift.planId) : undefined;
  return plan === undefined ? null : { periodMs: periodMsOf(plan), sale: plan.sale };
}

const withEnd = (redemption: StoredRedemption, ends: ReadonlyMap<string, Date>): Redemption => ({
  ...redemption,
  subscriptionEndsAt: redemption.subscriptionId === null ? null : (ends.get(redemption.subscriptionId) ?? null),
});
