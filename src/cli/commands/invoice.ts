import type { InvoiceResponse } from '../../api/invoices/wire.ts';
import type { AccountResponse } from '../../api/management/wire.ts';
import { group } from '../command-rows.ts';
import { columnsOf } from '../table.ts';

const ID = { '<id>': 'the id of the request, as `invoice list` shows it' };

export const invoiceCommands = group('invoice', 'list and close the requests of accounts for invoices', {
  list: {
    about: 'list requests for invoices, newest first',
    with: {
      '--state <state>': 'only requests in this state: open, issued or refused',
      '--account <account>': 'only requests of this account',
    },
    lists: '/invoice-requests',
    filters: ['state', 'accountId'],
    empty: 'There are no such requests. Owners request an invoice in the console or by the account API.',
    columns: [
      ...columnsOf<InvoiceResponse>('id', 'account: accountName'),
      { title: 'for', cell: whatOf },
      ...columnsOf<InvoiceResponse>('amountYuan', 'state', 'requestedAt'),
      { title: 'buyer', cell: (row: InvoiceResponse) => describeBuyer(row.buyer) },
      { title: 'answer', cell: (row: InvoiceResponse) => row.invoiceNumber ?? row.note ?? '' },
    ],
  },
  'issue <id> <number>': {
    about: 'close a request with the number of the invoice that you issued; the account sees it',
    with: { ...ID, '<number>': 'the number of the invoice', '--note <text>': 'a remark that the account sees' },
    sends: 'POST /invoice-requests/:id/issue',
    body: ['invoiceNumber: number', 'note'],
    text: ({ accountName, invoiceNumber, amountYuan }: InvoiceResponse) =>
      `Invoice ${invoiceNumber} of ¥${amountYuan} for ${accountName} is issued.`,
  },
  'refuse <id>': {
    about: 'refuse a request; the account sees the reason and may request again',
    with: { ...ID, '--reason <text>': { text: 'why no invoice is issued', isRequired: true } },
    sends: 'POST /invoice-requests/:id/refuse',
    body: ['note: reason'],
    text: ({ id, accountName }: InvoiceResponse) => `The request ${id} of ${accountName} is refused.`,
  },
});

function whatOf({ month, entryIds }: InvoiceResponse): string {
  if (month !== null) return month;
  const count = entryIds?.length ?? 0;
  return count === 1 ? (entryIds?.[0] ?? '') : `${count} top-ups`;
}

/** Text for the particulars of a buyer: all that are known, on one line. */
export function describeBuyer({
  companyName,
  taxNumber,
  address,
  email,
}: NonNullable<AccountResponse['buyer']>): string {
  return [companyName, taxNumber, address, email].filter((part) => part !== null).join(', ');
}
