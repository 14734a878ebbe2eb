import { daySpans } from './day-spans.ts';
import type { UsageQuery, UsageScope } from './group-sums-store.ts';
import type { Completeness, UsageRow, UsageStore } from './usage-store.ts';

export interface UsagePlace {
  /** All groups of smaller account ids have been listed; `null`: usage is not grouped by account. */
  readonly account: string | null;
  /** Last listed group; `null`: none of this account window has been listed. */
  readonly after: readonly string[] | null;
}

export const USAGE_START: UsagePlace = { account: null, after: null };

interface UsagePage {
  readonly rows: readonly UsageRow[];
  /** Where the next page starts; `null` after the last one. */
  readonly next: UsagePlace | null;
  readonly completeness: Completeness;
}

/** Accounts per window. Usage grouped by account is read in windows, because a sum over all accounts would read every row first. */
const WINDOW_ACCOUNTS = 500;
const WINDOWS_MAX = 40;

/** Returns a page of groups, sorted by the query's dimensions. Each page has its own snapshot. All pages together list a group once. */
export async function readUsage(
  store: UsageStore,
  query: UsageQuery,
  place: UsagePlace,
  limit: number,
): Promise<UsagePage> {
  const accountId = await accountOf(store, query);
  // Read before the sums, so that the sums contain at least what is reported as complete.
  const completeness = await store.readCompleteness(accountId === NOBODY ? query.filter.accountId : accountId);
  if (accountId === NOBODY) return { rows: [], next: null, completeness };
  return { ...(await find(store, query, accountId, place, limit)), completeness };
}

/** Yields pages. Each page sums everything after its cursor, so groups by day or month are read in spans of days. */
export async function* usagePages(
  store: UsageStore,
  query: UsageQuery,
  limit: number,
): AsyncIterable<readonly UsageRow[]> {
  const accountId = await accountOf(store, query);
  if (accountId === NOBODY) return;
  const unit = (['day', 'month'] as const).find((name) => query.groupBy.includes(name));
  if (unit === undefined || isByWindows(query, accountId)) {
    yield* pagesOf(store, query, accountId, limit);
    return;
  }
  const spans = daySpans(unit, query.filter, await store.knownDays(accountId), limit);
  let groups = 0;
  for (let span = spans.next(0); !span.done; span = spans.next(groups)) {
    groups = 0;
    for await (const rows of pagesOf(
      store,
      { ...query, filter: { ...query.filter, ...span.value } },
      accountId,
      limit,
    )) {
      groups += rows.length;
      yield rows;
    }
  }
}

async function* pagesOf(store: UsageStore, query: UsageQuery, accountId: string | null, limit: number) {
  let place: UsagePlace | null = USAGE_START;
  while (place !== null) {
    const page: Found = await find(store, query, accountId, place, limit);
    if (page.rows.length > 0) yield page.rows;
    place = page.next;
  }
}

const NOBODY = Symbol('no account');

/** Returns the only account to which the filter applies, by its id or a key; `null`: all accounts. */
async function accountOf(store: UsageStore, { filter }: UsageQuery): Promise<string | null | typeof NOBODY> {
  const { accountId, keyId } = filter;
  if (keyId === null) return accountId;
  const ofKey = await store.accountOfKey(keyId);
  return ofKey === null || (accountId !== null && accountId !== ofKey) ? NOBODY : ofKey;
}

type Found = Pick<UsagePage, 'rows' | 'next'>;

const isByWindows = ({ groupBy }: UsageQuery, accountId: string | null): boolean =>
  accountId === null && groupBy.includes('account');

function find(
  store: UsageStore,
  query: UsageQuery,
  accountId: string | null,
  place: UsagePlace,
  limit: number,
): Promise<Found> {
  if (isByWindows(query, accountId)) return byWindows(store, query, place, limit);
  return inOne(store, query, place, limit, accountId === null ? { kind: 'all' } : { kind: 'account', accountId });
}

async function inOne(
  store: UsageStore,
  query: UsageQuery,
  { after }: UsagePlace,
  limit: number,
  scope: UsageScope,
): Promise<Found> {
  const rows = await store.sum(query, scope, after, limit);
  const isFull = rows.length === limit && query.groupBy.length > 0;
  return { rows, next: isFull ? { account: null, after: rows.at(-1)!.group } : null };
}

async function byWindows(store: UsageStore, query: UsageQuery, place: UsagePlace, limit: number): Promise<Found> {
  const rows: UsageRow[] = [];
  let from = place.account ?? '';
  let after = place.after;
  for (let windows = 0; windows < WINDOWS_MAX; windows++) {
    const window = await store.windowFrom(from, WINDOW_ACCOUNTS);
    const found = await store.sum(query, window, after, limit - rows.length);
    rows.push(...found);
    if (rows.length === limit) {
      const { group } = rows.at(-1)!;
      return { rows, next: { account: group[0]!, after: group } };
    }
    if (window.to === null) return { rows, next: null };
    from = window.to;
    after = null;
  }
  return { rows, next: { account: from, after: null } };
}
