import { type FileHandle, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises';
import { makeDurableDirectory, syncDirectory } from '../lib/files/durable-files.ts';

/** An open file, read and written at offsets in bytes. Every operation fails with the system's own error. */
export interface DiskFile {
  /** Writes the beginning of `bytes`, perhaps not all of it; returns how many bytes. */
  write(bytes: Buffer, offset: number): Promise<number>;
  /** Reads into the beginning of `into`, perhaps not filling it; returns how many bytes, 0 at the end of the file. */
  read(into: Buffer, offset: number): Promise<number>;
  /** When it resolves, what was written is on the disk. */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  identity(): Promise<string>;
  close(): Promise<void>;
}

interface FileFacts {
  /** The same for two names, or a name and an open file, exactly where both are one file. */
  readonly identity: string;
  /** When it was last written to, in milliseconds since the Unix epoch. */
  readonly modifiedMs: number;
}

/** The few operations of a file system that the journal needs: a port, so that a test can let each of them fail. */
export interface Disk {
  /** Makes the directory, for this user only, and those above it, if they are missing; durable when it resolves. */
  makeDirectory(directory: string): Promise<void>;
  /** The names in the directory, in no order. */
  list(directory: string): Promise<readonly string[]>;
  /** Makes a file that only this user may read. Fails with EEXIST if there is one. */
  create(path: string): Promise<DiskFile>;
  /** Opens a file to read it. */
  open(path: string): Promise<DiskFile>;
  /** Null if there is no regular file of this name. */
  facts(path: string): Promise<FileFacts | null>;
  /** Atomic. Fails with ENOENT if there is no such file, and replaces one that has the new name. */
  rename(from: string, to: string): Promise<void>;
  /** Removes the name; a process that has the file open still reads it. Fails with ENOENT if there is no such file. */
  remove(path: string): Promise<void>;
  /** When it resolves, the names of files made before are on the disk: syncing a file alone may leave it nameless. */
  syncDirectory(directory: string): Promise<void>;
  /** Bytes this process may still write to the file system; infinite where the file system does not report it. */
  freeBytes(directory: string): Promise<number>;
}

/** Whether the error of a file system is that there is no such file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** The disk of this machine. */
export const nodeDisk: Disk = {
  makeDirectory: (directory) => makeDurableDirectory(directory, 0o700),
  list: (directory) => readdir(directory),
  create: async (path) => fromHandle(await open(path, 'wx+', 0o600)),
  open: async (path) => fromHandle(await open(path, 'r')),
  async facts(path) {
    try {
      const stats = await stat(path, { bigint: true });
      return stats.isFile() ? { identity: `${stats.dev}:${stats.ino}`, modifiedMs: Number(stats.mtimeMs) } : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  },
  rename,
  remove: unlink,
  syncDirectory,
  async freeBytes(directory) {
    const { blocks, bavail, bsize } = await statfs(directory);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  },
};

function fromHandle(handle: FileHandle): DiskFile {
  return {
    write: async (bytes, offset) => (await handle.write(bytes, 0, bytes.length, offset)).bytesWritten,
    read: async (into, offset) => (await handle.read(into, 0, into.length, offset)).bytesRead,
    sync: () => handle.sync(),
    truncate: (bytes) => handle.truncate(bytes),
    async identity() {
      const stats = await handle.stat({ bigint: true });
      return `${stats.dev}:${stats.ino}`;
    },
    close: () => handle.close(),
  };
}
