import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable, TransactionOverBoth } from '../../db/home-pools.ts';
import { dateColumn, selection, textColumn } from '../../db/table.ts';
import { postEntry } from '../ledger/ledger-store.ts';
import type { PlanSale } from '../plans/plan.ts';
import { findKeyedSubscription, grantPeriod } from '../plans/subscriptions-store.ts';
import type { GiftRefusal, RedemptionRequest, VoucherGift } from './voucher.ts';

/** This file stores what vouchers give. A gift is in the partition of the account. */

const ENDS = selection({ id: textColumn('s.id'), endsAt: dateColumn('s.ends_at') });

const selectEnds: Statement = {
  name: 'vouchers.select-subscription-ends',
  text: `select ${ENDS.list}
from unnest($1::text[], $2::text[]) as v (account_id, id) join subscriptions s on s.account_id = v.account_id and s.id = v.id`,
};

export interface Given {
  readonly entryNo: bigint | null;
  readonly subscriptionId: string | null;
}

export interface Voucher {
  readonly batchId: string;
  readonly codeEnd: string;
  readonly gift: VoucherGift;
}

export interface OfferedPeriod {
  readonly periodMs: number;
  readonly sale: PlanSale | null;
}

/**
 * Gives a voucher's value or plan to an account that is locked. A refusal writes nothing. The idempotency key is derived from the code, so
 * that a code is used only once, even if an import has lost its redemption.
 */
export async function giveVoucher(
  transaction: TransactionOverBoth,
  { accountId, codeHash, subscriptionId, at }: RedemptionRequest,
  { batchId, codeEnd, gift }: Voucher,
  period: OfferedPeriod | null,
): Promise<Given | GiftRefusal> {
  const idempotencyKey = keyOf(codeHash);
  if (gift.kind === 'value') {
    const memo = `voucher …${codeEnd} of ${batchId}`;
    const entry = { accountId, kind: 'top_up', amountNano: gift.amountNano, memo, idempotencyKey, at } as const;
    const posted = await postEntry(transaction, entry);
    if (!('entry' in posted)) throw new Error(`posting the entry of a voucher failed: ${posted.outcome}`);
    return { entryNo: posted.entry.entryNo, subscriptionId: null };
  }
  const { planId } = gift;
  const keyed = { idempotencyKey, request: JSON.stringify(['voucher', planId]) };
  const granted =
    (await findKeyedSubscription(transaction, accountId, keyed)) ??
    (period && (await grantPeriod(transaction, { accountId, id: subscriptionId, planId, at, ...period }, keyed)));
  if (granted === null) return 'unknown_plan';
  return typeof granted === 'string' ? granted : { entryNo: null, subscriptionId: granted.id };
}

/** Returns when subscriptions end, by subscription id. */
export async function findSubscriptionEnds(
  partition: PartitionQueryable,
  redemptions: readonly { readonly accountId: string; readonly subscriptionId: string | null }[],
): Promise<Map<string, Date>> {
  const ofPlans = redemptions.filter(({ subscriptionId }) => subscriptionId !== null);
  if (ofPlans.length === 0) return new Map();
  const names = fieldsOf(ofPlans, 'accountId', 'subscriptionId');
  return new Map(ENDS.all(await partition.query(selectEnds, names)).map(({ id, endsAt }) => [id, endsAt]));
}

/** Idempotency key of a gift. It contains a space, which clients' keys never do. Audits find gifts by this prefix. */
const keyOf = (codeHash: Buffer): string => `voucher ${codeHash.toString('hex')}`;
