import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/any-text.ts';
import { createTraceIds, formatTraceparent, isInSample, parseTraceparent, validTracestate } from './trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const hex = (digits: number) =>
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: digits, maxLength: digits }).map((all) => all.join(''));
const id = (digits: number) => hex(digits).filter((text) => !/^0+$/.test(text));

describe('a traceparent', () => {
  it('is parsed as specified', () => {
    const found = { traceId: TRACE, spanId: SPAN, isSampled: true };
    assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), found);
    assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-fe`), { ...found, isSampled: false });
    assert.deepEqual(parseTraceparent(`01-${TRACE}-${SPAN}-01-more`), found);
    assert.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01`), found);
  });

  for (const wrong of [
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `01-${TRACE}-${SPAN}-01more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-0g`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `01-${TRACE}-${SPAN}-01-${'x'.repeat(1_000_000)}`,
  ]) {
    it(`is null if it is ${JSON.stringify(wrong.slice(0, 70))}`, () => {
      assert.equal(parseTraceparent(wrong), null);
    });
  }

  it('is parsed to the context that was formatted', () => {
    fc.assert(
      fc.property(id(32), id(16), fc.boolean(), (traceId, spanId, isSampled) => {
        const context = { traceId, spanId, isSampled };
        assert.deepEqual(parseTraceparent(formatTraceparent(context)), context);
      }),
    );
  });

  it('is null or the context in the header, for any header', () => {
    const near = fc.tuple(fc.nat(60), fc.string({ maxLength: 4, unit: anyCharacter })).map(([at, text]) => {
      const good = `00-${TRACE}-${SPAN}-01`;
      return good.slice(0, at) + text + good.slice(at + text.length);
    });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), near), (header) => {
        const found = parseTraceparent(header);
        if (found === null) return;
        assert.match(found.traceId, /^[0-9a-f]{32}$/);
        assert.match(found.spanId, /^[0-9a-f]{16}$/);
        assert.ok(header.includes(`-${found.traceId}-${found.spanId}-`));
      }),
    );
  });
});

describe('a tracestate', () => {
  it('is propagated if each member is valid', () => {
    assert.equal(
      validTracestate('congo=t61rcWkgMzE, rojo=00f067aa0ba902b7,'),
      'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
    );
    assert.equal(validTracestate('1tenant@vendor=x y'), '1tenant@vendor=x y');
  });

  for (const wrong of [
    '',
    ',',
    'no',
    'A=1',
    'a=',
    'a=b=c',
    'a=\r\nx: y',
    'a=ü',
    `a=${'x'.repeat(600)}`,
    'a=1,'.repeat(33),
  ]) {
    it(`is dropped if it is ${JSON.stringify(wrong.slice(0, 30))}`, () => assert.equal(validTracestate(wrong), null));
  }
});

describe('ids of traces', () => {
  it('come from the random source, and are never zero', () => {
    let fills = 0;
    const ids = createTraceIds((bytes) => bytes.fill(fills++ === 0 ? 0 : 0xab));
    assert.equal(ids.traceId(), 'ab'.repeat(16));
    assert.equal(ids.spanId(), 'ab'.repeat(8));
    assert.equal(fills, 2);
  });

  it('decide whether a trace is sampled: none at 0, all at 1, and more at a larger ratio', () => {
    fc.assert(
      fc.property(id(32), fc.double({ min: 0, max: 1, noNaN: true }), (traceId, ratio) => {
        assert.equal(isInSample(traceId, 0), false);
        assert.equal(isInSample(traceId, 1), true);
        if (isInSample(traceId, ratio / 2)) assert.equal(isInSample(traceId, ratio), true);
      }),
    );
    assert.equal(isInSample(`${'0'.repeat(20)}7fffffffffff`, 0.5), true);
    assert.equal(isInSample(`${'0'.repeat(20)}800000000000`, 0.5), false);
  });
});
