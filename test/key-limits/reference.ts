import type { KeyLimitChange, KeyLimits } from '../../src/accounting/accounts/key-limit-store.ts';
import type { Refusal } from '../../src/accounting/reservations/reservation.ts';

/**
 * What a limited key may do, said as simply as possible: one list of calls that is filtered, nothing remembered between two
 * questions. The real thing has to agree with it in every sequence of events.
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

/** One key. */
export class ReferenceKey {
  readonly #calls: ReferenceCall[] = [];
  #limits: KeyLimits = { dailySpendCapNano: null, dailyCallsMax: null, concurrencyMax: null };

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

  /** Why a call would be refused; asking changes nothing. */
  refusal({ amountNano }: LimitedCall, today: string): Refusal['kind'] | null {
    const { dailySpendCapNano, dailyCallsMax, concurrencyMax } = this.#limits;
    const used = this.use(this.#dayFrom(today));
    if (amountNano !== null && dailySpendCapNano !== null && used.spentNano + used.reservedNano >= dailySpendCapNano) {
      return 'keySpendLimitReached';
    }
    if (dailyCallsMax !== null && used.calls >= dailyCallsMax) return 'keyCallsLimitReached';
    if (concurrencyMax !== null && used.inFlight >= concurrencyMax) return 'keyConcurrencyLimited';
    return null;
  }

  /** Whether only what calls in flight have reserved is in the way. */
  isOnlyReserved(refusal: KeyVerdict, today: string): boolean {
    const { dailySpendCapNano } = this.#limits;
    return refusal === 'keySpendLimitReached' && this.use(this.#dayFrom(today)).spentNano < dailySpendCapNano!;
  }

  end({ callId, counts, chargeNano }: EndedLimitedCall, today: string): void {
    const day = this.#dayFrom(today);
    const call = this.#calls.find((other) => other.callId === callId && other.state === 'in flight');
    if (call === undefined) return;
    call.state = counts ? 'counted' : 'released';
    call.endDay = day;
    call.chargeNano = chargeNano;
  }

  /** What is used at a day, by default the latest on which anything happened. */
  use(day = this.#dayFrom('')): { spentNano: bigint; reservedNano: bigint; calls: number; inFlight: number } {
    const inFlight = this.#calls.filter(({ state }) => state === 'in flight');
    return {
      spentNano: this.#calls.filter(({ endDay }) => endDay === day).reduce((sum, call) => sum + call.chargeNano, 0n),
      reservedNano: inFlight.reduce((sum, call) => sum + call.amountNano, 0n),
      calls: this.#calls.filter((call) => call.day === day && call.state !== 'released').length,
      inFlight: inFlight.length,
    };
  }

  /** Days never go back: a node whose clock is behind works in the day of those that are ahead. */
  #dayFrom(today: string): string {
    return this.#calls.flatMap(({ day, endDay }) => [day, endDay ?? day]).reduce((a, b) => (a > b ? a : b), today);
  }
}
