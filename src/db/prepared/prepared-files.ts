import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/**
 * The files of a new embedded database as one file beside the program, which `scripts/prepare-database.ts` makes: unpacking it takes a
 * tenth of the time that the engine takes to make them. It is of use to the engine and the schema that it was made with.
 *
 *     the length of the head, four bytes │ the head, JSON │ the content of all files, one after the other, compressed, with a check sum
 */
export const PREPARED_FILE = fileURLToPath(new URL('../../../prepared/database.zst', import.meta.url));

/** Changes whenever the files are made or used differently. */
const FORMAT = 1;

interface Head {
  /** What it was made with. */
  readonly key: string;
  readonly directories: readonly string[];
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[];
}

const LENGTH_BYTES = 4;

/** A step of the schema that is in prepared files. */
interface PreparedStep {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** Tells the engine and the schema from all others. */
export function preparedKey(steps: readonly PreparedStep[]): string {
  const description = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'));
  const engine = JSON.parse(readFileSync(description, 'utf8')) as { version: string };
  const hash = createHash('sha256').update(JSON.stringify([FORMAT, engine.version]));
  for (const { version, name, sql } of steps) hash.update(JSON.stringify([version, name, sql]));
  return hash.digest('hex');
}

/** Whether the file is there and has that key. */
export function isPreparedFor(file: string, key: string): boolean {
  try {
    return readHead(readFileSync(file)).head.key === key;
  } catch {
    return false;
  }
}

/** Packs a directory of files. */
export function pack(directory: string, key: string): Buffer {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name).slice(directory.length + 1) }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  const paths = entries.filter(({ entry }) => entry.isFile()).map(({ path }) => path);
  const contents = paths.map((path) => readFileSync(join(directory, path)));
  const portable = (path: string): string => path.split(sep).join('/');
  const head: Head = {
    key,
    directories: entries.filter(({ entry }) => entry.isDirectory()).map(({ path }) => portable(path)),
    files: paths.map((path, i) => ({ path: portable(path), sizeBytes: contents[i]!.length })),
  };
  const headBytes = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(headBytes.length);
  const { ZSTD_c_checksumFlag, ZSTD_c_compressionLevel } = constants;
  const params = { [ZSTD_c_checksumFlag]: 1, [ZSTD_c_compressionLevel]: 12 };
  return Buffer.concat([length, headBytes, zstdCompressSync(Buffer.concat(contents), { params })]);
}

/**
 * Makes the directory from packed files. Nothing is synced.
 *
 * @returns false, and makes nothing, if they have another key.
 * @throws if they are damaged; the directory may then be there in part.
 */
export function unpack(packed: Buffer, key: string, directory: string): boolean {
  const { head, headEnd } = readHead(packed);
  if (head.key !== key) return false;
  const content = zstdDecompressSync(packed.subarray(headEnd));
  const sizeBytes = head.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (content.length !== sizeBytes)
    throw new Error(`the prepared database has ${content.length} bytes, not ${sizeBytes}`);
  mkdirSync(directory, { mode: 0o700 });
  for (const path of head.directories) mkdirSync(join(directory, path), { mode: 0o700 });
  let at = 0;
  for (const file of head.files) {
    writeFileSync(join(directory, file.path), content.subarray(at, at + file.sizeBytes), { mode: 0o600 });
    at += file.sizeBytes;
  }
  return true;
}

function readHead(packed: Buffer): { readonly head: Head; readonly headEnd: number } {
  const headEnd = LENGTH_BYTES + packed.readUInt32LE();
  return { head: JSON.parse(packed.toString('utf8', LENGTH_BYTES, headEnd)) as Head, headEnd };
}
