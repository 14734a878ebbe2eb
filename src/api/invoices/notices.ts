import type { InvoiceRequest } from '../../accounting/invoices/store.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { DueNotice } from '../../notices/notice.ts';

/** Sends a notice. A failure is logged, because the change that it is about is made. */
export type Notify = (notice: DueNotice) => Promise<void>;

const dataOf = ({ id, accountId, month, amountNano }: InvoiceRequest) => ({
  requestId: id,
  accountId,
  month,
  amountYuan: formatYuan(amountNano),
});

/** For operators: somebody waits for an invoice. */
export const noticeOfRequest = (request: InvoiceRequest): DueNotice => ({
  kind: 'invoice.requested',
  accountId: null,
  subject: request.id,
  dedupeKey: `invoice.requested ${request.id}`,
  quietMs: 0,
  data: { ...dataOf(request), companyName: request.buyer.companyName },
});

/** For the account: its request is answered. */
export const noticeOfClosing = (request: InvoiceRequest): DueNotice => ({
  kind: 'invoice.closed',
  accountId: request.accountId,
  subject: request.id,
  dedupeKey: `invoice.closed ${request.id}`,
  quietMs: 0,
  data: {
    ...dataOf(request),
    state: request.state,
    invoiceNumber: request.invoiceNumber,
    note: request.note,
  },
});
