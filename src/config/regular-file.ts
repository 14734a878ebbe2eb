import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { NamedError } from '../lib/named-error.ts';

/** Maximum size of a file. No configuration is larger, and a wrong file must not fill the memory. */
const BYTES_MAX = 16 * 2 ** 20;

/** Thrown if a file cannot be read. The message says why. */
export class UnreadableFileError extends NamedError {}

export interface ReadFile {
  readonly bytes: Buffer;
  /** Version of the file, which changes if the file is written or replaced. */
  readonly version: string;
  /** Whether the file stayed the same while it was read. */
  readonly isWhole: boolean;
}

/**
 * Reads a file and follows links. A pipe or a device is refused: reading would block until data arrives, and consume the data.
 * @throws UnreadableFileError
 */
export function readRegularFile(path: string): ReadFile {
  try {
    requireRegular(statSync(path, { bigint: true }));
    // A pipe may have replaced the file since the check. Opening the pipe must not block.
    const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const before = fstatSync(file, { bigint: true });
      requireRegular(before);
      const bytes = readAll(file);
      const version = versionOf(before);
      return { bytes, version, isWhole: version === versionOf(fstatSync(file, { bigint: true })) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof UnreadableFileError) throw error;
    throw new UnreadableFileError(describeReadFailure(error));
  }
}

/** Returns the version of a file, which changes if it is written, replaced or removed. */
export function fileVersion(path: string): string {
  try {
    return versionOf(statSync(path, { bigint: true }));
  } catch {
    return 'none';
  }
}

function requireRegular(stats: BigIntStats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new UnreadableFileError('This is a directory, not a file.');
  const kind = stats.isFIFO() ? 'a pipe' : stats.isSocket() ? 'a socket' : 'a device';
  throw new UnreadableFileError(`This is ${kind}, not a regular file.`);
}

function readAll(file: number): Buffer {
  const blocks: Buffer[] = [];
  for (let length = 0; ; ) {
    const block = Buffer.allocUnsafe(64 * 1024);
    const read = readSync(file, block, 0, block.length, null);
    if (read === 0) return Buffer.concat(blocks, length);
    length += read;
    if (length > BYTES_MAX) throw new UnreadableFileError('The file is larger than 16 MiB.');
    blocks.push(block.subarray(0, read));
  }
}

function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

function describeReadFailure(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'There is no such file.';
    case 'EACCES':
      return 'There is no permission to read this file.';
    default:
      return `The file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
