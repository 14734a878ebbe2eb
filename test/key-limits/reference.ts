import { type KeyLimitChange, NO_LIMITS } from '../../src/accounting/accounts/key-limit-store.ts';
import type { KeyLimits } from '../../src/accounting/accounts/key-limit-tables.ts';
import type { Refusal } from '../../src/accounting/reservations/reservation.ts';

/**
 * The limits of a key stated as simply as possible: one list of calls that is filtered, with nothing remembered between two queries. The
 * real one has to agree with it in every sequence of events.
 */

interface ReferenceCall {
  readonly callId: string;
  readonly amountNano: bigint;
  /** The day that the call counts in. */
  readonly day: string;
  state: 'in flight' | 'counted' | 'released';
  /** The day that its charge counts in, once it has ended. */
  endDay: string | null;
  chargeNano: bigint;
}

export interface LimitedCall {
  readonly callId: string;
  /** `null`: a call on a Coding Plan, which costs no money. */
  readonly amountNano: bigint | null;
}

export interface EndedLimitedCall {
  readonly callId: string;
  readonly counts: boolean;
  readonly chargeNano: bigint;
}

export type KeyVerdict = 'admitted' | Refusal['kind'];

export interface ReferenceUse {
  readonly spentNano: bigint;
  readonly weekSpentNano: bigint;
  readonly monthSpentNano: bigint;
  readonly totalSpentNano: bigint;
  readonly reservedNano: bigint;
  readonly calls: number;
  readonly inFlight: number;
}

/** Walks back day by day, unlike the gateway, so that the same mistake is unlikely. */
function mondayOf(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  while (at.getUTCDay() !== 1) at.setUTCDate(at.getUTCDate() - 1);
  return at.toISOString().slice(0, 10);
}

/** One key. */
export class ReferenceKey {
  readonly #calls: ReferenceCall[] = [];
  #limits: KeyLimits = NO_LIMITS;

  get limits(): KeyLimits {
    return this.#limits;
  }

  change(change: KeyLimitChange): void {
    const named = Object.fromEntries(Object.entries(change).filter(([, limit]) => limit !== undefined));
    this.#limits = { ...this.#limits, ...named };
  }

  admit(call: LimitedCall, today: string): KeyVerdict {
    const refusal = this.refusal(call, today);
    if (refusal !== null) return refusal;
    const { callId, amountNano } = call;
    const day = this.#dayFrom(today);
    this.#calls.push({ callId, amountNano: amountNano ?? 0n, day, state: 'in flight', endDay: null, chargeNano: 0n });
    return 'admitted';
  }

  /** Why a call would be refused, or null; changes nothing. */
  refusal({ amountNano }: LimitedCall, today: string): Refusal['kind'] | null {
    const { dailyCallsMax, concurrencyMax } = this.#limits;
    const used = this.use(this.#dayFrom(today));
    const budgets = amountNano === null ? [] : this.#budgetsUsedUp(today);
    if (budgets.length > 0) return (budgets.find(({ isSpent }) => isSpent) ?? budgets[0]!).kind;
    if (dailyCallsMax !== null && used.calls >= dailyCallsMax) return 'keyCallsLimitReached';
    if (concurrencyMax !== null && used.inFlight >= concurrencyMax) return 'keyConcurrencyLimited';
    return null;
  }

  /** Whether the budget is used up only together with what calls in flight have reserved. */
  isOnlyReserved(refusal: KeyVerdict, today: string): boolean {
    const budget = this.#budgetsUsedUp(today).find(({ kind }) => kind === refusal);
    return budget !== undefined && !budget.isSpent;
  }

  end({ callId, counts, chargeNano }: EndedLimitedCall, today: string): void {
    const day = this.#dayFrom(today);
    const call = this.#calls.find((other) => other.callId === callId && other.state === 'in flight');
    if (call === undefined) return;
    call.state = counts ? 'counted' : 'released';
    call.endDay = day;
    call.chargeNano = chargeNano;
  }

  /** What a key that replaces this one begins with: its usage, in which calls in flight are counted. */
  replacement(): ReferenceKey {
    const next = new ReferenceKey();
    next.#limits = this.#limits;
    for (const call of this.#calls) {
      next.#calls.push(call.state === 'in flight' ? { ...call, state: 'counted' } : { ...call });
    }
    return next;
  }

  /** The usage at a day, by default the latest on which anything happened. */
  use(day = this.#dayFrom('')): ReferenceUse {
    const inFlight = this.#calls.filter(({ state }) => state === 'in flight');
    return {
      spentNano: this.#spent((other) => other === day),
      weekSpentNano: this.#spent((other) => mondayOf(other) === mondayOf(day)),
      monthSpentNano: this.#spent((other) => other.slice(0, 7) === day.slice(0, 7)),
      totalSpentNano: this.#spent(() => true),
      reservedNano: inFlight.reduce((sum, call) => sum + call.amountNano, 0n),
      calls: this.#calls.filter((call) => call.day === day && call.state !== 'released').length,
      inFlight: inFlight.length,
    };
  }

  #spent(isIn: (day: string) => boolean): bigint {
    const ended = this.#calls.filter(({ endDay }) => endDay !== null && isIn(endDay));
    return ended.reduce((sum, call) => sum + call.chargeNano, 0n);
  }

  /** Budgets that are used up, the longest period first, and whether they are even without what calls in flight have reserved. */
  #budgetsUsedUp(today: string): { kind: Refusal['kind']; isSpent: boolean }[] {
    const { totalSpendCapNano, monthlySpendCapNano, weeklySpendCapNano, dailySpendCapNano } = this.#limits;
    const used = this.use(this.#dayFrom(today));
    const budgets = [
      { kind: 'keyTotalSpendLimitReached', capNano: totalSpendCapNano, spentNano: used.totalSpentNano },
      { kind: 'keyMonthlySpendLimitReached', capNano: monthlySpendCapNano, spentNano: used.monthSpentNano },
      { kind: 'keyWeeklySpendLimitReached', capNano: weeklySpendCapNano, spentNano: used.weekSpentNano },
      { kind: 'keySpendLimitReached', capNano: dailySpendCapNano, spentNano: used.spentNano },
    ] as const;
    return budgets.flatMap(({ kind, capNano, spentNano }) =>
      capNano === null || spentNano + used.reservedNano < capNano ? [] : [{ kind, isSpent: spentNano >= capNano }],
    );
  }

  /** A day does not go back if the clock does by less than a minute. */
  #dayFrom(today: string): string {
    return this.#calls.flatMap(({ day, endDay }) => [day, endDay ?? day]).reduce((a, b) => (a > b ? a : b), today);
  }
}
