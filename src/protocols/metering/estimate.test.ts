import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  keySpelling,
  memberOf,
  objectText,
  type SpeltMember,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { estimateTokens, PartedText, StreamedText, textKeys, valueStart } from './estimate.ts';

/** UTF-8 of each character as it is escaped: half a pair that stands alone has two bytes of a whole one. */
const decodedBytes = (json: string) => {
  const text = JSON.parse(json) as string;
  const halves = text.match(/(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])/g) ?? [];
  return Buffer.byteLength(text) - halves.length;
};
/** The size of the text of whole events under these keys. */
function textBytes(events: Buffer, keys: readonly Buffer[]): number {
  const text = new StreamedText(keys, []);
  text.add(events);
  return text.sizeBytes;
}
const count = (text: string, ...keys: readonly string[]) => textBytes(Buffer.from(text), textKeys(...keys));

describe('estimateTokens', () => {
  it('takes four bytes for a token and begins a new one with every rest', () => {
    assert.deepEqual([0, 1, 4, 5, 8, 9].map(estimateTokens), [0, 1, 1, 2, 2, 3]);
  });
});

describe('the text of a stream', () => {
  const cases: readonly [text: string, bytes: number][] = [
    ['{"content":"abc"}', 3],
    ['{"content" : \t"abc"}', 3],
    ['{"content":""}', 0],
    ['{"content":null,"a":"xyz"}', 0],
    ['{"content":["abc"]}', 0],
    ['{"content":"你好"}', 6],
    ['{"content":"a\\"b\\\\"}', 4],
    ['{"content":"\\u4f60\\u597D"}', 6],
    ['{"content":"\\u0041\\u007f\\u0080\\u07ff\\u0800\\uffff"}', 12],
    ['{"content":"\\ud83d\\uDE00 \\n\\\\u0041"}', 12],
    ['{"content":"cut off\\u4f6', 7],
    ['{"content":"a"}{"content":"bc"}', 3],
    ['{"type":"content","content":"abc"}', 3],
    ['{"content":"a \\"content\\":\\"bc\\" d"}', 18],
    ['{"contents":"abc","my_content":"abc"}', 0],
    ['{"a":"content"}', 0],
    ['"content"', 0],
    ['{"content":"cut off', 7],
    ['{"content":"cut off\\', 7],
    ['data: {"content":\ndata: "abc"}', 3],
    ['data: {"content"\r\ndata:\r\ndata: :\r\ndata:"abc"}', 3],
    ['{"content": data: "abc"}', 0],
    ['data: {"content"\n\nevent: "abc"', 0],
    ['', 0],
  ];
  for (const [text, bytes] of cases) {
    it(`finds ${bytes} bytes of content in ${JSON.stringify(text)}`, () => {
      assert.equal(count(text, 'content'), bytes);
    });
  }

  it('adds up the text of several keys', () => {
    assert.equal(count('{"text":"ab","other":"x","thinking":"cde"}', 'text', 'thinking'), 5);
    assert.equal(count('{"text":"ab"}'), 0);
  });

  it('counts exactly the string values of the key, in any spelling of the object around it', () => {
    const plainKey = fc.constantFrom('"content"', '"other"').map((text) => ({ text, value: text.slice(1, -1) }));
    const flatValue = fc.oneof(
      stringText.map(({ text }) => text),
      fc.constantFrom('null', '1', 'true', '[]', '["x"]'),
    );
    fc.assert(
      fc.property(fc.array(memberOf(plainKey, flatValue), { maxLength: 5 }), (members) => {
        const texts = members.filter(({ key, value }) => key.value === 'content' && value.startsWith('"'));
        const expected = texts.reduce((sum, { value }) => sum + decodedBytes(value), 0);
        assert.equal(count(objectText(members), 'content'), expected);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('never counts more bytes than there are, whatever the bytes', () => {
    const noise = fc.array(fc.constantFrom('"content"', ':', ' ', '"', '\\', 'a', ',', 'é'), { maxLength: 30 });
    fc.assert(
      fc.property(noise, (parts) => {
        const bytes = Buffer.from(parts.join(''));
        const counted = textBytes(bytes, textKeys('content'));
        assert.ok(counted >= 0 && counted <= bytes.length);
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});

describe('PartedText', () => {
  it('counts as much as is counted of the whole, wherever that is cut', () => {
    const names = ['content', 'refusal'];
    const noise = fc.oneof(
      {
        arbitrary: fc.constantFrom(
          ...['"content":"', '"refusal" : "', '"content"', ':', ' ', '"', '\\', 'a', 'é', 'u', '\\u4f60', '0041'],
        ),
        weight: 8,
      },
      fc.constantFrom('\ndata: ', '\r\ndata:', '\n', 'data:', 'content', '"content":\n\ndata: "text"'),
    );
    const parts = fc.array(noise, { maxLength: 40 }).map((texts) => Buffer.from(texts.join('')));
    fc.assert(
      fc.property(parts, fc.array(fc.nat({ max: 200 }), { maxLength: 12 }), (bytes, positions) => {
        const keys = textKeys(...names);
        const parted = new PartedText(keys);
        const cuts = [0, ...positions.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const counts = cuts.slice(1).map((end, i) => parted.count(bytes.subarray(cuts[i], end)));
        assert.equal(
          counts.reduce((sum, each) => sum + each, 0),
          textBytes(bytes, keys),
        );
      }),
      { numRuns: propertyRuns(3000) },
    );
  });

  it('takes its time from the size, not from the square of it', () => {
    // A key and much white space: the bytes that are kept back are bounded, and so are the bytes that are read again.
    const parted = new PartedText(textKeys('content'));
    const space = Buffer.alloc(64 * 1024, ' ');
    assert.equal(parted.count(Buffer.from('"content":')), 0);
    for (let i = 0; i < 1000; i++) assert.equal(parted.count(space), 0);
    assert.equal(parted.count(Buffer.from('"lost", "content":"found"')), 5);
  });
});

describe('valueStart', () => {
  it('is where the value of a key begins, in any spacing', () => {
    fc.assert(
      fc.property(memberOf(keySpelling('usage'), valueText), (member: SpeltMember) => {
        const bytes = Buffer.from(objectText([member]));
        const keyEnd = 1 + Buffer.byteLength(member.beforeKey + member.key.text);
        const value = valueStart(bytes, keyEnd);
        assert.equal(bytes.toString('utf8', value, value + Buffer.byteLength(member.value)), member.value);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('is -1 behind a string that is no key', () => {
    for (const text of ['"usage",1', '"usage"}', '"usage" ]', '"usage"']) {
      assert.equal(valueStart(Buffer.from(text), 7), -1, text);
    }
  });
});
