/** The counters that include a call. The call record stores them, so that audits can check the counters (`audit/audit-counts-store.ts`). */
export interface CountedUse {
  readonly plan?: CountedPlanUse;
  readonly key?: CountedKeyUse;
  readonly member?: CountedKeyUse & { readonly id: string };
}

interface CountedPlanUse {
  readonly id: string;
  /** Number of the call among those that the subscription counted, from 1. */
  readonly no: number;
  /** The week in which the call counts (`placeOf`); `null`: the week is over, or an operator resolved the call. */
  readonly week: string | null;
  /** The plan period in which the tokens count; `null`: the period is over. */
  readonly period: string | null;
  readonly tokens: number;
}

interface CountedKeyUse {
  /** Number of the call among those that the key or the member counted, from 1. */
  readonly no: number;
  readonly day: string;
}

interface CountedOwnerCharge {
  readonly id: string;
  readonly day: string;
  readonly week: string;
  readonly month: string;
}

/** The budgets of the key, of its owner and of the callers in which a charge counts. Those for the called model are separate. */
export interface CountedKeyCharge extends Partial<CountedOwnerCharge> {
  readonly member?: CountedOwnerCharge;
  readonly keyModel?: CountedOwnerCharge;
  readonly memberModel?: CountedOwnerCharge;
  /** End users and tags; at least one. */
  readonly callers?: readonly CountedOwnerCharge[];
}

/** `null`: the owner has no budgets. */
export interface CountingOwners<Owner = KeyPeriods> {
  readonly key: Owner | null;
  readonly member: Owner | null;
  readonly keyModel: Owner | null;
  readonly memberModel: Owner | null;
  readonly callers: readonly Owner[];
}

interface KeyPeriods {
  readonly keyId: string;
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  readonly weekNo: number;
  readonly weekBeganAtMs: number;
  readonly monthNo: number;
  readonly monthBeganAtMs: number;
}

/** Identifies a counted period by its number and start. A counter that starts over gets a new one. */
export const placeOf = (no: number, beganAtMs: number): string => `${no}@${beganAtMs}`;

/** SQL: `placeOf` for two columns. */
export const placeSql = (no: string, beganAt: string): string =>
  `(${no} || '@' || round(extract(epoch from ${beganAt}) * 1000)::bigint)`;

const ownerChargeOf = (owner: KeyPeriods): CountedOwnerCharge => ({
  id: owner.keyId,
  day: placeOf(owner.dayNo, owner.dayBeganAtMs),
  week: placeOf(owner.weekNo, owner.weekBeganAtMs),
  month: placeOf(owner.monthNo, owner.monthBeganAtMs),
});

/** The budgets that count a charge; `null` if there are none. */
export function keyChargeOf({ key, member, keyModel, memberModel, callers }: CountingOwners): CountedKeyCharge | null {
  if ((member ?? keyModel ?? memberModel) === null && callers.length === 0) return key && ownerChargeOf(key);
  return {
    ...(key && ownerChargeOf(key)),
    ...(member && { member: ownerChargeOf(member) }),
    ...(keyModel && { keyModel: ownerChargeOf(keyModel) }),
    ...(memberModel && { memberModel: ownerChargeOf(memberModel) }),
    ...(callers.length > 0 && { callers: callers.map(ownerChargeOf) }),
  };
}

export const countedText = (counted: CountedUse | null): string | null =>
  counted === null ? null : JSON.stringify(counted);

export const keyChargeText = (charge: CountedKeyCharge): string => JSON.stringify(charge);
