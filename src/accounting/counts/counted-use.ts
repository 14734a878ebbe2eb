/**
 * What the record of a call, and the entry of a charge, say that they count for, so that an audit can recompute counters
 * (`audit-counts.ts`). What counts for nothing says nothing.
 */
export interface CountedUse {
  readonly plan?: CountedPlanUse;
  readonly key?: CountedKeyUse;
  /** Of the person whose key it is. */
  readonly member?: CountedKeyUse & { readonly id: string };
}

interface CountedPlanUse {
  /** Of the subscription. */
  readonly id: string;
  /** 1, 2, 3 … in the subscription, in the order in which they were counted. */
  readonly no: number;
  /** The week in which it is one call (`placeOf`); `null`: that week is over, or an operator has resolved it as tokens alone. */
  readonly week: string | null;
  /** The period in which its tokens count; `null`: that one is over. */
  readonly period: string | null;
  readonly tokens: number;
}

interface CountedKeyUse {
  /** 1, 2, 3 … of the key, or of the person. */
  readonly no: number;
  /** The day whose calls it is one of. */
  readonly day: string;
}

/** The budgets of a key, or of a person, that count a charge. */
interface CountedOwnerCharge {
  readonly id: string;
  readonly day: string;
  readonly week: string;
  readonly month: string;
}

/** The budgets that count a charge: those of the key, and of the person whose key it is. */
export interface CountedKeyCharge extends Partial<CountedOwnerCharge> {
  readonly member?: CountedOwnerCharge;
}

/** The counts of a key, or of a person. */
interface KeyPeriods {
  readonly keyId: string;
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  readonly weekNo: number;
  readonly weekBeganAtMs: number;
  readonly monthNo: number;
  readonly monthBeganAtMs: number;
}

/**
 * Names the day, week, month or period that a counter counts: how many were begun, and when this one began. A counter that begins
 * anew, for whatever reason, has another name.
 */
export const placeOf = (no: number, beganAtMs: number): string => `${no}@${beganAtMs}`;

/** SQL: as `placeOf`, of two columns. */
export const placeSql = (no: string, beganAt: string): string =>
  `(${no} || '@' || round(extract(epoch from ${beganAt}) * 1000)::bigint)`;

/** When a place began, in ISO 8601. */
export const beginningOf = (place: string): string => new Date(Number(place.split('@')[1])).toISOString();

const ownerChargeOf = (owner: KeyPeriods): CountedOwnerCharge => ({
  id: owner.keyId,
  day: placeOf(owner.dayNo, owner.dayBeganAtMs),
  week: placeOf(owner.weekNo, owner.weekBeganAtMs),
  month: placeOf(owner.monthNo, owner.monthBeganAtMs),
});

/** `null`: neither has budgets. */
export function keyChargeOf(key: KeyPeriods | null, member: KeyPeriods | null): CountedKeyCharge | null {
  if (member !== null) return { ...(key && ownerChargeOf(key)), member: ownerChargeOf(member) };
  return key && ownerChargeOf(key);
}

/** As the record has it. */
export const countedText = (counted: CountedUse | null): string | null =>
  counted === null ? null : JSON.stringify(counted);

/** As the entry has it. */
export const keyChargeText = (charge: CountedKeyCharge): string => JSON.stringify(charge);
