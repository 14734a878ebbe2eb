/**
 * What the record of a call says that it counts for, so that an audit can recompute the counters of plans and keys
 * (`audit-counts.ts`). A record that counts for nothing says nothing.
 */
export interface CountedUse {
  readonly plan?: CountedPlanUse;
  readonly key?: CountedKeyUse;
}

export interface CountedPlanUse {
  /** Of the subscription. */
  readonly id: string;
  /** 1, 2, 3 … in the subscription, in the order in which they were counted. */
  readonly no: number;
  /** The week in which the call was admitted; `null`: it counts tokens alone, because an operator resolved it so. */
  readonly week: number | null;
  /** The period in which it was admitted. */
  readonly period: number | null;
  readonly tokens: number;
}

export interface CountedKeyUse {
  /** 1, 2, 3 … of the key. */
  readonly no: number;
  /** The day, `YYYY-MM-DD` of the billing time zone, whose calls it is one of. */
  readonly day: string;
}

/** As the record has it. */
export const countedText = (counted: CountedUse | null): string | null =>
  counted === null ? null : JSON.stringify(counted);
