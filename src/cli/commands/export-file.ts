import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { syncDirectory } from '../../lib/files/durable-files.ts';
import { type ExportEnd, readEnd, TransferError } from '../../transfer/format.ts';
import type { CliProcess } from '../command.ts';

/** Argument for standard input or output. */
export const STANDARD = '-';

/** Maximum size of the last line, which has the row counts of several tables. */
const END_BYTES_MAX = 64 * 1024;

export type Written = { readonly end: ExportEnd; readonly sizeBytes: number };

/**
 * Writes an export to a file, compressed if its name ends in `.gz`. Only the owner can read the file. It has a temporary name until it is
 * complete and synced.
 *
 * @throws TransferError if the export ended early; an earlier file of that name is kept
 */
export async function writeExport(
  file: string,
  chunks: AsyncIterable<Uint8Array | string>,
  { stdout }: CliProcess,
  onChunk: (chunk: Buffer) => void,
): Promise<Written> {
  let tail = Buffer.alloc(0);
  let sizeBytes = 0;
  async function* observed(): AsyncIterable<Buffer> {
    for await (const given of chunks) {
      const chunk =
        typeof given === 'string' ? Buffer.from(given) : Buffer.from(given.buffer, given.byteOffset, given.length);
      sizeBytes += chunk.length;
      tail = Buffer.concat([tail, chunk]).subarray(-END_BYTES_MAX);
      onChunk(chunk);
      yield chunk;
    }
  }
  const source = Readable.from(observed(), { objectMode: false });
  const requireEnd = (): ExportEnd => {
    const end = readEnd(tail.toString().trimEnd().split('\n').at(-1)!);
    if (end === null) throw new TransferError('The export ended before its last line; nothing was written. Try again.');
    return end;
  };
  if (file === STANDARD) {
    await pipeline(source, requireStream(stdout), { end: false });
    return { end: requireEnd(), sizeBytes };
  }
  const unfinished = `${file}.unfinished`;
  await rm(unfinished, { force: true });
  const handle = await open(unfinished, 'wx', 0o600);
  try {
    const write = (written: AsyncIterable<Buffer>): Promise<void> => handle.writeFile(written);
    if (file.endsWith('.gz')) await pipeline(source, createGzip(), write);
    else await pipeline(source, write);
    const end = requireEnd();
    await handle.sync();
    await handle.close();
    await rename(unfinished, file);
    await syncDirectory(dirname(file));
    return { end, sizeBytes };
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(unfinished, { force: true });
    throw error;
  }
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/**
 * Returns the lines of an export, decompressed if it begins like a gzip file.
 *
 * @throws TransferError if it cannot be decompressed, or is not text
 */
export async function* readExport(file: string, { stdin }: CliProcess): AsyncGenerator<string> {
  const source = file === STANDARD ? requireStream(stdin) : createReadStream(file);
  const decoder = new TextDecoder('utf8', { fatal: true });
  const rest: string[] = [];
  try {
    for await (const chunk of decompressed(source)) {
      const parts = decoder.decode(chunk, { stream: true }).split('\n');
      for (const part of parts.slice(0, -1)) {
        rest.push(part);
        yield rest.join('');
        rest.length = 0;
      }
      rest.push(parts.at(-1)!);
    }
  } catch (error) {
    if (isDamage(error))
      throw new TransferError('The file is damaged or incomplete. Nothing was imported; use another file.');
    throw error;
  } finally {
    source.destroy();
  }
  const last = rest.join('');
  if (last !== '') yield last;
}

async function* decompressed(source: Readable): AsyncIterable<Buffer> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  if (first.done) return;
  async function* all(): AsyncIterable<Buffer> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  if (!GZIP_MAGIC.equals(first.value.subarray(0, 2))) {
    yield* all();
    return;
  }
  const gunzip = createGunzip();
  // An error is ignored here: `pipeline` passes it on to `gunzip`, and so to the reader.
  pipeline(all(), gunzip).catch(() => undefined);
  yield* gunzip as AsyncIterable<Buffer>;
}

function isDamage(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return code.startsWith('Z_') || code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
}

function requireStream<Stream extends Readable | Writable>(stream: Stream | undefined): Stream {
  if (stream === undefined) throw new Error('this process has no such stream');
  return stream;
}
