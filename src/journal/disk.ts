import { type FileHandle, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises';
import { makeDurableDirectory, syncDirectory } from '../lib/files/durable-files.ts';

/** An open file; offsets are in bytes. Every operation fails with the system's own error. */
export interface DiskFile {
  /** Writes bytes. Returns how many were written, which can be fewer than `bytes` has. */
  write(bytes: Buffer, offset: number): Promise<number>;
  /** Reads bytes. Returns how many were read, which can be fewer than `into` can hold; 0 at the end of the file. */
  read(into: Buffer, offset: number): Promise<number>;
  /** Resolves when all written bytes are on the disk. */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  identity(): Promise<string>;
  close(): Promise<void>;
}

interface FileFacts {
  /** Identifies a file: it is equal for two names, or for a name and an open file, exactly if they are the same file. */
  readonly identity: string;
  /** Time of the last write, in milliseconds since the Unix epoch. */
  readonly modifiedMs: number;
}

/** The operations of the file system that the journal uses. Tests replace them to make them fail. */
export interface Disk {
  /** Creates a directory and its missing parents durably. Only this user has access. */
  makeDirectory(directory: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  /** Creates a file that only this user can access. Fails with EEXIST if it exists. */
  create(path: string): Promise<DiskFile>;
  open(path: string): Promise<DiskFile>;
  /** Returns facts about a file; null if no regular file has this name. */
  facts(path: string): Promise<FileFacts | null>;
  /** Renames a file atomically. It replaces a file that has the new name. Fails with ENOENT if `from` does not exist. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file name; a process that has the file open can still read it. Fails with ENOENT if the file does not exist. */
  remove(path: string): Promise<void>;
  /** Makes the names of new files durable, which syncing the files does not do. */
  syncDirectory(directory: string): Promise<void>;
  /** Returns the free space that this process can use, in bytes; infinite if the file system does not tell. */
  freeBytes(directory: string): Promise<number>;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

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
