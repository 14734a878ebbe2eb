import { z } from 'zod';
import type { Redemption } from '../../accounting/vouchers/redemption-store.ts';
import type { VoucherGift } from '../../accounting/vouchers/voucher.ts';
import type { VoucherBatch } from '../../accounting/vouchers/vouchers-store.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { signerIdOf } from '../../people/actor.ts';
import { csvOf } from '../management/list-csv.ts';
import { at, count, listOf, signerId, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { ledgerEntryId } from '../management/wire.ts';

const kind = z.enum(['value', 'plan']);

const gift = {
  kind,
  amountYuan: yuan
    .nullable()
    .describe('The amount that the voucher adds to the balance; null: the voucher grants a plan.'),
  planId: z
    .string()
    .nullable()
    .describe('The plan that the voucher grants for one period; null: the voucher adds an amount.'),
};

const batchMembers = {
  id: z.string(),
  name: z.string(),
  ...gift,
  count,
  redeemedCount: count,
  expiresAt: at.nullable(),
  createdAt: at,
  createdBy: z.string(),
  createdById: signerId,
  canceledAt: at.nullable().describe('When the batch was canceled.'),
};

export const batchResponse = z.strictObject(batchMembers).meta({ id: 'VoucherBatch' });
export type BatchResponse = z.infer<typeof batchResponse>;

export const newBatchResponse = z
  .strictObject({ ...batchMembers, codes: listOf(z.string()) })
  .meta({ id: 'NewVoucherBatch' });
export type NewBatchResponse = z.infer<typeof newBatchResponse>;

const ownMembers = {
  id: z.string(),
  accountId: z.string(),
  codeEnd: z.string().describe('The last characters of the code.'),
  ...gift,
  redeemedAt: at,
  entryId: z.string().nullable().describe('The ledger entry, if an amount was added.'),
  subscriptionId: z.string().nullable().describe('The subscription that was created or renewed.'),
  subscriptionEndsAt: at.nullable().describe('The end of the created or renewed subscription.'),
};

export const ownRedemptionResponse = z.strictObject(ownMembers).meta({ id: 'OwnVoucherRedemption' });
type OwnRedemptionResponse = z.infer<typeof ownRedemptionResponse>;

export const redemptionResponse = z
  .strictObject({
    ...ownMembers,
    accountName: z.string(),
    batchId: z.string(),
    redeemedBy: z.string(),
    redeemedById: signerId,
  })
  .meta({ id: 'VoucherRedemption' });
export type RedemptionResponse = z.infer<typeof redemptionResponse>;

export const foundVoucherResponse = z
  .strictObject({
    codeEnd: ownMembers.codeEnd,
    batch: batchResponse,
    redemption: redemptionResponse.nullable().describe('null: not redeemed.'),
  })
  .meta({ id: 'FoundVoucher' });

export function voucherCsv({ codes, ...batch }: NewBatchResponse): string {
  const { titles, lineOf } = csvOf(['code', 'amountYuan', 'planId', 'expiresAt']);
  return [titles, ...codes.map((code) => lineOf({ ...batch, code }))].join('');
}

export function batchToWire(batch: VoucherBatch): BatchResponse {
  return shown(batchResponse, {
    ...batch,
    ...giftToWire(batch.gift),
    count: batch.voucherCount,
    createdById: signerIdOf(batch.createdBy),
  });
}

export function ownRedemptionToWire(redemption: Redemption): OwnRedemptionResponse {
  const { accountId, entryNo } = redemption;
  return shown(ownRedemptionResponse, {
    ...redemption,
    ...giftToWire(redemption.gift),
    entryId: entryNo === null ? null : ledgerEntryId(accountId, entryNo),
  });
}

export function redemptionToWire(
  redemption: Redemption,
  accountNames: ReadonlyMap<string, string>,
): RedemptionResponse {
  const { accountId, batchId, redeemedBy } = redemption;
  // Accounts are never deleted, so the name is always found.
  const accountName = accountNames.get(accountId) ?? accountId;
  const redeemedById = signerIdOf(redeemedBy);
  return { ...ownRedemptionToWire(redemption), accountName, batchId, redeemedBy, redeemedById };
}

function giftToWire(given: VoucherGift) {
  return given.kind === 'value'
    ? { kind: given.kind, amountYuan: formatYuan(given.amountNano), planId: null }
    : { kind: given.kind, amountYuan: null, planId: given.planId };
}
