import type { PriceRule } from '../pricing/price.ts';

/**
 * What is known of a call when it is admitted, beside what it reserves: kept for the case that nobody lives to see its end. The
 * route is the first one that the call may go over.
 */
export interface CallFacts {
  readonly context: string;
  readonly operation: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly isStream: boolean;
  readonly requestId: string;
  readonly priceRule: PriceRule;
  /** As the call's own end would record it: by it a late end finds the record that was made in its place. */
  readonly startedAtMs: number;
}

/** In the order in which they are kept, without names, since each byte shows in an admission. New ones go to the end. */
const KEPT_FACTS = [
  ['context', 'string'],
  ['operation', 'string'],
  ['provider', 'string'],
  ['providerModel', 'string'],
  ['isStream', 'boolean'],
  ['requestId', 'string'],
  ['priceRule', 'string'],
  ['startedAtMs', 'number'],
] as const satisfies readonly (readonly [keyof CallFacts, string])[];

/** As it is kept: text that nobody parses while the call runs. */
export function factsText(facts: CallFacts): string {
  return JSON.stringify(KEPT_FACTS.map(([name]) => facts[name]));
}

/** What of it is readable: the reservation may have been made by another version of this program, or by one that kept no facts. */
export function readFacts(text: string): Partial<CallFacts> {
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    return {};
  }
  if (!Array.isArray(kept)) return {};
  const known = KEPT_FACTS.map(([name, type], i) => [name, kept[i], type] as const);
  return Object.fromEntries(known.filter(([, value, type]) => typeof value === type));
}
