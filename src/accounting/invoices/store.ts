import { type Statement, toArray } from '../../db/database.ts';
import { createFilteredList } from '../../db/filtered-list.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import {
  bigintColumn,
  dateColumn,
  jsonbColumn,
  listColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import type { LookedThrough, SliceTiming } from '../../lib/slices.ts';
import type { Buyer } from '../accounts/store.ts';

/** This file stores requests for invoices. They change no balance; an operator issues the invoice elsewhere and closes the request. */

export type InvoiceState = 'open' | 'issued' | 'refused';

export const INVOICE_PREFIX = 'inv';

/** Maximum number of open requests of an account. */
export const OPEN_REQUESTS_MAX = 50;

const REQUESTS = selection({
  id: textColumn('id'),
  accountId: textColumn('account_id'),
  month: orNull(textColumn('month')),
  entryIds: orNull(listColumn('entry_ids')),
  amountNano: bigintColumn('amount_nano'),
  /** The particulars when the invoice was requested. */
  buyer: jsonbColumn<Buyer>('buyer'),
  state: textColumn<InvoiceState>('state'),
  requestedAt: dateColumn('requested_at'),
  requestedBy: textColumn('requested_by'),
  closedAt: orNull(dateColumn('closed_at')),
  closedBy: orNull(textColumn('closed_by')),
  invoiceNumber: orNull(textColumn('invoice_number')),
  note: orNull(textColumn('note')),
});

export type InvoiceRequest = RowOf<typeof REQUESTS>;

export type NewInvoiceRequest = Pick<
  InvoiceRequest,
  'id' | 'accountId' | 'month' | 'entryIds' | 'amountNano' | 'buyer' | 'requestedAt' | 'requestedBy'
>;

/** How an operator closes a request. */
export interface InvoiceClosing {
  readonly state: Exclude<InvoiceState, 'open'>;
  /** `null`: the request is refused. */
  readonly invoiceNumber: string | null;
  readonly note: string | null;
  readonly by: string;
  readonly at: Date;
}

/** Locks the account, so that of two requests for the same month or top-up one finds the other. Calls do not wait for this lock. */
const lockAccount: Statement = {
  name: 'invoices.lock-account',
  text: 'select id from accounts where id = $1 for no key update',
};

const EARLIER = selection({
  id: orNull(textColumn('id')),
  open: bigintColumn('open'),
});

/** Selects an earlier request for the same month or one of the top-ups, and the number of open ones. Uses invoice_requests_by_account. */
const selectEarlier: Statement = {
  name: 'invoices.select-earlier',
  text: `select min(id) filter (where state <> 'refused' and (month = $2 or entry_ids && $3::text[])) as id,
  count(*) filter (where state = 'open') as open
from invoice_requests where account_id = $1`,
};

const insertRequest: Statement = {
  name: 'invoices.insert',
  text: `insert into invoice_requests (id, account_id, month, entry_ids, amount_nano, buyer, state, requested_at, requested_by)
values ($1, $2, $3, $4::text[], $5, $6, 'open', $7, $8)
returning ${REQUESTS.list}`,
};

/** Closes a request that is open. A second one at the same time waits for the row, and then finds nothing to close. */
const closeRequest: Statement = {
  name: 'invoices.close',
  text: `update invoice_requests set state = $2, invoice_number = $3, note = $4, closed_by = $5, closed_at = $6
where id = $1 and state = 'open'
returning ${REQUESTS.list}`,
};

const selectRequest: Statement = {
  name: 'invoices.select',
  text: `select ${REQUESTS.list} from invoice_requests where id = $1`,
};

export type InvoiceStore = ReturnType<typeof createInvoiceStore>;

export function createInvoiceStore(database: DirectoryPool) {
  const list = createFilteredList(database, {
    table: 'invoice_requests',
    columns: REQUESTS,
    idPrefix: INVOICE_PREFIX,
    at: 'requested_at',
    leads: ['account_id', 'state'],
  });
  return {
    /** Stores a request. `requestedAlready`: a request that is not refused has the same month, or one of the same top-ups. */
    insert: (request: NewInvoiceRequest): Promise<InvoiceRequest | 'requestedAlready' | 'tooManyOpen'> =>
      database.transaction(async (transaction) => {
        const { id, accountId, month, entryIds, amountNano, buyer, requestedAt, requestedBy } = request;
        const entries = entryIds && toArray(entryIds);
        await transaction.query(lockAccount, [accountId]);
        const earlier = EARLIER.first(await transaction.query(selectEarlier, [accountId, month, entries]))!;
        if (earlier.id !== null) return 'requestedAlready';
        if (earlier.open >= OPEN_REQUESTS_MAX) return 'tooManyOpen';
        const values = [id, accountId, month, entries, amountNano, JSON.stringify(buyer), requestedAt, requestedBy];
        return REQUESTS.first(await transaction.query(insertRequest, values))!;
      }),
    /** Closes an open request; `null` if there is none with this id. */
    close: async (id: string, { state, invoiceNumber, note, by, at }: InvoiceClosing): Promise<InvoiceRequest | null> =>
      REQUESTS.first(await database.query(closeRequest, [id, state, invoiceNumber, note, by, at])),
    find: async (id: string): Promise<InvoiceRequest | null> =>
      REQUESTS.first(await database.query(selectRequest, [id])),
    /** Lists requests, newest first. */
    list: (
      filter: { readonly accountId: string | null; readonly state: InvoiceState | null },
      beforeId: string | null,
      limit: number,
      timing: SliceTiming,
    ): Promise<LookedThrough<InvoiceRequest>> =>
      list(
        { values: { account_id: filter.accountId, state: filter.state }, from: null, to: null },
        beforeId,
        limit,
        timing,
      ),
  };
}
