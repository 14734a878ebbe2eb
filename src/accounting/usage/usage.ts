import { daySpans } from './day-spans.ts';
import type { UsageQuery, UsageScope } from './group-sums-store.ts';
import type { Completeness, UsageRow, UsageStore } from './usage-store.ts';

export interface UsagePlace {
  /** All groups of smaller account ids were listed; `null`: groups are not by account. */
  readonly account: string | null;
  /** The last listed group; `null`: no group of this account window was listed. */
  readonly after: readonly string[] | null;
}

export const USAGE_START: UsagePlace = { account: null, after: null };

interface UsagePage {
  readonly rows: readonly UsageRow[];
  /** `null` after the last page. */
  readonly next: UsagePlace | null;
  readonly completeness: Completeness;
}

/** Groups by account are read in windows, because a sum over all accounts would read every row first. */
const WINDOW_ACCOUNTS = 500;
const WINDOWS_MAX = 40;

/** Sorted by the dimensions of the query. Each page has its own snapshot. Each group is listed once. */
export async function readUsage(
  store: UsageStore,
  query: UsageQuery,
  place: UsagePlace,
  limit: number,
): Promise<UsagePage> {
  const accountId = await accountOf(store, query);
  // Read before the sums, so that the sums are at least as complete as reported.
  const completeness = await store.readCompleteness(accountId === NOBODY ? query.filter.accountId : accountId);
  if (accountId === NOBODY) return { rows: [], next: null, completeness };
  return { ...(await find(store, query, accountId, place, limit)), completeness };
}

/** Each page sums everything after its cursor. So groups by day or month are read in spans of days, each of which is summed about once. */
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

/** Returns the account that the filter selects by its id or by a key; `null`: all accounts. */
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
