import fc from 'fast-check';
import { Dice } from '../../src/lib/dice.ts';
import type { JsonOperationName } from '../../src/protocols/operations/all.ts';
import { STATE_AT_TOP } from '../../src/protocols/top-members.ts';
import { RESPELLINGS, tableMembers } from '../fuzz/table-bodies.ts';
import { REQUEST_TABLES } from '../support/request-tables.ts';

/**
 * JSON bodies as clients send them, and as attackers could write them so that two parsers read them differently: duplicate members, other
 * spellings, extreme numbers, values of other types, damage.
 */

export interface JsonCase {
  readonly kind: JsonOperationName;
  readonly body: Buffer;
}

/** Members that every request of a kind requires. */
const required: Readonly<Record<JsonOperationName, readonly string[]>> = {
  chat: ['"model":"m"', '"messages":[]'],
  messages: ['"model":"m"', '"messages":[]', '"max_tokens":16'],
  responses: ['"model":"m"', '"input":"x"'],
  compact: ['"model":"m"', '"input":"x"'],
  completions: ['"model":"m"', '"prompt":"p"'],
  embeddings: ['"model":"m"', '"input":["x"]'],
  rerank: ['"model":"m"', '"query":"q"', '"documents":["d"]'],
  'images.generate': ['"model":"m"', '"prompt":"p"'],
};

const names = [
  ...['model', 'stream', 'n', 'best_of', 'max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ...['size', 'quality', 'partial_images', 'previous_response_id', 'stream_options', 'background'],
  // Top-level members that refer to provider state (`src/protocols/top-members.ts`).
  ...Object.keys(STATE_AT_TOP),
];

const asItIs = (name: string): string => name;
const respellings = [asItIs, asItIs, asItIs, ...RESPELLINGS];

const name = fc
  .tuple(fc.constantFrom(...names), fc.constantFrom(...respellings), fc.nat(30))
  .map(([own, respell, at]) => respell(own, at % own.length));

const number = fc.oneof(
  fc.constantFrom('0', '1', '2', '10', '100', '7.0', '1e1', '1E+2', '-0', '-1', '0.5', '1e400', '-1e400', '1e-400'),
  fc.constantFrom('0.99999999999999999999', '1.00000000000000000000001', '9007199254740993', '18446744073709551616'),
  fc.constantFrom('01', '+1', '1.', '.5', '0x10', '1_0', 'NaN', 'Infinity', '2147483648', '4294967297', '10e-1'),
  fc.nat(10).map(String),
);
const text = fc.constantFrom(
  ...[
    '"m"',
    '"\\u006d"',
    '"low"',
    '"high"',
    '"1024x1024"',
    '"4096x4096"',
    '"auto"',
    '""',
    '"1"',
    '"true"',
    '"m\\u0000"',
  ],
  ...[
    '"\\ud800"',
    '"m\\ud800x"',
    '"\\udc00\\ud800"',
    '"\\uD83D\\uDE00"',
    '"\u2028"',
    '"\\/"',
    '"10\\ud80024x1024"',
    "'m'",
  ],
  ...['"low\\u017f"', '"\ufeffm"', '"\\x41"', '"a\tb"', '"\u007f"'],
);
const option = fc
  .tuple(
    fc.constantFrom(
      'include_usage',
      'Include_Usage',
      'include_usa\\u0067e',
      '\u0131nclude_usage',
      'include-usage',
      'x',
    ),
    fc.constantFrom('true', 'false', 'null', '1', '"true"'),
  )
  .map(([key, value]) => `"${key}":${value}`);
const options = fc.array(option, { maxLength: 3 }).map((members) => `{${members.join(',')}}`);
const value = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 3, arbitrary: text },
  { weight: 3, arbitrary: fc.constantFrom('true', 'false', 'null') },
  { weight: 1, arbitrary: fc.constantFrom('[]', '{}', '[1]', '{"n":9}', '[{"model":"x"}]') },
  { weight: 2, arbitrary: options },
);

/** Values that an honest client sends for a field. */
const honest = fc.constantFrom(
  ...['"stream":true', '"stream":false', '"n":2', '"n":1', '"max_tokens":100', '"max_completion_tokens":50'],
  ...['"max_output_tokens":70', '"size":"1024x1024"', '"quality":"low"', '"stream_options":{"include_usage":true}'],
  ...[
    '"temperature":0.7',
    '"metadata":{"Model":"x"}',
    '"user":"u"',
    '"previous_response_id":"resp_1"',
    '"background":false',
  ],
  ...['"stream":null', '"n":null', '"best_of":2'],
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '\v', '\u00a0');
const odd = fc
  .tuple(space, name, space, space, value)
  .map(([before, key, a, b, v]) => `${before}"${key}"${a}:${b}${v}`);
const member = fc.oneof({ weight: 3, arbitrary: honest }, { weight: 2, arbitrary: odd });

/** Damages a text: some bytes are removed, others inserted. */
export const damage = (splinters: readonly string[]) =>
  fc.record({ at: fc.nat(), removed: fc.constantFrom(0, 0, 0, 1, 2, 5), added: fc.constantFrom(...splinters) });

export function damaged(body: Buffer, changes: readonly { at: number; removed: number; added: string }[]): Buffer {
  return changes.reduce((bytes, { at, removed, added }) => {
    const start = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, start), Buffer.from(added, 'latin1'), bytes.subarray(start + removed)]);
  }, body);
}

const splinters = [
  '"',
  ',',
  ':',
  '{',
  '}',
  '\\',
  '\\u',
  ' ',
  '\0',
  '\xff',
  '\xef\xbb\xbf',
  '//',
  'n',
  '1',
  'e',
  '.',
  '-',
  '"n":9,',
];

export const jsonCase: fc.Arbitrary<JsonCase> = fc
  .record({
    kind: fc.constantFrom(...(Object.keys(required) as JsonOperationName[])),
    members: fc.array(member, { maxLength: 5 }),
    order: fc.nat(),
    dropped: fc.constantFrom(false, false, false, false, false, true),
    tail: fc.constantFrom('', '', '', '', '', '', '\n', '{}', ' x', '\0', '{"model":"y"}'),
    changes: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(damage(splinters), { minLength: 1, maxLength: 3 }) },
    ),
  })
  .map(({ kind, members, order, dropped, tail, changes }) => {
    const all = dropped ? required[kind].slice(1) : required[kind];
    const at = order % (members.length + 1);
    const text = `{${[...members.slice(0, at), ...all, ...members.slice(at)].join(',')}}${tail}`;
    return { kind, body: damaged(Buffer.from(text), changes) };
  });

const IDS = ['resp_1', 'msg_2', 'cntr_3', 'file-abc123', 'vs_4', 'x', 'id\ud800', '\u0000', 'connector_gmail'];
const MODELS = ['m', 'other', 'vendor/other'];

/** Bodies with members from the tables of their protocol, and similar ones. */
export const tableCase: fc.Arbitrary<JsonCase> = fc
  .record({
    kind: fc.constantFrom(...(Object.keys(required) as JsonOperationName[])),
    seed: fc.nat(),
    oddness: fc.constantFrom(0, 0.02, 0.1),
    isFirst: fc.boolean(),
    changes: fc.oneof(
      { weight: 9, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(damage(splinters), { minLength: 1, maxLength: 2 }) },
    ),
  })
  .map(({ kind, seed, oddness, isFirst, changes }) => {
    const dice = new Dice(seed);
    const made = tableMembers({
      dice,
      table: REQUEST_TABLES[kind],
      oddness,
      id: () => dice.one(IDS),
      model: () => dice.one(MODELS),
    });
    const own = required[kind].filter((each) => !made.some((member) => member.startsWith(each.split(':')[0]!)));
    const members = isFirst ? [...own, ...made] : [...made, ...own];
    return { kind, body: damaged(Buffer.from(`{${members.join(',')}}`), changes) };
  });
