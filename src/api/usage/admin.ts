import { z } from 'zod';
import type { LocalTime } from '../../accounting/pricing/local-time.ts';
import { type Dimension, hasPlanRevenue, type UsageQuery } from '../../accounting/usage/group-sums-store.ts';
import { monthOf } from '../../accounting/usage/month.ts';
import type { StatementStore } from '../../accounting/usage/statement-store.ts';
import { readUsage, USAGE_START, usagePages } from '../../accounting/usage/usage.ts';
import type { Completeness, UsageStore } from '../../accounting/usage/usage-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { type PartiesDependencies, partiesOf } from '../accounts/parties.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream, orNotFound } from '../management/endpoint.ts';
import { CSV_TYPE, csvOf } from '../management/list-csv.ts';
import { at, listOf, nextCursor } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { storable } from '../management/storable.ts';
import { filterText, ledgerEntryToWire, page } from '../management/wire.ts';
import { usageColumns } from './columns.ts';
import { statementCsv } from './statement-csv.ts';
import { type StatementResponse, statementEntry, statementResponse } from './statement-wire.ts';
import {
  COUNTED_UNITS,
  readDimensions,
  readUsageCursor,
  usageCursor,
  usageRowResponse,
  usageRowToWire,
} from './wire.ts';

export interface UsageAdminDependencies extends PartiesDependencies {
  readonly usage: UsageStore;
  readonly statements: StatementStore;
  readonly clock: Clock;
  readonly localTime: () => LocalTime;
  readonly timezone: () => string;
}

const EXPECTED_DAY = 'Expected a day of the billing time zone, such as 2026-11-20.';
/** A day. The database has no year 0. */
const day = z.iso.date({ error: EXPECTED_DAY }).refine((text) => !text.startsWith('0000'), { error: EXPECTED_DAY });

export const usageList = z.strictObject({
  ...page,
  groupBy: storable(z.string({ error: 'Expected names separated by commas, such as model,day.' }).max(200)).default(''),
  from: day.optional(),
  /** The day after the last one of the range. */
  to: day.optional(),
  accountId: filterText.optional(),
  keyId: filterText.optional(),
  model: filterText.optional(),
  provider: filterText.optional(),
  status: z.enum(['succeeded', 'failed', 'aborted', 'unresolved', 'resolved']).optional(),
  context: z.enum(['balance', 'coding']).optional(),
});

/** A month. Those before 2000 are refused, because this month and the next one must have years of four digits. */
export const statementMonth = z
  .string()
  .regex(/^2\d{3}-(0[1-9]|1[0-2])$/, { error: 'Expected a month such as 2026-10.' });

export const statementQuery = z.strictObject({ month: statementMonth });

export const usageResponse = z.strictObject({
  data: listOf(usageRowResponse),
  nextCursor,
  completeUntil: at.nullable().describe('The sums include all calls that ended before this instant.'),
  timezone: z.string(),
});
export type UsageResponse = z.infer<typeof usageResponse>;

const CSV_PAGE = 2_000;
/** Maximum number of entries other than charges, and of models, in a statement. */
const STATEMENT_ENTRIES_MAX = 1_000;
const STATEMENT_MODELS_MAX = 1_000;

export function usageReader(dependencies: UsageAdminDependencies) {
  const { usage, statements, clock, localTime, timezone } = dependencies;

  async function statement(accountId: string, month: string): Promise<StatementResponse> {
    const { from, to, firstDay, nextDay } = monthOf(month, localTime());
    const sums = orNotFound(await statements.sum(accountId, from, to), 'account', accountId);
    const entries = await statements.listOtherEntries(accountId, from, to, sums.lastEntryNo, STATEMENT_ENTRIES_MAX + 1);
    const byModel = await readUsage(
      usage,
      queryOf(['model'], { accountId, from: firstDay, to: nextDay }),
      USAGE_START,
      STATEMENT_MODELS_MAX,
    );
    return {
      accountId,
      ...(await partiesOf(dependencies, accountId)),
      month,
      timezone: timezone(),
      from: from.toISOString(),
      to: to.toISOString(),
      isOver: to.getTime() <= clock.nowMs(),
      openingYuan: formatYuan(sums.openingNano),
      closingYuan: formatYuan(sums.closingNano),
      kinds: sums.kinds.map(({ amountNano, ...sum }) => ({ ...sum, amountYuan: formatYuan(amountNano) })),
      entries: entries.slice(0, STATEMENT_ENTRIES_MAX).map((entry) => shown(statementEntry, ledgerEntryToWire(entry))),
      areEntriesCut: entries.length > STATEMENT_ENTRIES_MAX,
      models: byModel.rows.map((row) => usageRowToWire(row, ['model'])),
      completeUntil: completeUntil(byModel.completeness),
    };
  }

  function queryOf(
    groupBy: readonly Dimension[],
    {
      ownKeyIds = null,
      ...filter
    }: Partial<Filters<string | undefined>> & { readonly ownKeyIds?: readonly string[] | null },
  ): UsageQuery {
    const given = Object.fromEntries(FILTERS.map((name) => [name, filter[name] ?? null]));
    return { groupBy, timezone: timezone(), filter: { ...(given as Filters<string | null>), ownKeyIds } };
  }

  return {
    queryOf,
    statement,
    async list(query: UsageQuery, { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number }) {
      const { groupBy } = query;
      const place = cursor === undefined ? USAGE_START : readUsageCursor(cursor, groupBy);
      const { rows, next, completeness } = await readUsage(usage, query, place, limit);
      return {
        data: rows.map((row) => usageRowToWire(row, groupBy, hasPlanRevenue(query))),
        nextCursor: next === null ? null : usageCursor(next),
        completeUntil: completeUntil(completeness),
        timezone: query.timezone,
      };
    },
    /** Yields usage as CSV. `isShown`: whether the caller may see a column. */
    async *csv(query: UsageQuery, isShown: (member: string) => boolean = () => true): AsyncIterable<string> {
      const { groupBy } = query;
      const hasRevenue = hasPlanRevenue(query);
      const { titles, lineOf } = csvOf(usageColumns(groupBy, COUNTED_UNITS).filter(isShown));
      yield titles;
      for await (const rows of usagePages(usage, query, CSV_PAGE)) {
        yield rows.map((row) => lineOf(usageRowToWire(row, groupBy, hasRevenue))).join('');
      }
    },
  };
}

export function usageEndpoints(dependencies: UsageAdminDependencies): AdminEndpoint[] {
  const { queryOf, list, csv, statement } = usageReader(dependencies);
  const { clock, localTime } = dependencies;

  /** Returns tomorrow. Revenue is earned by day, so the range ends with today. */
  function dayAfterToday(): string {
    const calendar = localTime();
    return calendar.day(calendar.nextDayStartMs(clock.nowMs()));
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/usage',
      summary:
        'Sums of usage by day, month, model, provider, account, key, group, status, context, end user, program, tag; also as CSV',
      query: usageList,
      response: usageResponse,
      lines: { mediaType: 'text/csv', description: 'All groups as CSV, if the request accepts text/csv.' },
      async run({ query: { groupBy: names, cursor, limit, ...filter }, wantsCsv }) {
        const groupBy = readDimensions(names);
        const query = { ...queryOf(groupBy, filter), earnedUntil: dayAfterToday() };
        return wantsCsv ? new LineStream(csv(query), CSV_TYPE) : list(query, { cursor, limit });
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/statement',
      summary: 'Read an account’s statement for a month in the billing time zone; also as CSV',
      query: statementQuery,
      response: statementResponse,
      lines: { mediaType: 'text/csv', description: 'The same data as CSV, if the request accepts text/csv.' },
      async run({ id, query: { month }, wantsCsv }) {
        const made = await statement(id, month);
        return wantsCsv ? LineStream.of(statementCsv(made), CSV_TYPE) : made;
      },
    }),
  ];
}

const completeUntil = ({ until }: Completeness): string | null => until?.toISOString() ?? null;

const FILTERS = ['accountId', 'keyId', 'model', 'provider', 'status', 'context', 'from', 'to'] as const;
type Filters<Value> = { readonly [Name in (typeof FILTERS)[number]]: Value };
