import type { PriceRule } from '../pricing/price.ts';

/**
 * What is known of a call when it is admitted, beside what it reserves: stored for the record of a call whose node dies. The
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
  /** As the call's own end records it: by it a late end finds the record that was made as `unresolved`. */
  readonly startedAtMs: number;
}

/** In the order in which they are stored, without names, since each byte costs time in an admission. New ones go to the end. */
const STORED_FACTS = [
  ['context', 'string'],
  ['operation', 'string'],
  ['provider', 'string'],
  ['providerModel', 'string'],
  ['isStream', 'boolean'],
  ['requestId', 'string'],
  ['priceRule', 'string'],
  ['startedAtMs', 'number'],
] as const satisfies readonly (readonly [keyof CallFacts, string])[];

/** The facts as they are stored: text that is parsed only where the node of the call dies. */
export function factsText(facts: CallFacts): string {
  return JSON.stringify(STORED_FACTS.map(([name]) => facts[name]));
}

/** The facts that can be read: in a rolling update, a node of another version may have made the reservation, with other facts. */
export function readFacts(text: string): Partial<CallFacts> {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    return {};
  }
  if (!Array.isArray(values)) return {};
  const known = STORED_FACTS.map(([name, type], i) => [name, values[i], type] as const);
  return Object.fromEntries(known.filter(([, value, type]) => typeof value === type));
}
