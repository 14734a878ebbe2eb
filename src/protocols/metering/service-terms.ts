import { isPlainText } from '../../lib/plain-text.ts';

/**
 * Terms of service on which the price of tokens may depend: requests ask for one, responses report the one that they were
 * served on, and a price list has a factor for each.
 */
interface ServiceTerm {
  /** Its member in requests and in responses. */
  readonly member: string;
  /** The key of its factors in a price list. */
  readonly priceKey: string;
  /** What stands for the service at the plain price. */
  readonly plain: readonly string[];
}

export const serviceTerms = {
  serviceTier: {
    member: 'service_tier',
    priceKey: 'serviceTiers',
    plain: ['auto', 'default', 'standard', 'standard_only', 'on_demand'],
  },
  /** Of messages: a faster run of the same model. */
  speed: { member: 'speed', priceKey: 'speeds', plain: ['standard'] },
  /** Of messages: if the model has to run. */
  inferenceGeo: { member: 'inference_geo', priceKey: 'inferenceGeos', plain: ['global', 'not_available'] },
} as const satisfies Readonly<Record<string, ServiceTerm>>;

export type TermName = keyof typeof serviceTerms;
export type TermPriceKey = (typeof serviceTerms)[TermName]['priceKey'];

/** The terms of one call that are not the plain ones. */
export type ServiceTerms = { readonly [Name in TermName]?: string };

export const termNames = Object.keys(serviceTerms) as readonly TermName[];
export const termPriceKeys: readonly TermPriceKey[] = termNames.map((name) => serviceTerms[name].priceKey);

/** Whether there is any: most calls have none, and to see that is cheaper than to go over all names. */
export function hasTerms(terms: ServiceTerms): boolean {
  return Object.keys(terms).length > 0;
}

/** The name of a member's term, also if it is a plain one; `null` if the value names none. */
function readTerm(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= NAME_CHARACTERS_MAX && isPlainText(value)
    ? value
    : null;
}

const NAME_CHARACTERS_MAX = 64;

/** Whether a term has a price of its own wherever it has one. */
export function isPlainTerm(name: TermName, value: string): boolean {
  return (serviceTerms[name].plain as readonly string[]).includes(value);
}

/** The terms that an object reports, plain ones included: what is reported counts, also if it is the plain price. */
export function readTerms(reported: Readonly<Record<string, unknown>>, names = termNames): ServiceTerms | undefined {
  let terms: { [Name in TermName]?: string } | undefined;
  for (const name of names) {
    const value = readTerm(reported[serviceTerms[name].member]);
    if (value === null) continue;
    terms ??= {};
    terms[name] = value;
  }
  return terms;
}
