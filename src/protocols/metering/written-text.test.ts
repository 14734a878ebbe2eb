import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { compilePaths, type WrittenRules } from './written-paths.ts';
import { WrittenText } from './written-text.ts';

const CONTENT: WrittenRules = { paths: compilePaths({ text: ['content'] }) };
const sizeOf = (text: string, rules = CONTENT): number => {
  const written = new WrittenText(rules);
  written.add(Buffer.from(text));
  return written.sizeBytes;
};

/** UTF-8 size of each character when escaped: an unpaired surrogate counts two of the four bytes of a pair. */
const decodedBytes = (text: string) => {
  const halves = text.match(/(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])/g) ?? [];
  return Buffer.byteLength(text) - halves.length;
};

describe('the text of events', () => {
  const cases: readonly [data: string, bytes: number][] = [
    ['{"content":"abc"}', 3],
    ['{"content" : \t"abc"}', 3],
    ['{"content":""}', 0],
    ['{"content":null,"a":"xyz"}', 0],
    ['{"content":["abc"]}', 0],
    ['{"content":{"content":"abc"}}', 0],
    ['{"content":"你好"}', 6],
    ['{"content":"a\\"b\\\\"}', 4],
    ['{"content":"\\u4f60\\u597D"}', 6],
    ['{"content":"\\u0041\\u007f\\u0080\\u07ff\\u0800\\uffff"}', 12],
    ['{"content":"\\ud83d\\uDE00 \\n\\\\u0041"}', 12],
    ['{"content":"cut off\\u4f6', 7],
    ['{"type":"content","content":"abc"}', 3],
    ['{"content":"a \\"content\\":\\"bc\\" d"}', 18],
    ['{"contents":"abc","my_content":"abc"}', 0],
    ['{"a":{"content":"abc"},"b":[{"content":"abc"}]}', 0],
    ['{"a":[1,-2.5e3,true,null,{},[]],"content":"abc","z":[[["]"]]]}', 3],
    ['[{"content":"abc"}]', 0],
    ['"content"', 0],
    ['7,8', 0],
    ['{"content":"cut off', 7],
    ['{"content":"cut off\\', 7],
    ['{"content":\ndata: "abc"}', 3],
    ['{"content"\r\ndata:\r\ndata: :\r\ndata:"abc"}', 3],
    ['{\n: comment\nid: 1\ndata: "content":"abc"}', 3],
    ['{"content": data: "abc"}', 0],
    ['{"content"\n\nevent: "abc"', 0],
    ['{"content":"broken\ndata: "}', 6],
    ['{"content":"one"}\n\ndata: {"content":"four"}', 7],
    ['', 0],
  ];
  for (const [data, bytes] of cases) {
    it(`has ${bytes} bytes at its path in ${JSON.stringify(data)}`, () => {
      assert.equal(sizeOf(`data: ${data}`), bytes);
      const isCut = data.includes('cut off');
      assert.equal(sizeOf(`\ufeffevent: e\rdata:${data}${isCut ? '' : '\r\r'}`), bytes);
    });
  }

  it('is read from data lines only', () => {
    assert.equal(sizeOf(': {"content":"abc"}\n\nevent: {"content":"abc"}\n\ndat: {"content":"abc"}\n\n'), 0);
    assert.equal(sizeOf('{"content":"abc"}\n\n'), 0);
  });

  it('counts the JSON of an object that a protocol has in place of text, unless it is empty', () => {
    const input = { paths: compilePaths({ text: [], json: ['input'] }) };
    assert.equal(
      sizeOf('data: {"input":{"city": "Rome", "n": [1, {}]}}\n\n', input),
      '{"city":"Rome","n":[1,{}]}'.length,
    );
    assert.equal(sizeOf('data: {"input":"text"}\n\n', input), 4);
    for (const empty of ['{}', '[ ]', 'null', '1'])
      assert.equal(sizeOf(`data: {"input":${empty}}\n\n`, input), 0, empty);
  });

  it('counts the maximum of alternative forms of reasoning, and three quarters of encrypted reasoning', () => {
    const paths = compilePaths({ text: ['a'], reasoning: [['b'], ['c', 'd']], encrypted: ['e'] });
    const event = (of: object): string => `data: ${JSON.stringify(of)}\n\n`;
    assert.equal(sizeOf(event({ a: '1', b: '123', c: '12', d: '12', e: '1234' }), { paths }), 1 + 4);
    const written = new WrittenText({ paths });
    written.add(Buffer.from(event({ b: '1234', e: 'x'.repeat(400) })));
    assert.deepEqual([written.sizeBytes, written.visibleBytes], [300, 4]);
  });

  it('classifies each object by its selector values, before or after the text', () => {
    const paths = compilePaths({
      text: ['items[].text'],
      reasoning: [[]],
      classified: 'items[]',
      selectors: ['items[].type', 'items[].n'],
    });
    const classify: WrittenRules['classify'] = ([type, n]) =>
      type === 'result' ? 'none' : type === 'thought' || n === '12' ? 'reasoning' : 'written';
    const items =
      '{"type":"result","text":"12345678"},{"text":"1234","type":"thought"},{"text":"1","n":12},{"text":"12"}';
    const written = new WrittenText({ paths, classify });
    written.add(Buffer.from(`data: {"items":[${items}]}\n\n`));
    assert.equal(written.sizeBytes, 5 + 2);
    const open = new WrittenText({ paths, classify });
    open.addPart(Buffer.from('data: {"items":[{"type":"result","text":"1234'), false);
    assert.equal(open.sizeBytes, 0);
    open.addPart(Buffer.from('5678"},{"text":"12'), false);
    assert.equal(open.sizeBytes, 2);
  });

  it('uses the event name in place of a missing type', () => {
    const rules: WrittenRules = {
      paths: compilePaths({ text: ['delta'], selectors: ['type'], isNamedByEvent: true }),
      classify: ([type]) => (type === 'text' ? 'written' : 'none'),
    };
    for (const event of ['event: text\ndata: {"delta":"abc"}', 'event:text\r\ndata: {"delta":"abc"}']) {
      assert.equal(sizeOf(`${event}\n\n`, rules), 3, event);
    }
    assert.equal(sizeOf('event: text\ndata: {"delta":"abc","type":"result"}\n\ndata: {"delta":"abc"}\n\n', rules), 0);
    assert.equal(sizeOf('data: {"type":"text"}\n\ndata: {"delta":"abc"}\n\n', rules), 0);
  });
});

const PATHS = ['a', 'b[].a', 'b[].b.c', 'c.c'];
const RULES: WrittenRules = { paths: compilePaths({ text: PATHS }) };

/** The size of the strings at the paths, computed from parsed values. */
function reference(value: unknown, path = ''): number {
  if (typeof value === 'string') return PATHS.includes(path) ? decodedBytes(value) : 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + reference(item, `${path}[]`), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [name, member]) => {
    return sum + reference(member, path === '' ? name : `${path}.${name}`);
  }, 0);
}

const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: fc.constantFrom('x', '"', '\\', '\n', 'é', '😀', '\ud83d', ',', '}', ']', ':') }),
    fc.constantFrom<unknown>(null, true, 12, -0.5, 'word'),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'other', 'aa'), tie('value'), { maxKeys: 4 }),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}));

/** JSON of a value in an event, with arbitrary white space between tokens. */
const anyEvent = fc
  .tuple(anyValue, fc.constantFrom('', ' ', '\ndata: ', '\r\ndata:\r\ndata: '), fc.boolean())
  .map(([value, gap, escapes]) => {
    const json = JSON.stringify(value).replaceAll(
      /[:,{}[\]](?=(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*$)/g,
      (token) => token + gap,
    );
    const escaped = escapes ? json.replaceAll('é', '\\u00e9') : json;
    return { value, text: `data: ${escaped}\n\n` };
  });

describe('the text of arbitrary events', () => {
  it('equals the text of the values at the paths, wherever the events are cut', () => {
    const events = fc.array(anyEvent, { maxLength: 3 });
    fc.assert(
      fc.property(events, fc.array(fc.nat({ max: 400 }), { maxLength: 8 }), (all, positions) => {
        const bytes = Buffer.from(all.map(({ text }) => text).join(''));
        const expected = all.reduce((sum, { value }) => sum + reference(value), 0);
        assert.equal(sizeOf(bytes.toString(), RULES), expected);
        const cuts = [0, ...positions.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const parted = new WrittenText(RULES);
        for (const [i, end] of cuts.slice(1).entries()) {
          parted.addPart(bytes.subarray(cuts[i], end), i === cuts.length - 2);
        }
        assert.equal(parted.sizeBytes, expected);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('never exceeds the input, for arbitrary bytes cut anywhere', () => {
    const noise = fc.array(
      fc.constantFrom(
        'data: ',
        '{"a":',
        '"b":[',
        '"a"',
        '"',
        '\\',
        '\\u4f',
        'é',
        ',',
        ':',
        '}',
        ']',
        '{',
        '\n',
        '\r',
        '1',
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(noise, fc.nat({ max: 60 }), (pieces, at) => {
        const bytes = Buffer.from(pieces.join(''));
        const whole = sizeOf(bytes.toString(), RULES);
        assert.ok(whole >= 0 && whole <= bytes.length);
        const parted = new WrittenText(RULES);
        parted.addPart(bytes.subarray(0, at), false);
        parted.addPart(bytes.subarray(at), true);
        assert.equal(parted.sizeBytes, whole);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('is measured in linear time', () => {
    const text = new WrittenText(RULES);
    const space = Buffer.alloc(64 * 1024, ' ');
    text.addPart(Buffer.from('data: {"a":'), false);
    for (let i = 0; i < 1000; i++) text.addPart(space, false);
    text.addPart(Buffer.from('"found"}\n\n'), true);
    assert.equal(text.sizeBytes, 5);
    const key = new WrittenText(RULES);
    key.addPart(Buffer.from('data: {"'), false);
    for (let i = 0; i < 1000; i++) key.addPart(Buffer.alloc(64 * 1024, 'k'), false);
    key.addPart(Buffer.from('":"lost","a":"found"}\n\n'), true);
    assert.equal(key.sizeBytes, 5);
  });
});

describe('the text of a non-streaming response', () => {
  it('is found in JSON without lines, cut anywhere', () => {
    const bytes = Buffer.from('{\n  "b": [\n    { "a": "abc\\u4f60" }\n  ],\n  "a": "d"\n}\n');
    for (let at = 0; at <= bytes.length; at++) {
      const text = new WrittenText(RULES, false);
      text.addPart(bytes.subarray(0, at), false);
      text.addPart(bytes.subarray(at), true);
      assert.equal(text.sizeBytes, 7, `cut at ${at}`);
    }
  });
});
