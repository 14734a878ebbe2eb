import type { JsonSchema, SchemaCollection } from './json-schema.ts';

/** Returns the example of a schema; if it has none, composes one from its members. `optional`: which optional members are included. */
export function exampleOf(
  schema: JsonSchema,
  schemas: Pick<SchemaCollection, 'resolve'>,
  optional: 'all' | 'exemplified',
): unknown {
  return make(schema, '');

  function make(of: JsonSchema, name: string): unknown {
    const found = schemas.resolve(of);
    const { examples } = { ...found, ...of } as { examples?: readonly unknown[] };
    if (examples !== undefined && examples.length > 0) return examples[0];
    if ('const' in found) return found.const;
    if (Array.isArray(found.enum)) return found.enum[0];
    if ('default' in found) return found.default;
    const choices = (found.anyOf ?? found.oneOf) as readonly JsonSchema[] | undefined;
    if (choices !== undefined) return make(choices[0]!, name);
    switch ([found.type].flat()[0]) {
      case 'object':
        return membersOf(found, nameOf(of, name));
      case 'array':
        return isSchema(found.items) ? [make(found.items, name)] : [];
      case 'integer':
      case 'number':
        return numberOf(found, name);
      case 'boolean':
        return true;
      case 'null':
        return null;
      case 'string':
        return TEXTS[name] ?? TEXTS[name.split('.')[1] ?? ''] ?? FORMATS[String(found.format)] ?? 'text';
      default:
        return {};
    }
  }

  function membersOf({ properties = {}, required = [] }: JsonSchema, name: string): object {
    const members = Object.entries(properties as Record<string, JsonSchema>).filter(
      ([member, of]) =>
        (required as readonly string[]).includes(member) ||
        optional === 'all' ||
        member in TEXTS ||
        schemas.resolve(notNull(of)).examples !== undefined,
    );
    return Object.fromEntries(members.map(([member, of]) => [member, make(of, `${name}.${member}`)]));
  }
}

function nameOf({ $ref }: JsonSchema, name: string): string {
  return typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : (name.split('.')[1] ?? '');
}

function numberOf({ minimum, maximum }: JsonSchema, name: string): number {
  const example = NUMBERS[name.split('.')[1] ?? ''] ?? 1;
  return Math.min(Math.max(example, Number(minimum ?? example)), Number(maximum ?? example));
}

const NUMBERS: Readonly<Record<string, number>> = {
  priceFactorBasisPoints: 10_000,
  requestsPerMinute: 60,
  tokensPerMinute: 100_000,
  dailyCalls: 1_000,
  concurrency: 5,
  httpStatus: 200,
  durationMs: 1_800,
  firstByteMs: 240,
};

/** Example texts by name of the member, which may be preceded by the id of the schema. */
const TEXTS: Readonly<Record<string, string>> = {
  'Account.id': 'acct_01JD7A6K3VQ2N8',
  'Key.id': 'key_01JD7A6K3VQ2N8',
  'CreatedKey.id': 'key_01JD7A6K3VQ2N8',
  'FoundKey.id': 'key_01JD7A6K3VQ2N8',
  'CreatedKey.key': 'fg-0123456789012345678901234567890123456789',
  'Call.id': 'call_01JD7A6K3VQ2N8',
  'CallInFlight.id': 'call_01JD7A6K3VQ2N8',
  'LedgerEntry.id': 'le_01JD7A6K3VQ2N8_12',
  'Subscription.id': 'sub_01JD7A6K3VQ2N8',
  'Plan.id': 'starter',
  'route.model': 'vendor-chat',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  accountId: 'acct_01JD7A6K3VQ2N8',
  accountName: 'Ada Lovelace',
  keyId: 'key_01JD7A6K3VQ2N8',
  callId: 'call_01JD7A6K3VQ2N8',
  entryId: 'le_01JD7A6K3VQ2N8_12',
  requestId: 'req_01JD7A6K3VQ2N8',
  planId: 'starter',
  planName: 'Starter',
  memo: 'Invoice 118',
  month: '2026-10',
  timezone: 'Asia/Shanghai',
  model: 'test-chat',
  provider: 'vendor',
  providerModel: 'vendor-chat',
  operation: 'chat',
  context: 'balance',
};

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-11-20T12:00:00.000Z',
  date: '2026-11-20',
  email: 'ada@example.com',
};

function isSchema(items: unknown): items is JsonSchema {
  return typeof items === 'object' && items !== null;
}

function notNull(schema: JsonSchema): JsonSchema {
  const choices = schema.anyOf as readonly JsonSchema[] | undefined;
  return schema.examples === undefined && choices?.length === 2 && choices[1]!.type === 'null' ? choices[0]! : schema;
}
