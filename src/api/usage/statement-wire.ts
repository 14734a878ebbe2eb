import { z } from 'zod';
import type { LedgerEntry } from '../../accounting/ledger/ledger-store.ts';
import type { LedgerSums } from '../../accounting/usage/statement-store.ts';
import type { Completeness, UsageRow } from '../../accounting/usage/usage-store.ts';
import { CsvAmount, csvLine } from '../../lib/csv.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { at, count, listOf, yuan } from '../management/response-fields.ts';
import { ledgerEntryId, ledgerEntryResponse, ledgerKind } from '../management/wire.ts';
import { usageRowResponse, usageRowToWire } from './wire.ts';

/** A statement of account: what the ledger says of a month, and the calls of the month by model. */
export interface AccountStatement {
  readonly accountId: string;
  readonly month: string;
  readonly timezone: string;
  readonly from: Date;
  readonly to: Date;
  /** Whether the month has ended. */
  readonly isOver: boolean;
  readonly sums: LedgerSums;
  /** Entries that are no charges, oldest first. */
  readonly entries: readonly LedgerEntry[];
  readonly areEntriesCut: boolean;
  readonly models: readonly UsageRow[];
  readonly completeness: Completeness;
}

export const statementResponse = z
  .strictObject({
    accountId: z.string(),
    month: z.string(),
    timezone: z.string(),
    from: at,
    to: at,
    isOver: z.boolean(),
    openingYuan: yuan,
    closingYuan: yuan,
    kinds: listOf(z.strictObject({ kind: ledgerKind, entries: count, amountYuan: yuan })),
    entries: listOf(ledgerEntryResponse.omit({ balanceAfterYuan: true })).describe('Without charges, oldest first.'),
    areEntriesCut: z.boolean(),
    models: listOf(usageRowResponse),
    completeUntil: at.nullable(),
  })
  .meta({ id: 'Statement' });
export type StatementResponse = z.infer<typeof statementResponse>;

export function statementToWire(statement: AccountStatement): StatementResponse {
  const { accountId, month, timezone, from, to, isOver, sums, entries, areEntriesCut, models, completeness } =
    statement;
  return {
    accountId,
    month,
    timezone,
    from: from.toISOString(),
    to: to.toISOString(),
    isOver,
    openingYuan: formatYuan(sums.openingNano),
    closingYuan: formatYuan(sums.closingNano),
    kinds: sums.kinds.map(({ kind, entries: count, amountNano }) => ({
      kind,
      entries: count,
      amountYuan: formatYuan(amountNano),
    })),
    entries: entries.map((entry) => ({
      id: ledgerEntryId(accountId, entry.entryNo),
      kind: entry.kind,
      amountYuan: formatYuan(entry.amountNano),
      callId: entry.callId,
      memo: entry.memo,
      createdAt: entry.createdAt.toISOString(),
    })),
    areEntriesCut,
    models: models.map((row) => usageRowToWire(row, ['model'])),
    completeUntil: completeness.until?.toISOString() ?? null,
  };
}

/** Its lines add up: the opening balance and what follows, charges as one line, are the closing balance. */
export function statementCsv(statement: AccountStatement): string {
  return [...statementLines(statement)].join('');
}

function* statementLines(statement: AccountStatement): Generator<string> {
  const { from, to, sums, entries, areEntriesCut } = statement;
  const listed = new Set<string>(
    areEntriesCut ? [] : sums.kinds.flatMap(({ kind }) => (kind === 'charge' ? [] : [kind])),
  );
  yield csvLine(['line', 'when', 'entries', 'amountYuan', 'callId', 'memo']);
  yield csvLine(['opening', from.toISOString(), null, new CsvAmount(formatYuan(sums.openingNano)), null, null]);
  for (const { kind, entries: count, amountNano } of sums.kinds) {
    if (listed.has(kind)) continue;
    yield csvLine([kind, null, count, new CsvAmount(formatYuan(amountNano)), null, null]);
  }
  for (const { kind, createdAt, amountNano, callId, memo } of areEntriesCut ? [] : entries) {
    yield csvLine([kind, createdAt.toISOString(), 1, new CsvAmount(formatYuan(amountNano)), callId, memo]);
  }
  yield csvLine(['closing', to.toISOString(), null, new CsvAmount(formatYuan(sums.closingNano)), null, null]);
}
