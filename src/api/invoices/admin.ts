import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { InvoiceClosing, InvoiceStore } from '../../accounting/invoices/store.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Actor, signatureOf } from '../../people/actor.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { filterText, shortText } from '../management/wire.ts';
import { type Notify, noticeOfClosing } from './notices.ts';
import { type InvoiceResponse, invoiceList, invoiceResponse, invoicesToWire, listInvoices } from './wire.ts';

interface InvoiceAdminDependencies {
  readonly invoices: InvoiceStore;
  readonly accounts: Pick<AccountStore, 'findNames'>;
  readonly notify: Notify;
  readonly clock: Clock;
}

const issued = z.strictObject({ invoiceNumber: shortText, note: shortText.nullish() });
const refused = z.strictObject({ note: shortText });

export function invoiceEndpoints(dependencies: InvoiceAdminDependencies): AdminEndpoint[] {
  const { invoices, accounts, notify, clock } = dependencies;

  async function read(id: string): Promise<InvoiceResponse | null> {
    const found = await invoices.find(id);
    return found && (await invoicesToWire(accounts, [found]))[0]!;
  }

  const subject: ChangeSubject = { kind: 'invoice_request', read };

  async function close(id: string, closing: Omit<InvoiceClosing, 'by' | 'at'>, actor: Actor): Promise<InvoiceResponse> {
    const by = { by: signatureOf(actor), at: new Date(clock.nowMs()) };
    const closed = await invoices.close(id, { ...closing, ...by });
    if (closed === null) {
      if ((await invoices.find(id)) === null) throw notFound('invoice request', id);
      throw conflict('This request is closed already.');
    }
    await notify(noticeOfClosing(closed));
    return (await invoicesToWire(accounts, [closed]))[0]!;
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/invoice-requests',
      summary: 'List requests for invoices, newest first',
      query: invoiceList.extend({ accountId: filterText.optional() }),
      response: pageOf(invoiceResponse),
      run: ({ query: { accountId, ...query } }) => listInvoices(dependencies, query, accountId ?? null),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/invoice-requests/:id/issue',
      subject,
      summary: 'Close a request for an invoice with the number of the issued invoice',
      body: issued,
      response: invoiceResponse,
      run: ({ id, body: { invoiceNumber, note = null } }, { actor }) =>
        close(id, { state: 'issued', invoiceNumber, note }, actor),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/invoice-requests/:id/refuse',
      subject,
      summary: 'Refuse a request for an invoice; the account sees the reason and may request again',
      body: refused,
      response: invoiceResponse,
      run: ({ id, body: { note } }, { actor }) => close(id, { state: 'refused', invoiceNumber: null, note }, actor),
    }),
  ];
}
