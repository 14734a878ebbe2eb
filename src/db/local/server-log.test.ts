import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { ServerLog } from './server-log.ts';

describe('the log of the local server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-log-'));
  after(() => rmSync(directory, { recursive: true }));

  const line = (process: string, level: string, text: string): string =>
    `2026-11-28 12:00:00.000 UTC [17] (${process}) ${level}:  ${text}`;

  async function written(
    name: string,
    chunks: readonly string[],
  ): Promise<{ file: string; log: ServerLog; lines: string[] }> {
    const file = join(directory, name);
    const log = new ServerLog(file);
    const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    const lines: string[] = [];
    log.read(stream, (each) => lines.push(each));
    await new Promise((resolve) => stream.once('end', resolve));
    return { file, log, lines };
  }

  test('contains server messages, but no statement errors or their continuation lines', async () => {
    const kept = [
      line('postmaster', 'LOG', 'database system is ready'),
      line('checkpointer', 'ERROR', 'could not write'),
      '\tto a file',
      line('client backend', 'FATAL', 'too many clients'),
    ];
    const leftOut = [
      line('client backend', 'ERROR', 'value "secret"'),
      '\tsecret',
      line('client backend', 'WARNING', 'secret'),
    ];
    const text = [kept[0], ...leftOut, ...kept.slice(1), leftOut[0]].map((each) => `${each}\n`).join('');
    // In any split into chunks.
    const { file, log, lines } = await written('kinds', [text.slice(0, 100), text.slice(100, 101), text.slice(101)]);
    assert.equal(readFileSync(file, 'utf8'), kept.map((each) => `${each}\n`).join(''));
    assert.deepEqual(lines, kept);
    assert.equal(
      log.lastLines(),
      'LOG: database system is ready\nERROR: could not write\n\tto a file\nFATAL: too many clients',
    );
  });

  test('is rotated when it is large; one earlier file is kept, and others can read neither', async () => {
    const chunk = `${line('postmaster', 'LOG', 'x'.repeat(1_000))}\n`.repeat(600);
    const { file } = await written('large', [chunk, chunk, chunk, chunk, chunk]);
    assert.ok(statSync(file).size < 2 ** 21);
    assert.ok(statSync(`${file}.1`).size > 2 ** 20);
    for (const path of [file, `${file}.1`]) assert.equal(statSync(path).mode & 0o077, 0);
  });

  test('that cannot be written does not stop the server', async () => {
    const { lines } = await written('none/log', [`${line('postmaster', 'LOG', 'ready')}\n`]);
    assert.equal(lines.length, 1);
  });
});
