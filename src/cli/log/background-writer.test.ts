import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/any-text.ts';
import { until } from '../../../test/support/until.ts';
import { BackgroundWriter } from './background-writer.ts';

const directory = mkdtempSync(join(tmpdir(), 'background-writer-'));
after(() => rmSync(directory, { recursive: true }));

let files = 0;
const newPath = (): string => join(directory, String(files++));
/** Small, so that many are filled. */
const CHUNK_BYTES = 1024;
const silent = { onIdle: () => undefined, onError: () => undefined };

/** A pipe that says when it takes nothing, and which is read here. */
function newPipe() {
  const path = newPath();
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(1 << 20);
  return {
    pipe,
    fill(): void {
      try {
        for (;;) writeSync(pipe, Buffer.alloc(4096, '.'));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
      }
    },
    /** Without what it was filled with. */
    read(): string {
      let text = '';
      try {
        for (;;) text += buffer.toString('utf8', 0, readSync(pipe, buffer));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
        return text.replaceAll('.', '');
      }
    },
  };
}

describe('a writer in the background', () => {
  it('writes texts of any length and alphabet in their order', async () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: 'grapheme-ascii', maxLength: CHUNK_BYTES / 4 }),
      // So that chunks end within some of them, and some are longer than a chunk.
      fc
        .tuple(fc.constantFrom('a', 'é', '€', '🙂'), fc.nat(2 * CHUNK_BYTES))
        .map(([unit, length]) => unit.repeat(length)),
    );
    const step = fc.record({ text, isFlushed: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const path = newPath();
        const writer = new BackgroundWriter(openSync(path, 'a'), silent, CHUNK_BYTES);
        for (const { text, isFlushed } of steps) {
          if (!writer.appendAscii(text)) writer.append(text);
          if (isFlushed) writer.flush();
        }
        writer.flush();
        await until(() => writer.waitingBytes === 0);
        writer.close();
        assert.equal(readFileSync(path, 'utf8'), steps.map(({ text }) => text.toWellFormed()).join(''));
      }),
    );
  });

  it('appends nothing if a text is not ASCII', () => {
    const path = newPath();
    const writer = new BackgroundWriter(openSync(path, 'a'), silent);
    assert.equal(writer.appendAscii('one '), true);
    for (const text of ['é', 'café', '€', '\u0080', '🙂', '\ud800']) assert.equal(writer.appendAscii(text), false);
    assert.equal(writer.appendAscii('two'), true);
    writer.writeNow(0);
    writer.close();
    assert.equal(readFileSync(path, 'utf8'), 'one two');
  });

  it('fills one chunk while the destination is busy, despite flushes', {
    skip: process.platform === 'win32',
  }, () => {
    const { pipe, fill, read } = newPipe();
    fill();
    const writer = new BackgroundWriter(pipe, silent);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 1_000; n++) {
      writer.append('line\n');
      writer.flush();
    }
    // A thousand chunks would take 128 MiB.
    assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20);
    read();
    writer.close();
  });

  it('writes pending bytes once, synchronously, after the destination was busy', {
    skip: process.platform === 'win32',
  }, async () => {
    const { pipe, fill, read } = newPipe();
    fill();
    const writer = new BackgroundWriter(pipe, silent);
    writer.append('one ');
    writer.flush();
    writer.append('two ');
    assert.throws(() => writer.writeNow(0), { code: 'EAGAIN' });
    assert.equal(writer.waitingBytes, 8);
    writer.append('three ');
    let text = read();
    writer.writeNow(60_000);
    await until(() => {
      text += read();
      return writer.waitingBytes === 0;
    });
    // The thread that has the first one may be late.
    assert.deepEqual(text.match(/\w+? /g)?.toSorted(), ['one ', 'three ', 'two ']);
    writer.close();
  });

  it('reports a failed write, and retries it', { skip: process.platform === 'win32' }, async () => {
    const path = newPath();
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const pipe = openSync(path, constants.O_WRONLY);
    closeSync(reader);
    let errors = 0;
    const writer = new BackgroundWriter(pipe, { ...silent, onError: () => errors++ });
    writer.append('one ');
    writer.flush();
    await until(() => errors === 1);
    const nextReader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    writer.append('two');
    writer.flush();
    await until(() => writer.waitingBytes === 0);
    const buffer = Buffer.alloc(100);
    assert.equal(buffer.toString('utf8', 0, readSync(nextReader, buffer)), 'one two');
    writer.close();
    closeSync(nextReader);
  });
});
