import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { amountOfMonth, amountOfTopUps } from '../../accounting/invoices/invoiced-amount.ts';
import { INVOICE_PREFIX, type InvoiceStore, OPEN_REQUESTS_MAX } from '../../accounting/invoices/store.ts';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import { monthOf } from '../../accounting/usage/month.ts';
import type { StatementStore } from '../../accounting/usage/statement-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { signatureOf } from '../../people/actor.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { conflict, orNotFound, unprocessable } from '../management/endpoint.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { filterText, readLedgerEntryId } from '../management/wire.ts';
import { statementMonth } from '../usage/admin.ts';
import { type Notify, noticeOfRequest } from './notices.ts';
import { invoiceList, invoicesToWire, listInvoices, ownInvoiceResponse } from './wire.ts';

interface OwnInvoiceDependencies {
  readonly invoices: InvoiceStore;
  readonly accounts: Pick<AccountStore, 'findAccount' | 'findNames'>;
  readonly ledger: Pick<LedgerStore, 'findEntries'>;
  readonly statements: Pick<StatementStore, 'sum'>;
  readonly localTime: () => LocalTime;
  readonly notify: Notify;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Maximum number of top-ups of a request. */
const TOP_UPS_MAX = 50;

const newRequest = z
  .strictObject({
    /** A month that is over: the invoice is for its charges less its refunds. */
    month: statementMonth.optional(),
    /** Ids of ledger entries: the invoice is for these top-ups. */
    entryIds: z
      .array(filterText)
      .min(1)
      .max(TOP_UPS_MAX)
      .refine((ids) => new Set(ids).size === ids.length, { error: 'List each top-up only once.' })
      .optional(),
  })
  .refine(({ month, entryIds }) => (month === undefined) !== (entryIds === undefined), {
    error: 'Send either month or entryIds.',
  });

export function ownInvoiceEndpoints(dependencies: OwnInvoiceDependencies): AccountEndpoint[] {
  const { invoices, accounts, ledger, statements, localTime, notify, clock, ids } = dependencies;

  async function amountOf(accountId: string, { month, entryIds = [] }: z.infer<typeof newRequest>): Promise<bigint> {
    const [amount, param] =
      month === undefined
        ? [await sumOfTopUps(accountId, entryIds), 'entryIds']
        : [await sumOfMonth(accountId, month), 'month'];
    if (amount === 'not_a_top_up')
      throw unprocessable('entryIds: Only top-ups of this account can be invoiced.', param);
    if (amount === 'nothing_to_invoice') throw unprocessable('There is nothing to invoice.', param);
    return amount;
  }

  async function sumOfMonth(accountId: string, month: string) {
    const { from, to } = monthOf(month, localTime());
    if (to.getTime() > clock.nowMs()) throw unprocessable('month: The month is not over yet.', 'month');
    return amountOfMonth(orNotFound(await statements.sum(accountId, from, to), 'account', accountId).kinds);
  }

  async function sumOfTopUps(accountId: string, entryIds: readonly string[]) {
    const entryNos = entryIds.flatMap((id) => {
      const entry = readLedgerEntryId(id);
      return entry?.accountId === accountId ? [entry.entryNo] : [];
    });
    return amountOfTopUps(await ledger.findEntries(accountId, entryNos), entryIds.length);
  }

  return [
    accountEndpoint({
      method: 'GET',
      path: '/invoice-requests',
      summary: 'List the account’s requests for invoices, newest first',
      needs: 'owner',
      query: invoiceList,
      response: pageOf(ownInvoiceResponse),
      run: async ({ query }, { scope }) =>
        shownPage(ownInvoiceResponse, await listInvoices(dependencies, query, scope.accountId)),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/invoice-requests',
      subject: { kind: 'invoice_request' },
      status: 201,
      summary: 'Request an invoice for a month that is over, or for top-ups; each can be invoiced once',
      needs: 'owner',
      body: newRequest,
      response: ownInvoiceResponse,
      async run({ body }, { actor, scope: { accountId } }) {
        const { buyer } = await requireAccount(accounts, accountId);
        if (buyer === null) throw conflict('Enter the particulars of the buyer first.');
        const { month = null, entryIds = null } = body;
        const request = {
          id: ids.next(INVOICE_PREFIX),
          accountId,
          month,
          entryIds,
          amountNano: await amountOf(accountId, body),
          buyer,
          requestedAt: new Date(clock.nowMs()),
          requestedBy: signatureOf(actor),
        };
        const made = await invoices.insert(request);
        if (made === 'requestedAlready') throw conflict('An invoice was already requested for this.');
        if (made === 'tooManyOpen') {
          throw conflict(`At most ${OPEN_REQUESTS_MAX} requests for invoices may be open at a time.`);
        }
        await notify(noticeOfRequest(made));
        return shown(ownInvoiceResponse, (await invoicesToWire(accounts, [made]))[0]!);
      },
    }),
  ];
}
