import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { DataRuns } from './data-runs.ts';
import { compilePaths } from './written-paths.ts';
import { WrittenText } from './written-text.ts';

const data = randomBytes(60_000).toString('base64');
const written = (before: string, after: string) => `${before}![](data:image/png;base64,${data})${after}`;
const AROUND = Buffer.byteLength(written('', '')) - data.length;

const CONTENT = { paths: compilePaths({ text: ['delta.content'] }) };

const measured = (...pieces: readonly Buffer[]) => {
  const text = new WrittenText(CONTENT);
  for (const piece of pieces) text.add(piece);
  return { sizeBytes: text.sizeBytes, pictures: text.pictures };
};
const eventOf = (content: string) => Buffer.from(`data: {"delta":{"content":${JSON.stringify(content)}}}\n\n`);

describe('images in a text', () => {
  it('are not counted as text', () => {
    assert.deepEqual(measured(eventOf(written('Here: ', '\nDone.'))), { sizeBytes: AROUND + 12, pictures: 1 });
    assert.equal(measured(eventOf(written(written('', ' '), ''))).pictures, 2);
  });

  it('are detected if slashes are escaped', () => {
    const escaped = Buffer.from(eventOf(written('', '')).toString().replaceAll('/', '\\/'));
    assert.deepEqual(measured(escaped), { sizeBytes: AROUND, pictures: 1 });
  });

  it('are detected in chunks of a stream, of which the last may be small', () => {
    const whole = written('Here: ', '');
    const pieces = Array.from({ length: Math.ceil(whole.length / 4_000) }, (_, i) =>
      eventOf(whole.slice(i * 4_000, (i + 1) * 4_000)),
    );
    assert.deepEqual(measured(...pieces, eventOf(' Done.')), { sizeBytes: AROUND + 12, pictures: 1 });
  });

  it('are detected in an event that arrives in chunks', () => {
    const event = eventOf(written('Here: ', ''));
    for (const size of [100, 1_500, 50_000]) {
      const text = new WrittenText(CONTENT);
      for (let at = 0; at < event.length; at += size)
        text.addPart(event.subarray(at, at + size), at + size >= event.length);
      const { sizeBytes, pictures } = text;
      assert.equal(pictures, size === 100 ? 0 : 1, `parts of ${size}`);
      if (pictures === 1) assert.equal(sizeBytes, AROUND + 6);
    }
  });

  it('are distinguished from anything that models write', () => {
    for (const text of [
      'word'.repeat(20_000),
      'x'.repeat(1_000_000),
      data.slice(0, 12_000),
      'The quick brown fox jumps over the lazy dog. '.repeat(2_000),
      `${'0123456789abcdef'.repeat(4_000)}\n`,
    ]) {
      assert.deepEqual(measured(eventOf(text)), { sizeBytes: text.length, pictures: 0 });
    }
    const chinese = '你好世界'.repeat(5_000);
    const escaped = chinese.replace(/./gu, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
    const event = Buffer.from(`data: {"delta":{"content":"${escaped}"}}\n\n`);
    assert.deepEqual(measured(event), { sizeBytes: Buffer.byteLength(chinese), pictures: 0 });
  });
});

/** A simple implementation of the same rule: bytes of runs longer than 16,384 bytes with 48 different characters. */
function dataBytesOf(text: string): number {
  const runs = text.match(/(?:[A-Za-z0-9+/=_-]|\\(?=\/))+/g) ?? [];
  const sizes = runs.map((run) => run.replaceAll('\\', '').length);
  return sizes.reduce((sum, size, i) => sum + (size > 16_384 && new Set(runs[i]).size >= 48 ? size : 0), 0);
}

describe('base64 runs', () => {
  it('are found at any position, however the text is cut', () => {
    const run = fc.integer({ min: 0, max: 40_000 }).map((length) => data.slice(0, length));
    const long = fc.integer({ min: 16_370, max: 16_400 }).map((length) => data.slice(0, length));
    const escaped = long.map((text) => text.replaceAll('/', '\\/'));
    const between = fc.constantFrom(' ', '.', ' and ', '\\n', '\\\\', 'x'.repeat(17_000), '');
    const text = fc.array(fc.oneof(run, long, escaped, between), { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1_024, max: 30_000 })), (whole, sizes) => {
        const bytes = Buffer.from(whole);
        const runs = new DataRuns();
        let found = 0;
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          // Escapes are never cut, and chunks that are too small are skipped.
          let end = Math.min(at + size, bytes.length);
          if (bytes[end - 1] === 0x5c) end++;
          if (bytes.length - end < 1_024) end = bytes.length;
          found += runs.dataIn(bytes, at, end);
          at = end;
        }
        assert.equal(found, whole.length < 1_024 ? 0 : dataBytesOf(whole));
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it('have almost no cost if there are none', () => {
    const bytes = Buffer.from(' apple'.repeat(20_000));
    let read = 0;
    const watched = new Proxy(bytes, {
      get(target, name) {
        read++;
        return Reflect.get(target, name) as unknown;
      },
    });
    assert.equal(new DataRuns().dataIn(watched, 0, bytes.length), 0);
    assert.ok(read < bytes.length / 100, `${read} reads of ${bytes.length} bytes`);
  });
});
