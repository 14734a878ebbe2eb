import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { CHAT_TABLE } from '../../src/protocols/chat/state-references.ts';
import { MESSAGES_TABLE } from '../../src/protocols/messages/state-references.ts';
import { BodyFields } from '../../src/protocols/operations/fields.ts';
import { type NamedState, readNamedState } from '../../src/protocols/request-reader.ts';
import { RESPONSES_TABLE } from '../../src/protocols/responses/state-references.ts';
import { propertyRuns } from '../support/scope.ts';
import { statePlaces, tableNames } from '../support/state-places.ts';

/** The gateway finds a reference to state at each place in its tables, and at unknown places, whatever surrounds it. */

const TABLES = { chat: CHAT_TABLE, messages: MESSAGES_TABLE, responses: RESPONSES_TABLE };
const read = (name: keyof typeof TABLES, body: Buffer): NamedState =>
  readNamedState(BodyFields.read(body).reader(), TABLES[name]);

/** Meaningless members, of kinds that have to be scanned. */
const noise = fc.dictionary(
  fc.stringMatching(/^noise_[a-z]{1,3}$/),
  fc.oneof(
    fc.string(),
    fc.integer(),
    fc.constant(null),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.constant({ a: [{}] }),
  ),
  { maxKeys: 3 },
);

/** The same value with other members before or after its own, in each object except tools. */
function surrounded(value: unknown, more: object, isBehind: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => surrounded(each, more, isBehind));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [name, surrounded(each, more, isBehind)]);
  const own = Object.fromEntries(isBehind ? entries : entries.toReversed()) as object;
  return isBehind ? { ...own, ...more } : { ...more, ...own };
}

/** Other spellings that some decoders read as the same name. */
const RESPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name.replace('_', ''),
  (name) => name.replaceAll('_', '-'),
  (name) => name.replace('s', '\u017f'),
  (name) => name.replace('k', '\u212a'),
  (name) => name.replace('i', '\u0131'),
  (name) => `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`,
  (name) => `${name}\\u0000`,
];

function isRefused(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.kind === 'invalidRequest', String(error));
    return true;
  }
}

describe('a reference to state', () => {
  for (const name of tableNames) {
    const places = statePlaces(name, 2);
    const finds = (body: object, param: string, id: string): void => {
      const bytes = Buffer.from(JSON.stringify(body));
      // A format that no vendor accepts, such as a list of skills instead of one.
      if (isRefused(() => read(name, bytes))) return;
      const { references } = read(name, bytes);
      const at = references.find((reference) => reference.param === param);
      assert.ok(at !== undefined && (at.id === '' || at.id.endsWith(id)), `${param} in ${JSON.stringify(body)}`);
    };

    it(`is found at each place of the table: ${name}`, () => {
      assert.ok(places.length > 100, `${places.length} places`);
      for (const { param, body } of places) finds(body('id_of_another'), param, 'id_of_another');
    });

    it(`is found whatever surrounds it: ${name}`, () => {
      fc.assert(
        fc.property(fc.constantFrom(...places), noise, fc.boolean(), ({ param, body }, more, isBehind) => {
          finds(surrounded(body('id_of_another'), more, isBehind) as object, param, 'id_of_another');
        }),
        { numRuns: propertyRuns(2_000) },
      );
    });

    it(`is found, or refused, for any spelling of the names on its path: ${name}`, () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...places),
          fc.nat(),
          fc.constantFrom(...RESPELLINGS),
          ({ param, body }, at, respell) => {
            const text = JSON.stringify(body('id_of_another'));
            const keys = [...text.matchAll(/"(\w+)":/g)];
            const key = keys[at % keys.length]!;
            const spelt = respell(key[1]!);
            const respelled = `${text.slice(0, key.index)}"${spelt}":${text.slice(key.index + key[0].length)}`;
            if (spelt === key[1]) return;
            const bytes = Buffer.from(respelled);
            if (isRefused(() => read(name, bytes))) return;
            const { references, unlisted } = read(name, bytes);
            assert.ok(references.length + unlisted.length > 0, `${param}: ${respelled}`);
          },
        ),
        { numRuns: propertyRuns(2_000) },
      );
    });

    it(`is found at unknown places, by the format of an id: ${name}`, () => {
      fc.assert(
        fc.property(
          fc.array(fc.stringMatching(/^new_[a-z]{1,5}$/), { minLength: 1, maxLength: 4 }),
          fc.constantFrom('resp_68af4030', 'cntr_1', 'file-Ab12', 'conv_9', 'container_011C', 'skill_01', 'vs_1'),
          fc.boolean(),
          (path, id, isInList) => {
            const value = path.reduceRight<unknown>((inner, key) => ({ [key]: isInList ? [inner] : inner }), id);
            const { references } = read(name, Buffer.from(JSON.stringify(value)));
            assert.deepEqual(
              references.map((reference) => reference.id),
              [id],
            );
          },
        ),
        { numRuns: propertyRuns(1_000) },
      );
    });
  }
});
