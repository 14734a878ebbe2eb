import { KEY_COUNTERS, type KeyCounter } from '../accounts/key-limit-tables.ts';
import { beginningOf } from '../counts/counted-use.ts';
import type { FoundBreach, InvariantId } from './audit-findings.ts';

/**
 * What counters say against what records say. A counter is read once, together with a mark: how many entries or uses there were at
 * that moment. Records are summed later, slice by slice, and only up to the mark: they are final, so the sum is what it was then,
 * and calls that end meanwhile change neither side.
 */

/** What a counter counts, in what (`null`: in all), and the invariant that a wrong one breaks. */
interface CounterTerms {
  readonly of: 'charges' | 'calls' | 'tokens' | 'records';
  readonly period: 'day' | 'week' | 'month' | 'period' | null;
  readonly invariant: InvariantId;
}

const OF_KEYS = { charges: 'key-spending', calls: 'key-calls' } as const;
const OTHERS = {
  spent: { of: 'charges', period: 'day', invariant: 'account-spending' },
  weekCalls: { of: 'calls', period: 'week', invariant: 'plan-week' },
  periodTokens: { of: 'tokens', period: 'period', invariant: 'plan-period' },
  uses: { of: 'records', period: null, invariant: 'use-numbers' },
} as const satisfies Readonly<Record<string, CounterTerms>>;

export type Counter = KeyCounter | keyof typeof OTHERS;

const COUNTERS = {
  ...Object.fromEntries(
    KEY_COUNTERS.map(({ counter, of, period }) => [counter, { of, period, invariant: OF_KEYS[of] }]),
  ),
  ...OTHERS,
} as { readonly [Name in Counter]: CounterTerms };

/** How findings name what a counter counts; `place` is its day, week, month or period. */
function wordsOf({ of, period }: CounterTerms, place: string): string {
  const counted = of === 'charges' ? 'spent' : of;
  if (period !== null) return `${counted} in the ${period} since ${beginningOf(place)}`;
  return of === 'charges' ? `${counted} in all` : counted;
}

/** A counter as it is stored. Amounts are integers as text. */
export interface StoredCounter {
  readonly account_id: string;
  /** A key or a subscription; empty: the account itself. */
  readonly owner_id: string;
  readonly counter: Counter;
  /** What it counts (`placeOf`); empty: all. */
  readonly place: string;
  readonly stored: string;
  /** What calls in flight count, and what was counted that no record says. */
  readonly known: string;
  /** The last entry of the account, or the last use of the owner. */
  readonly mark: string;
}

/** What records of a slice count: account, owner, counter, place and amount. */
export type Sum = readonly [string, string, Counter, string, string];

/** The greatest number of a use in a slice that is behind the mark: account, owner and number. */
export type Above = readonly [string, string, string];

/** Up to where records are summed. */
export interface Marks {
  readonly entries: readonly { readonly accountId: string; readonly mark: bigint }[];
  readonly uses: readonly { readonly accountId: string; readonly ownerId: string; readonly mark: bigint }[];
}

/** How many uses an owner has. */
export interface UseNumber {
  readonly account_id: string;
  readonly owner_id: string;
  readonly use_no: string;
}

/** The counters of a range of accounts, and what the records of it have been found to count so far. */
export class CounterCheck {
  readonly marks: Marks;
  readonly #counters: readonly StoredCounter[];
  readonly #expected = new Map<string, bigint>();
  readonly #above = new Map<string, { accountId: string; ownerId: string; no: bigint }>();

  constructor(counters: readonly StoredCounter[]) {
    this.#counters = counters;
    for (const { account_id, owner_id, counter, place, known } of counters) {
      this.#expected.set(keyOf(account_id, owner_id, counter, place), BigInt(known));
    }
    const marked = counters.map((row) => ({
      accountId: row.account_id,
      ownerId: row.owner_id,
      counter: row.counter,
      mark: BigInt(row.mark),
    }));
    this.marks = {
      entries: marked.filter(({ counter }) => counter === 'spent'),
      uses: marked.filter(({ counter }) => counter === 'uses'),
    };
  }

  add(sums: readonly Sum[], above: readonly Above[]): void {
    for (const [accountId, ownerId, counter, place, amount] of sums) {
      const key = keyOf(accountId, ownerId, counter, place);
      const expected = this.#expected.get(key);
      // Most are of days and periods that are over.
      if (expected !== undefined) this.#expected.set(key, expected + BigInt(amount));
    }
    for (const [accountId, ownerId, text] of above) {
      const name = `${accountId} ${ownerId}`;
      const no = BigInt(text);
      const known = this.#above.get(name);
      if (known === undefined || known.no < no) this.#above.set(name, { accountId, ownerId, no });
    }
  }

  /** Owners of which there are uses behind the mark: they have been used meanwhile, or the mark is wrong. */
  get aboveMark(): readonly { readonly accountId: string; readonly ownerId: string }[] {
    return [...this.#above.values()];
  }

  /** `now`: how many uses the owners behind their marks have, read after all records. */
  findings(now: readonly UseNumber[]): FoundBreach[] {
    const wrong: FoundBreach[] = [];
    // Numbers only grow. If one was set back, it marks nothing, and the counters beside it cannot be compared.
    const setBack = new Set<string>();
    for (const { account_id, owner_id, use_no } of now) {
      const name = `${account_id} ${owner_id}`;
      const { no } = this.#above.get(name)!;
      if (no <= BigInt(use_no)) continue;
      setBack.add(name);
      const detail = `${owner_id} counts ${use_no} records, the last one has number ${no}`;
      wrong.push({ invariant: 'use-numbers', account_id, detail });
    }
    for (const { account_id, owner_id, counter, place, stored } of this.#counters) {
      const terms = COUNTERS[counter];
      // Charges are marked by ledger entries.
      if (terms.of !== 'charges' && setBack.has(`${account_id} ${owner_id}`)) continue;
      const expected = this.#expected.get(keyOf(account_id, owner_id, counter, place))!;
      if (BigInt(stored) === expected) continue;
      const owner = owner_id === '' ? 'the account' : owner_id;
      const detail = `${owner} counts ${stored} ${wordsOf(terms, place)}, records ${expected}`;
      wrong.push({ invariant: terms.invariant, account_id, detail });
    }
    return wrong;
  }
}

/** No id, counter or place has a space. */
const keyOf = (...parts: readonly string[]): string => parts.join(' ');
