import { z } from 'zod';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import { type PartiesDependencies, partiesOf } from '../accounts/parties.ts';
import { notFound } from '../management/endpoint.ts';
import { buyerResponse, sellerResponse } from '../management/parties.ts';
import { at, yuan } from '../management/response-fields.ts';
import { ledgerEntryToWire, readLedgerEntryId } from '../management/wire.ts';

/** The receipt of a top-up. Its number is the id of the ledger entry. */
export const receiptResponse = z
  .strictObject({
    number: z.string().describe('The id of the ledger entry.'),
    accountId: z.string(),
    accountName: z.string(),
    seller: sellerResponse.nullable(),
    buyer: buyerResponse.nullable(),
    amountYuan: yuan,
    reference: z.string().nullable(),
    createdAt: at,
    timezone: z.string().describe('The billing time zone.'),
  })
  .meta({ id: 'Receipt' });
export type ReceiptResponse = z.infer<typeof receiptResponse>;

export interface ReceiptDependencies extends PartiesDependencies {
  readonly ledger: Pick<LedgerStore, 'findEntries'>;
}

/** Returns the receipt of a top-up. `ofAccount`: the account that may see it; `null`: any. @throws GatewayError 404 */
export async function readReceipt(
  dependencies: ReceiptDependencies,
  id: string,
  ofAccount: string | null,
): Promise<ReceiptResponse> {
  const asked = readLedgerEntryId(id);
  if (asked === null || (ofAccount !== null && asked.accountId !== ofAccount)) throw notFound('top-up', id);
  const { accountId } = asked;
  const [entry] = await dependencies.ledger.findEntries(accountId, [asked.entryNo]);
  if (entry?.kind !== 'top_up') throw notFound('top-up', id);
  const { amountYuan, reference, createdAt } = ledgerEntryToWire(entry);
  const parties = await partiesOf(dependencies, accountId);
  const { timezone } = dependencies.config().billing;
  return { number: id, accountId, ...parties, amountYuan, reference, createdAt, timezone };
}
