import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import { anyCharacter } from '../../../test/support/any-text.ts';
import { LogStream } from './log-stream.ts';
import { createTimestamp, loggerTo } from './logger.ts';

const directory = mkdtempSync(join(tmpdir(), 'logger-'));
after(() => rmSync(directory, { recursive: true }));

const path = join(directory, 'log');
const logger = loggerTo(new LogStream({ destination: path, format: 'json', isSync: true }), {});
let readLength = 0;

/** The lines that were logged since it was last called. */
function newLines(): Record<string, unknown>[] {
  const text = readFileSync(path, 'utf8').slice(readLength);
  readLength += text.length;
  const lines = text.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('the logger', () => {
  it('writes the same lines as pino for any details', () => {
    const expected: Record<string, unknown>[] = [];
    const pinoLogger = pino(
      { base: null, timestamp: false },
      { write: (line) => void expected.push(JSON.parse(line)) },
    );
    const circle: Record<string, unknown> = { name: 'circle' };
    circle.itself = circle;
    const value = fc.oneof(
      { weight: 5, arbitrary: fc.string({ unit: anyCharacter }) },
      fc.jsonValue(),
      fc.double(),
      fc.bigInt(),
      fc.date({ noInvalidDate: true }),
      fc.constantFrom(undefined, null, () => 1, circle, new Error('Broken.')),
    );
    // Without a backslash: JSON.parse of V8 13.6 takes the name "\"" for "\\" once it has read an object with the latter.
    const details = fc.dictionary(fc.stringMatching(/^[a-z"é]{0,3}$/), value, { noNullPrototype: true });
    const message = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(details, message, (details, message) => {
        logger.info(details, message);
        pinoLogger.info(details, message);
        const [line] = newLines();
        const { time, ...rest } = line!;
        assert.deepEqual(rest, expected.pop());
        assert.equal(new Date(String(time)).toISOString(), time);
      }),
    );
  });

  it('has the number of the worker in each line', () => {
    const ofWorker = loggerTo(new LogStream({ destination: path, format: 'json', isSync: true }), {}, 3);
    ofWorker.info({ a: 1 }, 'by us');
    ofWorker.error({ err: new Error('Broken.') }, 'by pino');
    const lines = newLines();
    assert.deepEqual(
      lines.map(({ worker, msg }) => [worker, msg]),
      [
        [3, 'by us'],
        [3, 'by pino'],
      ],
    );
    assert.deepEqual(Object.keys(lines[0]!), ['level', 'time', 'worker', 'a', 'msg']);
  });

  it('has the time in each line', () => {
    let now = 0;
    const timestamp = createTimestamp(() => now);
    for (const nowMs of [0, 999, 1_000, 1_001, 1_790_000_000_050, 1_790_000_000_999, 1_790_000_001_000, 999]) {
      now = nowMs;
      assert.equal(timestamp(), `,"time":"${new Date(nowMs).toISOString()}"`);
    }
  });

  it('accepts calls of pino in other forms', () => {
    logger.info('only words');
    logger.info({ n: 1 });
    logger.info(['a', 1], 'a list');
    logger.info(new URL('http://text.example/'), 'a text');
    logger.warn(new Error('Broken.'));
    logger.child({ part: 'child' }).info({ n: 2 }, 'of a child');
    const lines = newLines().map(({ time, err, ...rest }) => rest);
    assert.deepEqual(lines, [
      { level: 30, msg: 'only words' },
      { level: 30, n: 1 },
      { level: 30, 0: 'a', 1: 1, msg: 'a list' },
      { level: 30, msg: 'a text' },
      { level: 40, msg: 'Broken.' },
      { level: 30, part: 'child', n: 2, msg: 'of a child' },
    ]);
  });

  it('writes half of a surrogate pair as pino does', () => {
    logger.info({ name: 'a\ud800' }, '\udc00');
    const [line] = newLines();
    assert.equal(line!.name, 'a\ud800');
    assert.equal(line!.msg, '\udc00');
  });
});
