/**
 * The counters that count a call, stored in its record so that an audit can recompute them (`audit/audit-counts-store.ts`). A member is absent if
 * its counter does not count the call.
 */
export interface CountedUse {
  readonly plan?: CountedPlanUse;
  readonly key?: CountedKeyUse;
  /** The counters of the person who owns the key. */
  readonly member?: CountedKeyUse & { readonly id: string };
}

interface CountedPlanUse {
  /** The id of the subscription. */
  readonly id: string;
  /** Position of the call among those that the subscription counted: 1, 2, 3 … */
  readonly no: number;
  /** The week in which the call counts (`placeOf`); `null`: the week is over, or an operator resolved the call, which counts only its tokens. */
  readonly week: string | null;
  /** The period in which the tokens count; `null`: the period is over. */
  readonly period: string | null;
  readonly tokens: number;
}

interface CountedKeyUse {
  /** Position of the call among those that the key or the person counted: 1, 2, 3 … */
  readonly no: number;
  /** The day in which the call counts. */
  readonly day: string;
}

/** The budgets of a key or a person in which a charge counts. */
interface CountedOwnerCharge {
  readonly id: string;
  readonly day: string;
  readonly week: string;
  readonly month: string;
}

/** The budgets in which a charge counts: those of the key and of the person who owns it. */
export interface CountedKeyCharge extends Partial<CountedOwnerCharge> {
  readonly member?: CountedOwnerCharge;
}

/** The current periods of a key or a person. */
interface KeyPeriods {
  readonly keyId: string;
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  readonly weekNo: number;
  readonly weekBeganAtMs: number;
  readonly monthNo: number;
  readonly monthBeganAtMs: number;
}

/** Names the period that a counter counts by its number and its start. A counter that starts over always gets a new name. */
export const placeOf = (no: number, beganAtMs: number): string => `${no}@${beganAtMs}`;

/** SQL: `placeOf` of two columns. */
export const placeSql = (no: string, beganAt: string): string =>
  `(${no} || '@' || round(extract(epoch from ${beganAt}) * 1000)::bigint)`;

const ownerChargeOf = (owner: KeyPeriods): CountedOwnerCharge => ({
  id: owner.keyId,
  day: placeOf(owner.dayNo, owner.dayBeganAtMs),
  week: placeOf(owner.weekNo, owner.weekBeganAtMs),
  month: placeOf(owner.monthNo, owner.monthBeganAtMs),
});

/** Returns `null` if neither the key nor the member has budgets. */
export function keyChargeOf(key: KeyPeriods | null, member: KeyPeriods | null): CountedKeyCharge | null {
  if (member !== null) return { ...(key && ownerChargeOf(key)), member: ownerChargeOf(member) };
  return key && ownerChargeOf(key);
}

export const countedText = (counted: CountedUse | null): string | null =>
  counted === null ? null : JSON.stringify(counted);

export const keyChargeText = (charge: CountedKeyCharge): string => JSON.stringify(charge);
