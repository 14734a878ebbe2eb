import { z } from 'zod';
import type { LedgerStore, NewLedgerEntry } from '../../accounting/ledger/ledger-store.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { PartiesDependencies } from '../accounts/parties.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound, Repeat, unprocessable } from '../management/endpoint.ts';
import { LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { pageOf, yuan } from '../management/response-fields.ts';
import {
  amountYuan,
  instant,
  ledgerEntryId,
  ledgerEntryResponse,
  ledgerEntryToWire,
  ledgerKind,
  page,
  positiveAmountYuan,
  shortText,
} from '../management/wire.ts';
import { readReceipt, receiptResponse } from './receipt.ts';

interface LedgerAdminDependencies extends PartiesDependencies {
  readonly ledger: LedgerStore;
  readonly clock: Clock;
  readonly periods: () => RunningPeriods;
}

const topUp = z.strictObject({
  amountYuan: positiveAmountYuan,
  memo: shortText.nullish(),
  /** What identifies the payment, such as the number of a bank transfer. The account sees it, unlike the memo. */
  reference: shortText.pipe(z.string().max(64, 'At most 64 characters.')).nullish(),
});
const adjustment = z.strictObject({
  amountYuan: amountYuan.refine((nano) => nano !== 0n, { error: 'Expected an amount other than zero.' }),
  memo: shortText,
});
const posted = z.strictObject({ entryId: z.string(), balanceYuan: yuan }).meta({ id: 'PostedEntry' });
export type PostedEntry = z.infer<typeof posted>;
export const ledgerList = z.strictObject({
  ...page,
  kind: ledgerKind.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

export async function listLedger(
  ledger: Pick<LedgerStore, 'listEntries'>,
  accountId: string,
  { cursor, limit, kind, from, to }: Partial<z.infer<typeof ledgerList>> & { readonly limit: number },
) {
  const filter = { kind: kind ?? null, from: from ?? null, to: to ?? null };
  const { items, next } = await ledger.listEntries(accountId, readCursor(cursor), limit, filter, LIST_TIMING);
  return { data: items.map(ledgerEntryToWire), nextCursor: next };
}

export function ledgerEndpoints(dependencies: LedgerAdminDependencies): AdminEndpoint[] {
  const { ledger, clock, periods } = dependencies;

  async function post(entry: Omit<NewLedgerEntry, 'at'>): Promise<PostedEntry | Repeat<PostedEntry>> {
    const result = await ledger.post({ ...entry, at: new Date(clock.nowMs()) });
    switch (result.outcome) {
      case 'unknown_account':
        throw notFound('account', entry.accountId);
      case 'out_of_range':
        throw unprocessable('The balance would exceed the maximum.', 'amountYuan');
      case 'key_conflict':
        throw conflict('This Idempotency-Key was used for another amount, memo, reference or kind of entry.');
      case 'posted':
      case 'repeated':
        return Repeat.if(result.outcome === 'repeated', {
          entryId: ledgerEntryId(result.entry.accountId, result.entry.entryNo),
          balanceYuan: formatYuan(result.entry.balanceAfterNano),
        });
    }
  }

  /** What the audit log shows of a change: the balance before and after it, and the ledger entry. */
  const balance: ChangeSubject<unknown, z.infer<typeof topUp>> = {
    kind: 'account',
    noted: ({ body: { amountYuan, memo = null, reference } }) => ({
      amountYuan: formatYuan(amountYuan),
      memo,
      ...(reference && { reference }),
    }),
    async read(id) {
      const found = (await ledger.findBalances([id], periods())).get(id);
      return found === undefined ? null : { balanceYuan: formatYuan(found.balanceNano) };
    },
  };

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/top-ups',
      subject: balance,
      status: 201,
      summary: 'Add money to a balance',
      body: topUp,
      isRepeatable: true,
      response: posted,
      run: ({ id, body: { amountYuan: amountNano, memo = null, reference = null }, idempotencyKey }) =>
        post({ accountId: id, kind: 'top_up', amountNano, memo, reference, idempotencyKey }),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/adjustments',
      subject: balance,
      status: 201,
      summary: 'Correct a balance, up or down',
      body: adjustment,
      isRepeatable: true,
      response: posted,
      run: ({ id, body, idempotencyKey }) =>
        post({ accountId: id, kind: 'adjustment', amountNano: body.amountYuan, memo: body.memo, idempotencyKey }),
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/ledger',
      summary: 'List the ledger entries of an account, newest first; also as CSV',
      query: ledgerList,
      response: pageOf(ledgerEntryResponse),
      lines: LIST_LINES,
      async run({ id, query, wantsCsv }) {
        const balances = await ledger.findBalances([id], periods());
        if (!balances.has(id)) throw notFound('account', id);
        const columns = Object.keys(ledgerEntryResponse.shape);
        return listOrCsv(wantsCsv, columns, query, (asked) => listLedger(ledger, id, asked));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/receipts/:id',
      summary: 'Read the receipt of a top-up, by the id of its ledger entry',
      response: receiptResponse,
      run: ({ id }) => readReceipt(dependencies, id, null),
    }),
  ];
}

function readCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  if (!/^\d{1,18}$/.test(cursor)) throw invalidRequest('cursor: Expected the nextCursor of an earlier page.', 'cursor');
  return cursor;
}
