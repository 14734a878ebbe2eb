import type { Dice } from '../../src/lib/dice.ts';

/** The part of JSON Schema that the description of the API uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

export interface Values {
  readonly dice: Dice;
  readonly resolve: (ref: string) => Schema;
  /** A value for a member or parameter of this name, such as an id from a response; `null`: unknown. */
  readonly known: (name: string) => string | null;
  /** Probability that a value violates its schema. */
  readonly oddness: number;
}

/** Texts that parsers, databases and spreadsheets handle badly. */
const ODD_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\r\n.\r\n',
  '\u202e\u200b',
  '__proto__',
  'constructor',
  "'; drop table accounts; --",
  '=HYPERLINK("http://x")',
  '../../../etc/passwd',
  '%00',
  '\ufdfa'.repeat(200),
  '1e999',
  '-0',
  '0x10',
  '99999999999999999999999999999999',
  '0.0000000001',
  '-1',
  'NaN',
  '9999-12-31T23:59:59.999Z',
  '+275760-09-13T00:00:00.001Z',
  '0000-01-01T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-13',
  '0000-00',
  '9999-12',
  '::ffff:1.2.3.4/129',
  'https://[::1]/',
  'http://169.254.169.254/',
  'x'.repeat(201),
  'x'.repeat(5_000),
];

const ODD_NUMBERS: readonly number[] = [
  0,
  -0,
  -1,
  1.5,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e21,
  1e308,
  -1e308,
  5e-324,
];

/** A value that a schema allows, or nearly allows. */
export function valueFor(schema: Schema, values: Values, name = '', depth = 0): unknown {
  const { dice, oddness } = values;
  if (dice.happens(oddness)) return oddValue(values);
  if (schema.$ref !== undefined) return valueFor(values.resolve(schema.$ref), values, name, depth);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return valueFor(dice.one(choices), values, name, depth);
  if (schema.allOf !== undefined) {
    const parts = schema.allOf.map((part) => valueFor(part, values, name, depth));
    return Object.assign({}, ...parts.filter((part) => typeof part === 'object' && part !== null));
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return dice.one(schema.enum);
  if (schema.examples !== undefined && dice.happens(0.3)) return dice.one(schema.examples);
  const type = typeof schema.type === 'string' ? schema.type : dice.one(schema.type ?? ['string', 'object', 'number']);
  switch (type) {
    case 'object':
      return objectOf(schema, values, depth);
    case 'array': {
      const count = dice.happens(0.03) ? 300 : dice.upTo(3);
      return Array.from({ length: count }, () => valueFor(schema.items ?? {}, values, name, depth + 1));
    }
    case 'integer':
    case 'number':
      return numberOf(schema, dice, type);
    case 'boolean':
      return dice.happens(0.5);
    case 'null':
      return null;
    default:
      return textOf(schema, values, name);
  }
}

function objectOf(schema: Schema, values: Values, depth: number): Record<string, unknown> {
  const { dice } = values;
  const made: [string, unknown][] = [];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) ?? false;
    if (isRequired ? dice.happens(0.97) : depth < 4 && dice.happens(0.4)) {
      made.push([name, valueFor(member, values, name, depth + 1)]);
    }
  }
  if (typeof schema.additionalProperties === 'object' && depth < 4) {
    for (let i = dice.upTo(2); i > 0; i--) {
      made.push([dice.one(['test-chat', ...ODD_TEXTS]), valueFor(schema.additionalProperties, values, '', depth + 1)]);
    }
  }
  if (dice.happens(0.03)) made.push([dice.one(['unknown', '__proto__', 'toString', '']), oddValue(values)]);
  return Object.fromEntries(made);
}

function numberOf({ minimum = -5, maximum = 1_000 }: Schema, dice: Dice, type: 'integer' | 'number'): number {
  const near = [minimum, maximum, minimum - 1, maximum + 1, Math.min(maximum, minimum + 1)];
  if (dice.happens(0.3)) return dice.one(near);
  const value = minimum + dice.next() * (Math.min(maximum, minimum + 10_000) - minimum);
  return type === 'integer' ? Math.floor(value) : value;
}

function textOf(
  { format, minLength = 0, maxLength = 30, pattern }: Schema,
  { dice, known }: Values,
  name: string,
): string {
  const named = dice.happens(0.9) ? known(name) : null;
  if (named !== null) return named;
  const instant = () => new Date(1_700_000_000_000 + dice.upTo(99999999) * 1_000).toISOString();
  if (format === 'date-time') return instant();
  if (format === 'email') return `${dice.upTo(999999)}@people.example`;
  if (format === 'uri') return `https://hooks.example.com/${dice.upTo(99)}`;
  if (pattern !== undefined && /\\d/.test(pattern)) {
    return dice.one(['1', '0', '12.5', '2026-11', '2026-11-20', '0.000000001', '99999999']);
  }
  if (dice.happens(0.3))
    return dice.one(['1', '2026-11', '2026-11-20', '10.0.0.0/8', 'test-chat', 'chatty', instant()]);
  const length = Math.max(minLength, dice.upTo(Math.min(maxLength, 30)));
  return Array.from({ length }, () => dice.one(['a', 'b', '7', '-', ' ', '界', '.'])).join('');
}

function oddValue({ dice, known }: Values): unknown {
  switch (dice.upTo(8)) {
    case 0:
      return null;
    case 1:
      return dice.happens(0.5);
    case 2:
      return dice.one(ODD_NUMBERS);
    case 3:
      return [];
    case 4:
      return {};
    case 5:
      return nested(dice.upTo(39));
    case 6:
      return known('id') ?? '';
    case 7:
      return 'a\u0000b';
    default:
      return dice.one(ODD_TEXTS);
  }
}

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

/** A text for a place of a path or a query. */
export function textFor(schema: Schema, values: Values, name = ''): string {
  const value = valueFor(schema, values, name);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
