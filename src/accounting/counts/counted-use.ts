/**
 * The counters that count a call, stored in its record so that an audit can recompute them (`audit/audit-counts-store.ts`). Members that
 * no counter counts are absent.
 */
export interface CountedUse {
  readonly plan?: CountedPlanUse;
  readonly key?: CountedKeyUse;
  /** Of the person who owns the key. */
  readonly member?: CountedKeyUse & { readonly id: string };
}

interface CountedPlanUse {
  /** The id of the subscription. */
  readonly id: string;
  /** 1, 2, 3 … in the subscription, in the order of counting. */
  readonly no: number;
  /** The week that counts the call (`placeOf`); `null`: the week is over, or an operator resolved the call, which counts tokens only. */
  readonly week: string | null;
  /** The period that counts its tokens; `null`: the period is over. */
  readonly period: string | null;
  readonly tokens: number;
}

interface CountedKeyUse {
  /** 1, 2, 3 … of the key or the person. */
  readonly no: number;
  /** The day that counts the call. */
  readonly day: string;
}

/** The budgets of a key or a person that count a charge. */
interface CountedOwnerCharge {
  readonly id: string;
  readonly day: string;
  readonly week: string;
  readonly month: string;
}

/** The budgets that count a charge: those of the key, and of the person who owns it. */
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

/** `null` if neither has budgets. */
export function keyChargeOf(key: KeyPeriods | null, member: KeyPeriods | null): CountedKeyCharge | null {
  if (member !== null) return { ...(key && ownerChargeOf(key)), member: ownerChargeOf(member) };
  return key && ownerChargeOf(key);
}

export const countedText = (counted: CountedUse | null): string | null =>
  counted === null ? null : JSON.stringify(counted);

export const keyChargeText = (charge: CountedKeyCharge): string => JSON.stringify(charge);
