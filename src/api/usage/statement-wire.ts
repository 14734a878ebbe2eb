import { z } from 'zod';
import { buyerResponse, sellerResponse } from '../management/parties.ts';
import { at, count, listOf, yuan } from '../management/response-fields.ts';
import { ledgerEntryResponse, ledgerKind } from '../management/wire.ts';
import { usageRowResponse } from './wire.ts';

export const statementEntry = ledgerEntryResponse.omit({ balanceAfterYuan: true });

/** A statement: sums of the ledger for a month, and its calls by model. */
export const statementResponse = z
  .strictObject({
    accountId: z.string(),
    accountName: z.string(),
    seller: sellerResponse.nullable(),
    buyer: buyerResponse.nullable(),
    month: z.string(),
    timezone: z.string(),
    from: at,
    to: at,
    isOver: z.boolean(),
    openingYuan: yuan,
    closingYuan: yuan,
    kinds: listOf(z.strictObject({ kind: ledgerKind, entries: count, amountYuan: yuan })),
    entries: listOf(statementEntry).describe('Without charges, oldest first.'),
    areEntriesCut: z.boolean(),
    models: listOf(usageRowResponse),
    completeUntil: at.nullable(),
  })
  .meta({ id: 'Statement' });
export type StatementResponse = z.infer<typeof statementResponse>;
