import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { until } from '../../../test/support/until.ts';
import { escapeJson } from '../../lib/plain-text.ts';
import { LogStream } from './log-stream.ts';
import { loggerTo } from './logger.ts';

const directory = mkdtempSync(join(tmpdir(), 'log-stream-'));
after(() => rmSync(directory, { recursive: true }));

let files = 0;
const newPath = (): string => join(directory, String(files++));

describe('the log of a gateway', () => {
  it('writes lines of requests together, and flushes at a warning', async () => {
    const path = newPath();
    const logger = loggerTo(new LogStream({ destination: path, format: 'json' }), {});
    logger.info({ n: 1 }, 'request');
    logger.info({ n: 2 }, 'request');
    logger.warn({}, 'a call failed');
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('failed'));
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).msg),
      ['request', 'request', 'a call failed'],
    );
  });

  it('writes a single line after a delay', async () => {
    const path = newPath();
    const logger = loggerTo(new LogStream({ destination: path, format: 'json' }), {});
    logger.info({}, 'request');
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes('request'));
  });

  it('holds lines back until it is released, except before a warning', async () => {
    const [path, other] = [newPath(), newPath()];
    const stream = new LogStream({ destination: path, format: 'json' });
    const logger = loggerTo(stream, {});
    stream.hold();
    logger.info({}, 'held');
    // A line of another log, which has the same delay and begins later.
    loggerTo(new LogStream({ destination: other, format: 'json' }), {}).info({}, 'request');
    await until(() => readFileSync(other, 'utf8').includes('request'));
    assert.equal(readFileSync(path, 'utf8'), '');
    stream.release();
    await until(() => readFileSync(path, 'utf8').includes('held'));
    stream.hold();
    logger.info({}, 'second');
    logger.warn({}, 'waiting for the database');
    await until(() => readFileSync(path, 'utf8').includes('waiting'));
    assert.match(readFileSync(path, 'utf8'), /"second"/);
    assert.equal(await stream.close(60_000), true);
  });

  it('changes its format to pretty lines and back', () => {
    const path = newPath();
    const stream = new LogStream({ destination: path, format: 'pretty', isSync: true });
    const logger = loggerTo(stream, {});
    logger.info({ status: 200, model: 'a b', failedRoutes: [{ a: 1 }], name: 'e\u001b[2J\u202e' }, 'request');
    const words = String.raw`INFO  request status=200 model="a b" failedRoutes=[{"a":1}] name=e\u001b[2J\u202e`;
    assert.match(readFileSync(path, 'utf8'), /^\d\d:\d\d:\d\d\.\d{3} /);
    assert.equal(readFileSync(path, 'utf8').slice(13), `${words}\n`);
    stream.format = 'json';
    logger.error({ err: new Error('Broken.') }, 'a fault');
    const [, json] = readFileSync(path, 'utf8').split('\n');
    assert.equal(JSON.parse(json!).err.message, 'Broken.');
  });

  it('escapes control characters in lines of any length and alphabet', async () => {
    const path = newPath();
    const stream = new LogStream({ destination: path, format: 'json', waitingBytesMax: Number.POSITIVE_INFINITY });
    const name = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'é', '\u007f', '\u202e', '🙂') }),
      fc.tuple(fc.constantFrom('a', '\u007f', '\u202e'), fc.nat(150_000)).map(([unit, length]) => unit.repeat(length)),
    );
    const lines = fc.sample(fc.record({ name }), 50).map((details) => `${JSON.stringify(details)}\n`);
    for (const line of lines) stream.write(line);
    assert.equal(await stream.close(60_000), true);
    assert.equal(readFileSync(path, 'utf8'), lines.map(escapeJson).join(''));
  });

  it('prints the stack of an error below its line', () => {
    const path = newPath();
    const logger = loggerTo(new LogStream({ destination: path, format: 'pretty', isSync: true }), {});
    logger.error({ err: new Error('Broken.') }, 'a fault');
    assert.match(readFileSync(path, 'utf8'), /ERROR a fault\nError: Broken\.\n {4}at /);
  });

  it('drops lines, and reports how many, if standard error is busy', {
    skip: process.platform === 'win32',
  }, async () => {
    const path = newPath();
    execFileSync('mkfifo', [path]);
    // A pipe with a reader that does not read: it is full after 64 KiB, and says so.
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const stream = new LogStream({ destination: pipe, format: 'json', waitingBytesMax: 100_000 });
    const logger = loggerTo(stream, {});
    const filler = 'x'.repeat(1000);
    for (let n = 0; n < 300; n++) logger.info({ filler }, 'request');
    logger.error({ filler }, 'a fault');
    // 300 kB were logged. The pipe takes 64 KiB at most, later, and 100 kB may wait.
    const dropped = stream.droppedLines;
    assert.ok(dropped >= 200, `${dropped} lines were dropped`);
    const buffer = Buffer.alloc(1 << 20);
    let text = '';
    await until(() => {
      for (;;) {
        try {
          text += buffer.toString('utf8', 0, readSync(pipe, buffer));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
          return /"lines":\d+.*\n$/.test(text);
        }
      }
    });
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(lines.at(-1).lines, dropped);
    assert.equal(lines.length - 1 + dropped, 301);
    closeSync(pipe);
  });

  it('does not interleave the lines of several processes in a pipe', {
    skip: process.platform === 'win32',
  }, async () => {
    const path = newPath();
    execFileSync('mkfifo', [path]);
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const loggers = [1, 2].map((worker) => {
      const destination = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return loggerTo(new LogStream({ destination, format: 'json', isShared: true }), {}, worker);
    });
    const LINES = 400;
    for (let n = 0; n < LINES; n++)
      for (const each of loggers) each.info({ n, filler: 'x'.repeat((n * 37) % 900) }, 'request');
    const buffer = Buffer.alloc(4_000);
    let text = '';
    await until(() => {
      try {
        text += buffer.toString('utf8', 0, readSync(pipe, buffer));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      }
      return text.split('\n').length > 2 * LINES;
    });
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const worker of [1, 2]) {
      assert.deepEqual(
        lines.filter((line) => line.worker === worker).map(({ n }) => n),
        Array.from({ length: LINES }, (_, n) => n),
      );
    }
    closeSync(pipe);
  });

  it('continues if standard error fails, such as on a full disk', { skip: !existsSync('/dev/full') }, async () => {
    const stream = new LogStream({ destination: '/dev/full', format: 'json', waitingBytesMax: 10_000 });
    const logger = loggerTo(stream, {});
    await until(() => {
      logger.error({ filler: 'x'.repeat(1000) }, 'a fault');
      return stream.droppedLines > 0;
    });
    assert.equal(await stream.close(60_000), true);
    logger.error({}, 'after the end');
  });

  it('has written everything when it is closed', async () => {
    const path = newPath();
    const stream = new LogStream({ destination: path, format: 'json' });
    loggerTo(stream, {}).info({}, 'request');
    assert.equal(await stream.close(60_000), true);
    assert.match(readFileSync(path, 'utf8'), /request/);
  });

  it('has written everything when an uncaught error ends the process', () => {
    const modules = ['./log-stream.ts', './logger.ts'].map((file) => new URL(file, import.meta.url).href);
    const program = `
      const [{ LogStream }, { loggerTo }] = await Promise.all(${JSON.stringify(modules)}.map((url) => import(url)));
      loggerTo(new LogStream({ destination: 2, format: 'json' }), {}).info({ n: 1 }, 'request');
      throw new Error('Broken.');`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    assert.match(stderr, /^\{.*"n":1,"msg":"request"\}$/m);
  });

  it('closes without the pending lines if standard error stays busy, and returns false', {
    skip: process.platform === 'win32',
  }, async () => {
    const path = newPath();
    execFileSync('mkfifo', [path]);
    // The stream closes it, so the test does not.
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const stream = new LogStream({ destination: pipe, format: 'json' });
    const logger = loggerTo(stream, {});
    for (let n = 0; n < 100; n++) logger.info({ filler: 'x'.repeat(1000) }, 'request');
    assert.equal(await stream.close(1), false);
  });
});
