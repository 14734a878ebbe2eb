import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { createVoucherCode } from '../../src/accounting/vouchers/voucher-code.ts';
import { type AccountApiDependencies, accountTable } from '../../src/api/registers/account.ts';
import { type AdminApiDependencies, adminTable } from '../../src/api/registers/admin.ts';
import { type PeopleApiDependencies, peopleTable } from '../../src/api/registers/people.ts';
import { Dice } from '../../src/lib/dice.ts';
import { refOf } from './requests.ts';
import { type Schema, valueFor } from './values.ts';

/** No request schema accepts a text or number that a column cannot store. */

/** A zero byte, an unpaired surrogate, and numbers outside the database's range. */
const UNSTORABLE_TEXTS = ['a\u0000b', 'a\ud800b'];
const UNSTORABLE_NUMBERS = [2 ** 63, 1e300, -(2 ** 63) - 2_048];
const TRIES = 300;

const rows = [
  ...adminTable({} as AdminApiDependencies).map((row) => ({ ...row, api: 'admin' })),
  ...accountTable({} as AccountApiDependencies).map((row) => ({ ...row, api: 'account' })),
  ...peopleTable({} as PeopleApiDependencies).map((row) => ({ ...row, api: 'people' })),
];

type Path = readonly (string | number)[];

/** Places of texts and numbers in a value. */
function* leavesOf(value: unknown, path: Path = []): Generator<{ path: Path; leaf: string | number }> {
  if (typeof value === 'string' || typeof value === 'number') yield { path, leaf: value };
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* leavesOf(item, [...path, i]);
  else if (typeof value === 'object' && value !== null) {
    // Parsed values never have a member with this name.
    const members = Object.entries(value).filter(([name]) => name !== '__proto__');
    for (const [name, member] of members) yield* leavesOf(member, [...path, name]);
  }
}

function withLeaf(value: unknown, path: Path, leaf: string | number): unknown {
  const copy = structuredClone({ value });
  let at: Record<string | number, unknown> = copy;
  for (const step of ['value', ...path].slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  at[['value', ...path].at(-1)!] = leaf;
  return copy.value;
}

/** Valid values, generated from the schema. */
function accepted(schema: z.ZodType): unknown[] {
  const description = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const dice = new Dice(7);
  const known = (name: string): string | null => (name === 'url' ? 'https://hooks.example.com/x' : null);
  const values = { dice, known, oddness: 0, resolve: (ref: string) => refOf(description, ref) as Schema };
  return Array.from({ length: TRIES }, () => valueFor(description as Schema, values)).filter(
    (value) => schema.safeParse(value).success,
  );
}

const CODE = createVoucherCode((bytes) => bytes.fill(7));

/** Schemas whose valid values cannot be generated, with one value each. */
const GIVEN: Readonly<Record<string, unknown>> = {
  'admin POST /keys/search, body': { prefix: 'sk-fg-ab12', cursor: 'key_1', limit: 5 },
  'admin POST /accounts/:id/imported-keys, body': {
    name: 'ci',
    sha256: 'ab'.repeat(32),
    prefix: 'sk-Ab12…',
    allowedModels: ['a-model'],
    dailyCalls: 3,
  },
  'admin POST /accounts/:id/vouchers, body': { code: CODE },
  'admin POST /vouchers/search, body': { code: CODE },
  'account POST /vouchers, body': { code: CODE },
};

describe('a value that a column cannot store', () => {
  for (const { api, method, path, querySchema, bodySchema } of rows) {
    for (const [place, schema] of [
      ['query', querySchema],
      ['body', bodySchema],
    ] as const) {
      if (schema === null) continue;
      const name = `${api} ${method} ${path}, ${place}`;
      it(`is refused by the schema: ${name}`, () => {
        const values = Object.hasOwn(GIVEN, name) ? [GIVEN[name]] : accepted(schema);
        assert.notEqual(values.length, 0, 'no value that it takes was found');
        const seen = new Set<string>();
        for (const value of values) {
          for (const { path: at, leaf } of leavesOf(value)) {
            const place = `${at.map((step) => (typeof step === 'number' ? '#' : step)).join('.')} ${typeof leaf}`;
            if (seen.has(place)) continue;
            seen.add(place);
            for (const bad of typeof leaf === 'string' ? UNSTORABLE_TEXTS : UNSTORABLE_NUMBERS) {
              const { success } = schema.safeParse(withLeaf(value, at, bad));
              assert.equal(success, false, `${JSON.stringify(bad)} at ${place}`);
            }
          }
        }
      });
    }
  }
});
