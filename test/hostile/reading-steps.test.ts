import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJsonParts } from '../../src/lib/json/json-parts.ts';
import { findRepeatedMember } from '../../src/lib/json/json-repeats.ts';
import { MemberNames } from '../../src/lib/json/member-names.ts';
import { captureWhole } from '../../src/protocols/metering/response.ts';
import { operations } from '../../src/protocols/operations/all.ts';
import { countTokens } from '../../src/protocols/operations/count-tokens.ts';
import { EditFormReader } from '../../src/protocols/operations/edit-form.ts';
import { BodyFields } from '../../src/protocols/operations/fields.ts';
import { inputTokens } from '../../src/protocols/operations/input-tokens.ts';
import { countBody } from '../../src/protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../../src/protocols/token-estimate/tokenizer.ts';
import { Vocabulary } from '../../src/protocols/token-estimate/vocabulary.ts';
import { byScope, propertyRuns } from '../support/scope.ts';
import { StepCounter } from '../support/steps.ts';

/** Runs in its own process: V8 counts the steps of all code in a process, which takes longer the more code there is. */

/** Without entries each byte is a token, the maximum for any text. */
const tokenizer = new Tokenizer(new Vocabulary([]));

interface Reader {
  readonly name: string;
  /** Required members of a request. Members that a test gives replace them. */
  readonly required: Readonly<Record<string, string>>;
  read(body: Buffer): unknown;
}

const required = {
  chat: { messages: '[]' },
  messages: { messages: '[]' },
  responses: {},
  compact: {},
  completions: { prompt: '"x"' },
  embeddings: { input: '"x"' },
  rerank: { query: '"x"', documents: '[]' },
  'images.generate': { prompt: '"x"' },
};

/** All code that reads the body of a request. */
const readers: readonly Reader[] = [
  ...operations.flatMap((operation): Reader[] =>
    'read' in operation
      ? [{ name: operation.name, required: required[operation.name], read: (body) => operation.read(body) }]
      : [],
  ),
  ...[inputTokens, countTokens].map(
    (estimate): Reader => ({
      name: estimate.name,
      required: estimate === countTokens ? { messages: '[]' } : {},
      read(body) {
        estimate.inspect(BodyFields.read(body));
        countBody(estimate.kind, body, tokenizer);
      },
    }),
  ),
];

/** The names that readers of bodies look for. */
const lists = MemberNames.all.map(({ names }) => names.map((name) => name.replace(/^\*/, '')));
const names = [...new Set(lists.flat())];

/** Levels of a body, without those of its towers. */
const LEVELS_AROUND = 6;
const DEPTH_MAX = 256 - LEVELS_AROUND;

type Wrap = 'object' | 'list';

interface Tower {
  /** Alternate from level to level. */
  readonly names: readonly string[];
  readonly wraps: readonly Wrap[];
  /** An additional member of each object. */
  readonly member: string;
  readonly depth: number;
  /** The innermost value. */
  readonly tail: string;
}

function built({ names: alternating, wraps, member, depth, tail }: Tower): string {
  let before = '';
  let after = '';
  for (let level = 0, i = 0; level < depth; i++) {
    const isList = wraps[i % wraps.length] === 'list';
    before += `${isList ? '[' : ''}{${member}${JSON.stringify(alternating[i % alternating.length])}:`;
    after = `}${isList ? ']' : ''}${after}`;
    level += isList ? 2 : 1;
  }
  return before + tail + after;
}

/** Where a request contains a value. */
const places: readonly ((value: string, name: string) => readonly [member: string, value: string])[] = [
  (value) => ['x', value],
  (value, name) => [name, value],
  (value, name) => [name, `[${value}]`],
  (value) => ['extra_body', value],
  (value, name) => ['extra_body', `{${JSON.stringify(name)}:${value}}`],
  (value) => ['messages', `[{"role":"user","content":[${value}]}]`],
  (value) => ['messages', `[{"role":"user","content":"x","tools":[${value}]}]`],
  (value) => ['input', `[${value}]`],
  (value) => ['input', `[{"type":"message","role":"user","content":[${value}]}]`],
  (value) => ['tools', `[${value}]`],
  (value) => ['tools', `[{"type":"openrouter:x","parameters":${value}}]`],
  (value) => ['fallbacks', `[${value}]`],
  (value) => ['context_management', value],
  (value) => ['documents', `[${value}]`],
];

function bodyOf(reader: Reader, member: string, value: string): Buffer {
  const members = { model: '"m"', ...reader.required, [member]: value };
  return Buffer.from(`{${Object.entries(members).map(([key, json]) => `${JSON.stringify(key)}:${json}`)}}`);
}

const members = ['', '"type":"function",', '"type":"x",', '"type":"compact","id":"a",', '"":1,'];
const tails = (sizeBytes: number): readonly string[] => [
  `[${'1,'.repeat(sizeBytes / 2)}1]`,
  `[${'"",'.repeat(sizeBytes / 3)}1]`,
  `{${'"":1,'.repeat(sizeBytes / 5)}"":1}`,
  JSON.stringify('a'.repeat(sizeBytes)),
  `{"${'_'.repeat(sizeBytes)}":1}`,
];

/**
 * Maximum steps per byte over all readers. The highest observed is 34, if a text of quotes and brackets is split into tokens; scanning a
 * byte once costs about ten.
 */
const STEPS_PER_BYTE_MAX = 64;
const TAIL_BYTES = 1_000;

const counter = new StepCounter();

interface Reading {
  readonly reader: Pick<Reader, 'name' | 'read'>;
  readonly body: Buffer;
}

/**
 * Counting takes milliseconds, more than most readings. If several together take no more steps than the shortest body allows, so does each
 * of them; otherwise each half is counted.
 */
function assertBounded(readings: readonly Reading[]): void {
  const perByte =
    counter.count(
      readings.map(
        ({ reader, body }) =>
          () =>
            reader.read(body),
      ),
    ) / shortest(readings);
  if (readings.length === 1) usual.set(readings[0]!.reader.name, perByte);
  if (perByte <= STEPS_PER_BYTE_MAX) return;
  if (readings.length > 1) {
    const half = Math.ceil(readings.length / 2);
    assertBounded(readings.slice(0, half));
    assertBounded(readings.slice(half));
    return;
  }
  const [{ reader, body }] = readings as [Reading];
  assert.fail(`${reader.name} takes ${Math.round(perByte)} steps for each byte of ${body.toString('utf8', 0, 400)}`);
}

const shortest = (readings: readonly Reading[]): number => Math.min(...readings.map(({ body }) => body.length));

/** The steps per byte of each reader when it was last counted alone. */
const usual = new Map<string, number>();

const usualSteps = ({ reader, body }: Reading): number => (usual.get(reader.name) ?? STEPS_PER_BYTE_MAX) * body.length;

/** Asserts the bound of all readings, as many at a time as are usually within it together. */
function assertAllBounded(readings: Iterable<Reading>): void {
  let together: Reading[] = [];
  for (const reading of readings) {
    const more = [...together, reading];
    const steps = more.reduce((sum, each) => sum + usualSteps(each), 0);
    if (together.length > 0 && steps > MARGIN * STEPS_PER_BYTE_MAX * shortest(more)) {
      assertBounded(together);
      together = [reading];
    } else together = more;
  }
  if (together.length > 0) assertBounded(together);
}

/** Bodies differ. */
const MARGIN = 0.9;

after(() => counter.close());

describe('reading a body', () => {
  const deep: Omit<Tower, 'names'> = {
    wraps: ['object'],
    member: '',
    depth: 150,
    tail: tails(TAIL_BYTES)[0]!,
  };

  it('scans each byte a bounded number of times if names are nested in themselves', () => {
    const tower = { ...deep, depth: 80, tail: tails(500)[0]! };
    for (const [index, name] of sample(names)) {
      const value = built({ ...tower, names: [name] });
      const bodies = readers.flatMap((reader, place): Reading[] => [
        { reader, body: bodyOf(reader, 'x', value) },
        { reader, body: bodyOf(reader, ...places[(index + place) % places.length]!(value, name)) },
      ]);
      assertAllBounded(bodies);
    }
  });

  it('scans each byte a bounded number of times for any nesting', () => {
    const related = fc
      .constantFrom(...lists)
      .chain((list) => fc.array(fc.constantFrom(...list), { minLength: 1, maxLength: 3 }));
    const tower = fc.record<Tower>({
      names: fc.oneof(related, fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })),
      wraps: fc.array(fc.constantFrom<Wrap>('object', 'list'), { minLength: 1, maxLength: 2 }),
      member: fc.constantFrom(...members),
      depth: fc.integer({ min: 60, max: DEPTH_MAX }),
      tail: fc.constantFrom(...tails(TAIL_BYTES)),
    });
    fc.assert(
      fc.property(fc.constantFrom(...readers), fc.constantFrom(...places), tower, (reader, place, levels) => {
        assertBounded([{ reader, body: bodyOf(reader, ...place(built(levels), levels.names[0]!)) }]);
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('scans each byte a bounded number of times for any number of members and any length of names', () => {
    for (const reader of readers) assertAllBounded([...bodiesFor(reader)].map((body) => ({ reader, body })));
  });

  function* bodiesFor(reader: Reader): Generator<Buffer> {
    for (const value of tails(4_000)) {
      for (const place of places) yield bodyOf(reader, ...place(value, 'x'));
    }
    // Values that an error would name, each at the end of a long path: references, unknown tools, models.
    for (const named of ['"resp_1"', '{"type":"web_search","x":1}', '{"type":"x"}', '"x"']) {
      const tail = `{"tools":[${`${named},`.repeat(400)}0],"x":[${`${named},`.repeat(400)}0]}`;
      for (const [name, depth, place] of [
        ['extra_body', 200, places[3]!],
        ['x', 200, places[0]!],
        ['k'.repeat(500), 50, places[0]!],
        ['content', 100, places[5]!],
      ] as const) {
        const value = built({ ...deep, names: [name], depth, tail });
        yield bodyOf(reader, ...place(value, name));
      }
    }
    const models = `[${Array.from({ length: 30 }, (_, n) => `"m${n}",`).join('')}"m"]`;
    yield bodyOf(reader, 'x', `{"${'k'.repeat(20_000)}":{"models":${models}}}`);
    for (const filling of ['_'.repeat(5_000), '\\u005f'.repeat(800), 'é'.repeat(2_500)]) {
      const lists = `[${'{"tools":[{}]},{"model":"x"},'.repeat(200)}0]`;
      for (const name of ['plugins', 'extra_body', 'x']) {
        const long = `${name[0]}${filling}${name.slice(1)}`;
        yield Buffer.from(`{"model":"m","messages":[],"input":[],"${long}":${lists}}`);
        yield bodyOf(reader, 'x', `{"${long}":${lists}}`);
      }
    }
  }
});

describe('reading a response', () => {
  const holding = { outer: { a: ['output'] }, places: ['output', 'data'], items: { a: ['url', 'b64_json'] } };
  const parts = { output: { content: { text: true } }, usage: true, choices: { delta: true } } as const;
  const responseReaders: readonly Pick<Reader, 'name' | 'read'>[] = [
    {
      name: 'JsonCapture',
      read: (body) =>
        captureWhole(body, { keep: ['output', 'usage'], count: ['data'], holding, keptBytesMax: 2 ** 20 }),
    },
    { name: 'parseJsonParts', read: (body) => parseJsonParts(body, parts) },
    { name: 'findRepeatedMember', read: (body) => findRepeatedMember(body.toString('utf8')) },
  ];

  it('scans each byte a bounded number of times', () => {
    const known = ['output', 'usage', 'data', 'choices', 'content', 'text', 'delta', 'url'];
    for (const name of known) {
      for (const tail of tails(TAIL_BYTES)) {
        const levels = { names: [name], wraps: ['object', 'list'], member: '"id":"x",', depth: 150, tail } as const;
        const body = Buffer.from(built(levels));
        assertAllBounded(responseReaders.map((reader) => ({ reader, body })));
      }
    }
  });
});

describe('reading a form', () => {
  const BOUNDARY = 'x-boundary';
  const part = (name: string, content: string): string =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
  const forms: readonly string[] = [
    ...['\r', '\r\n', '\r\n--x-bound', '\r\n--x-boundar', '-', '-x-boundar', '--x', 'a'].map((filling) =>
      part('notes', filling.repeat(20_000 / filling.length)),
    ),
    Array.from({ length: 900 }, (_, n) => part(`n${n}`, 'a')).join(''),
    part('_'.repeat(10_000), 'a'),
    part('notes', 'a').replace('\r\n\r\n', `${'\r\nx-a: b'.repeat(1_000)}\r\n\r\n`),
  ];
  const chunks: Readonly<Record<string, number>> = { 'as a whole': 2 ** 20, 'in chunks of 7 bytes': 7 };

  for (const [how, chunkBytes] of Object.entries(chunks)) {
    it(`scans each byte a bounded number of times, ${how}`, () => {
      const read = (body: Buffer): void => {
        const reader = new EditFormReader(BOUNDARY);
        for (let at = 0; at < body.length; at += chunkBytes) reader.push(body.subarray(at, at + chunkBytes));
        reader.finish();
      };
      const reader = { name: how, read };
      for (const form of forms) assertBounded([{ reader, body: Buffer.from(`${form}--${BOUNDARY}--\r\n`) }]);
    });
  }
});

/** All items with their indexes; in a quick run every tenth, from a random start. */
function sample<Item>(items: readonly Item[]): readonly (readonly [index: number, item: Item])[] {
  const every = byScope({ full: 1, quick: 10 });
  const first = Math.floor(Math.random() * every);
  return [...items.entries()].filter(([index]) => index % every === first);
}
