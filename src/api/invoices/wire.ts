import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { InvoiceRequest, InvoiceStore } from '../../accounting/invoices/store.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { signerIdOf } from '../../people/actor.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { buyerResponse } from '../management/parties.ts';
import { at, listOf, signerId, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { page } from '../management/wire.ts';

const invoiceState = z.enum(['open', 'issued', 'refused'], { error: 'Expected open, issued or refused.' });

export const invoiceList = z.strictObject({ ...page, state: invoiceState.optional() });

export const invoiceResponse = z
  .strictObject({
    id: z.string(),
    accountId: z.string(),
    accountName: z.string().nullable(),
    month: z.string().nullable().describe('The month that the invoice is for; null: it is for top-ups.'),
    entryIds: listOf(z.string())
      .nullable()
      .describe('The ledger entries of the top-ups that the invoice is for; null: it is for a month.'),
    amountYuan: yuan.describe('For a month its charges less its refunds, for top-ups their sum.'),
    buyer: buyerResponse.describe('The particulars of the buyer when the invoice was requested.'),
    state: invoiceState,
    requestedAt: at,
    requestedBy: z.string(),
    requestedById: signerId,
    closedAt: at.nullable(),
    closedBy: z.string().nullable(),
    closedById: signerId,
    invoiceNumber: z.string().nullable().describe('The number of the invoice; null: none was issued.'),
    note: z.string().nullable().describe('A remark on the invoice, or the reason of a refusal.'),
  })
  .meta({ id: 'InvoiceRequest' });
export type InvoiceResponse = z.infer<typeof invoiceResponse>;

/** A request without the operator who closed it. */
export const ownInvoiceResponse = invoiceResponse
  .omit({ accountId: true, accountName: true, closedBy: true, closedById: true })
  .meta({ id: 'OwnInvoiceRequest' });

export interface InvoiceReaderDependencies {
  readonly invoices: Pick<InvoiceStore, 'list'>;
  readonly accounts: Pick<AccountStore, 'findNames'>;
}

export async function invoicesToWire(
  accounts: Pick<AccountStore, 'findNames'>,
  requests: readonly InvoiceRequest[],
): Promise<InvoiceResponse[]> {
  const names = await accountNamesOf(accounts, requests);
  return requests.map(({ amountNano, ...request }) =>
    shown(invoiceResponse, {
      ...request,
      accountName: names.get(request.accountId) ?? null,
      amountYuan: formatYuan(amountNano),
      requestedById: signerIdOf(request.requestedBy),
      closedById: request.closedBy === null ? null : signerIdOf(request.closedBy),
    }),
  );
}

export async function listInvoices(
  { invoices, accounts }: InvoiceReaderDependencies,
  { state, cursor, limit }: z.infer<typeof invoiceList>,
  accountId: string | null,
) {
  const { items, next } = await invoices.list({ accountId, state: state ?? null }, cursor ?? null, limit, LIST_TIMING);
  return { data: await invoicesToWire(accounts, items), nextCursor: next };
}
