import { isPlainText } from '../../lib/plain-text.ts';

/** A service term, such as a tier, affects the price of tokens. Requests ask for it, responses report it, price lists have its factor. */
interface ServiceTerm {
  readonly member: string;
  readonly priceKey: string;
  /** Values with the base price. */
  readonly plain: readonly string[];
}

export const serviceTerms = {
  serviceTier: {
    member: 'service_tier',
    priceKey: 'serviceTiers',
    plain: ['auto', 'default', 'standard', 'standard_only', 'on_demand'],
  },
  /** A faster mode of the same model (messages protocol). */
  speed: { member: 'speed', priceKey: 'speeds', plain: ['standard'] },
  /** The region in which the model must run (messages protocol). */
  inferenceGeo: { member: 'inference_geo', priceKey: 'inferenceGeos', plain: ['global', 'not_available'] },
} as const satisfies Readonly<Record<string, ServiceTerm>>;

export type TermName = keyof typeof serviceTerms;
export type TermPriceKey = (typeof serviceTerms)[TermName]['priceKey'];

export type ServiceTerms = { readonly [Name in TermName]?: string };

export const termNames = Object.keys(serviceTerms) as readonly TermName[];
export const termPriceKeys: readonly TermPriceKey[] = termNames.map((name) => serviceTerms[name].priceKey);

/** Fast path: most calls have no terms. */
export function hasTerms(terms: ServiceTerms): boolean {
  return Object.keys(terms).length > 0;
}

function readTerm(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= NAME_CHARACTERS_MAX && isPlainText(value)
    ? value
    : null;
}

const NAME_CHARACTERS_MAX = 64;

export function isPlainTerm(name: TermName, value: string): boolean {
  return (serviceTerms[name].plain as readonly string[]).includes(value);
}

/** Returns the terms that a response reports. They override those of the request, also by a value with the base price. */
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
