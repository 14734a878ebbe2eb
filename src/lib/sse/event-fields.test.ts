import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { eventFields } from './event-fields.ts';

function fields(text: string): { name: string | null; data: string | null } {
  const { name, data } = eventFields(Buffer.from(text));
  return { name, data: data === null ? null : data.toString() };
}

/** A reference implementation with strings and regular expressions. */
function meaning(event: string): { name: string | null; data: string | null } {
  const values = (field: string): string[] =>
    event
      .replace(/^\ufeff/, '')
      .split(/\r\n|\r|\n/)
      .map((line) => /^([^:]*)(?::\x20?(.*))?$/s.exec(line)!)
      .filter(([, name]) => name === field)
      .map(([, , value]) => value ?? '');
  const data = values('data');
  return { name: values('event').at(-1) ?? null, data: data.length === 0 ? null : data.join('\n') };
}

describe('eventFields', () => {
  const cases: readonly [event: string, name: string | null, data: string | null][] = [
    ['', null, null],
    ['\n', null, null],
    [': ping\n\n', null, null],
    ['event: a\ndata: b\n\n', 'a', 'b'],
    ['event:a\r\ndata:b\r\n\r\n', 'a', 'b'],
    ['id: 7\rdata: 你好\r\ndata\rdata: 😀\n\n', null, '你好\n\n😀'],
    [': event: a\n data: b\ndata: event: c\n\n', null, 'event: c'],
    ['event: a\rdata: b\r\r', 'a', 'b'],
    ['data: b\nevent: a', 'a', 'b'],
    ['event: a\nevent: b\n\n', 'b', null],
    ['data: b\ndata:  c\ndata\n\n', null, 'b\n c\n'],
    ['data\n\n', null, ''],
    ['event\ndata:\n\n', '', ''],
    ['\ufeffdata: b\n\n', null, 'b'],
    ['eventual: a\ndatabase: b\ndat: c\n\n', null, null],
    ['\ndata: b\n\n', null, 'b'],
    ['data: b\r\n', null, 'b'],
    ['data: half of a li', null, 'half of a li'],
  ];
  for (const [event, name, data] of cases) {
    it(`reads ${JSON.stringify(event)}`, () => assert.deepEqual(fields(event), { name, data }));
  }

  it('reads events as WHATWG specifies, with any line ends', () => {
    const line = fc.oneof(
      fc.constantFrom('data: a', 'data:b', 'data', 'data:', 'event: e', 'event', ': comment', '', 'id: 1', '\ufeff'),
      fc.string({ unit: fc.constantFrom('d', 'a', 't', ':', ' ', 'é', '\ufeff'), maxLength: 6 }),
    );
    const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom('', '\ufeff'), lines, fc.boolean(), (start, parts, isCut) => {
        const text = start + parts.map(([each, end]) => each + end).join('');
        const event = isCut ? text.replace(/[\r\n]+$/, '') : text;
        assert.deepEqual(fields(event), meaning(event));
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('does not copy a single line of data', () => {
    const event = Buffer.from(`event: a\ndata: ${'A'.repeat(100_000)}\n\n`);
    const { data } = eventFields(event);
    assert.equal(data?.buffer, event.buffer);
    assert.equal(data.length, 100_000);
  });

  it('truncates a long name', () => {
    assert.equal(eventFields(Buffer.from(`event: ${'a'.repeat(100_000)}\n\n`)).name?.length, 256);
  });
});
